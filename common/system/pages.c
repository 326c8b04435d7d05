/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of pages; see pages.h. */
#include "common/system/pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/sizes.h"
#include "common/system/environment_file.h"

static const size_t transparent_bytes = (size_t)2 << 20, large_bytes = (size_t)1 << 30;

bool fb_pages_explicit(enum fb_pages kind)
{
	return kind == FB_PAGES_HUGETLB || kind == FB_PAGES_HUGETLB_1G;
}

bool fb_pages_fit(enum fb_pages kind, uint64_t asked, uint64_t needed, uint64_t most, char *reason,
		  size_t n)
{
	uint64_t page = fb_pages_bytes(kind);
	char text[FB_SIZE_CHARS], size[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (!page || !most)
		snprintf(reason, n, "no huge page of %s for each rank is free: "
			 "/sys/kernel/mm/hugepages/hugepages-%llukB/nr_hugepages",
			 fb_size_text(page, size), (unsigned long long)page >> 10);
	else if ((needed + page - 1) / page * page > most)
		snprintf(reason, n, "%s is more than the free huge pages of %s, %s a rank",
			 fb_size_text(asked, text), fb_size_text(page, size),
			 fb_size_text(most, limit));
	else
		return true;
	return false;
}

size_t fb_pages_bytes(enum fb_pages kind)
{
	char text[FB_LINE_CHARS];

	if (kind == FB_PAGES_NORMAL || kind == FB_PAGES_FILE)
		return (size_t)sysconf(_SC_PAGESIZE);
	if (kind == FB_PAGES_TRANSPARENT)
		return transparent_bytes;
	if (kind == FB_PAGES_HUGETLB_1G)
		return large_bytes;
	if (!fb_read_tagged("", "/proc/meminfo", "Hugepagesize", text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10) << 10;
}

uint64_t fb_pages_free(const char *root, enum fb_pages kind)
{
	size_t page = fb_pages_bytes(kind);
	char path[96], text[FB_LINE_CHARS];

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/free_hugepages",
		 page >> 10);
	if (!page || !fb_read_line(root, path, text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10) * page;
}

uint64_t fb_pages_share(const struct fb_group *world, enum fb_pages kind)
{
	size_t page = fb_pages_bytes(kind);
	uint64_t share = 0;
	int ranks;

	MPI_Comm_size(world->node_comm, &ranks);
	if (page)
		share = fb_pages_free("", kind) / page / (uint64_t)ranks * page;
	MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_UINT64_T, MPI_MIN, world->comm);
	return share;
}

/* "55d0-55d8 rw-p ...": whether a line begins a mapping, and whether `at` lies in it. */
static bool begins(const char *line, uint64_t at, bool *has)
{
	uint64_t first, end;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &first, &end) != 2)
		return false;
	*has = at >= first && at < end;
	return true;
}

const char *fb_pages_text(const char *maps, const void *at, char buf[FB_PAGES_CHARS])
{
	uint64_t page = 0, there = 0, huge = 0, number;
	FILE *file = fopen(maps, "re");
	char *line = NULL, size[FB_SIZE_CHARS];
	size_t capacity = 0;
	bool has = false;

	buf[0] = '\0';
	if (!file)
		return buf;
	while (getline(&line, &capacity, file) > 0) {
		if (begins(line, (uint64_t)(uintptr_t)at, &has) || !has)
			continue;
		if (sscanf(line, "KernelPageSize: %" SCNu64, &number) == 1)
			page = number << 10;
		else if (sscanf(line, "Rss: %" SCNu64, &number) == 1)
			there = number;
		else if (sscanf(line, "AnonHugePages: %" SCNu64, &number) == 1 ||
			 sscanf(line, "ShmemPmdMapped: %" SCNu64, &number) == 1)
			huge += number;
	}
	free(line);
	fclose(file);
	if (huge && there)
		snprintf(buf, FB_PAGES_CHARS, "THP %.0f%%", 100.0 * (double)huge / (double)there);
	else if (page)
		snprintf(buf, FB_PAGES_CHARS, "%.16s pages", fb_size_text(page, size));
	return buf;
}
