/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import's parsers on damaged files: every input of tests/golden/import cut off at many places,
 * and with single bytes exchanged. Whatever comes of it, it is rows or a refusal; what the
 * sanitizers say about the way there is the test.
 */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "scripts/tools/import/import.h"
#include "tests/unit/check.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char inputs[] = "tests/golden/import";

/* Reads bytes[0 .. n) as a file, which is one of memory: thousands of them follow one another. */
static int import_bytes(int fd, const char *bytes, size_t n, size_t *records)
{
	struct fb_import import = {.hints = {.operation = "all_reduce", .ranks = 4}};
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ftruncate(fd, 0) || pwrite(fd, bytes, n, 0) != (ssize_t)n)
		return FB_EIO;
	ret = fb_import_file(&import, path, NULL);
	*records = import.nrecords;
	fb_import_free(&import);
	return ret;
}

static bool is_rows_or_refusal(int ret, size_t records)
{
	return ret == FB_EINPUT || (ret == FB_OK && records > 0);
}

static void damage(int fd, char *bytes, size_t n)
{
	static const char others[] = "0-9.:{}[]\"\n #x\xff";
	struct fb_rng rng;
	size_t records = 0;

	fb_rng_seed(&rng, n);
	for (size_t cut = 0; cut < n; cut += cut < 100 ? 1 : 13) {
		int ret = import_bytes(fd, bytes, cut, &records);

		CHECK(is_rows_or_refusal(ret, records));
	}
	for (int i = 0; i < 150; i++) {
		size_t at = (size_t)fb_rng_below(&rng, n);
		char before = bytes[at];
		int ret;

		bytes[at] = others[fb_rng_below(&rng, sizeof(others) - 1)];
		ret = import_bytes(fd, bytes, n, &records);
		CHECK(is_rows_or_refusal(ret, records));
		bytes[at] = before;
	}
}

static int is_input(const struct dirent *entry)
{
	return strstr(entry->d_name, ".txt") || strstr(entry->d_name, ".json");
}

int main(void)
{
	struct dirent **entries;
	int n = scandir(inputs, &entries, is_input, alphasort);
	int fd = memfd_create("input", MFD_CLOEXEC);

	CHECK(fd >= 0 && n > 20);
	/* A refusal a case would be a megabyte of text. */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	for (int i = 0; i < n && fd >= 0; i++) {
		struct fb_text text = {.path = NULL};
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", inputs, entries[i]->d_name);
		if (fb_text_read(&text, path) == 0)
			damage(fd, text.bytes, text.length);
		free(entries[i]);
	}
	free(entries);
	close(fd);
	return check_done("import");
}
