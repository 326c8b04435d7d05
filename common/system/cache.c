/* SPDX-License-Identifier: BSD-3-Clause */
/* Cold caches of processors; see cache.h. */
#include "common/system/cache.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/system/environment_file.h"
#include "common/system/numa.h"

enum { LINE_BYTES = 64, MOST_LEVELS = 16 };

/* A file of a cache of the first processor. */
static bool read_of(const char *root, int index, const char *file, char *line)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
	return fb_read_line(root, path, line, FB_LINE_CHARS);
}

/* "36608K". */
static size_t size_of(const char *text)
{
	char *end;
	size_t size = strtoul(text, &end, 10);

	return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

/* Processors in "0-3,8". */
static long count_list(const char *list)
{
	struct fb_cpus cpus;

	fb_cpus_parse(list, &cpus);
	return fb_cpus_count(&cpus);
}

/* Asks the C library for cache sizes if the kernel has no files with them. */
static void ask_library(struct fb_caches *caches)
{
	long second = sysconf(_SC_LEVEL2_CACHE_SIZE), third = sysconf(_SC_LEVEL3_CACHE_SIZE);

	caches->second = second > 0 ? (size_t)second : 0;
	caches->last = third > 0 ? (size_t)third : caches->second;
}

void fb_caches_read(struct fb_caches *caches, const char *root)
{
	char line[FB_LINE_CHARS], cpus[FB_LINE_CHARS];
	long all = 0, sharing = 0;
	int last_level = 0;

	*caches = (struct fb_caches){.count = 1};
	if (fb_read_line(root, "/sys/devices/system/cpu/online", line, sizeof(line)))
		all = count_list(line);
	for (int i = 0; i < MOST_LEVELS && read_of(root, i, "level", line); i++) {
		int level = atoi(line);

		if (!read_of(root, i, "size", line))
			continue;
		if (level == 2)
			caches->second = size_of(line);
		if (level < 2 || level < last_level)
			continue;
		last_level = level;
		caches->last = size_of(line);
		sharing = read_of(root, i, "shared_cpu_list", cpus) ? count_list(cpus) : 0;
	}
	if (sharing > 0 && all > sharing)
		caches->count = (int)((all + sharing - 1) / sharing);
	if (!caches->last && !*root)
		ask_library(caches);
}

size_t fb_caches_share(const struct fb_caches *caches, int ranks)
{
	size_t all = 2 * caches->last * (size_t)caches->count, least = 4 * caches->second, share;

	/* If there are no more ranks than caches, each rank has a cache for itself. */
	share = ranks > caches->count ? all / (size_t)ranks : 2 * caches->last;
	return share > least ? share : least;
}

int fb_cache_open(struct fb_cache_area *area, int ranks)
{
	struct fb_caches caches;
	void *memory;

	fb_caches_read(&caches, "");
	*area = (struct fb_cache_area){.bytes = fb_caches_share(&caches, ranks)};
	if (!area->bytes)
		return fb_error(FB_EUNSUPPORTED, "cold caches: their size is not known");
	memory = mmap(NULL, area->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return fb_error(FB_ENOMEM, "no memory to clear caches with: %zu bytes",
				area->bytes);
	/* Fewer pages to look up. An error changes nothing. */
	(void)madvise(memory, area->bytes, MADV_HUGEPAGE);
	area->memory = memory;
	fb_cache_clear(area);
	return FB_OK;
}

void fb_cache_close(struct fb_cache_area *area)
{
	if (area->memory)
		(void)munmap((void *)(uintptr_t)area->memory, area->bytes);
	*area = (struct fb_cache_area){.memory = NULL};
}

void fb_cache_clear(const struct fb_cache_area *area)
{
	for (size_t i = 0; i < area->bytes; i += LINE_BYTES)
		area->memory[i]++;
}
