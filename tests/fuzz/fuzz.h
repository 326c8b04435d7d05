/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fuzzers share. Each file of tests/fuzz but replay.c defines LLVMFuzzerTestOneInput(), which
 * hands bytes to a parser; nothing is compared, as the sanitizers judge. `make fuzz` links a file
 * with libFuzzer, `make tests` with replay.c, which hands it the files of tests/fuzz/corpus/NAME
 * and of the folders that a line `seeds:` in the file's first comment names.
 */
#ifndef FB_TESTS_FUZZ_FUZZ_H
#define FB_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* A file in memory with these bytes, for parsers that take a path. The same path in each call. */
static inline const char *fuzz_file(const uint8_t *bytes, size_t n)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, n, 0) != (ssize_t)n)
		abort();
	return path;
}

/* The bytes as a text of just their size, so that a step beyond its end is seen. Owned. */
static inline char *fuzz_text(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1);

	if (!text)
		abort();
	memcpy(text, bytes, n);
	text[n] = '\0';
	return text;
}

#endif
