/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of NCCL's profiler interface as images of memory, and what becomes of them in files. */
#ifndef FB_TESTS_UNIT_NCCL_IMAGE_H
#define FB_TESTS_UNIT_NCCL_IMAGE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"

struct image {
	_Alignas(16) unsigned char bytes[256];
};

static inline void put(struct image *image, size_t at, const void *value, size_t n)
{
	memcpy(image->bytes + at, value, n);
}

static inline void put_text(struct image *image, size_t at, const char *text)
{
	put(image, at, &text, sizeof(text));
}

static inline void put_type(struct image *image, uint64_t type, bool wide)
{
	uint8_t narrow = (uint8_t)type;
	int rank = 3;

	memset(image, 0xa5, sizeof(*image));
	memset(image->bytes + 8, 0, sizeof(void *)); /* no parent */
	put(image, 0, wide ? (const void *)&type : &narrow, wide ? sizeof(type) : 1);
	put(image, 16, &rank, sizeof(rank));
}

/* Whether the only file of that ending in the folder has the text; removes it. */
static inline bool has(const char *folder, const char *ending, const char *const *texts)
{
	char path[300] = "", content[4096] = "";
	DIR *d = opendir(folder);
	const struct dirent *entry;
	bool all = true;
	FILE *f;

	while (d && (entry = readdir(d)) != NULL)
		if (strstr(entry->d_name, ending))
			snprintf(path, sizeof(path), "%.40s/%s", folder, entry->d_name);
	if (d)
		closedir(d);
	f = fopen(path, "r");
	if (!f)
		return false;
	content[fread(content, 1, sizeof(content) - 1, f)] = '\0';
	fclose(f);
	(void)unlink(path);
	for (; *texts; texts++)
		all = CHECK(strstr(content, *texts) != NULL) && all;
	return all;
}

#endif
