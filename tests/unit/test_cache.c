/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cold caches: what machines say of theirs, how ranks share the work, and that it works: a small
 * buffer that was just read takes longer to read again once the caches were cleared.
 * timeout: 120
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/system/cache.h"
#include "tests/unit/check.h"

enum { CHAIN_BYTES = 256 << 10, LINE = 64, TRIES = 5, AGAIN = 20 };

/* Writes a file below root, with its folders. */
static void put(const char *root, const char *path, const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(full, 0700);
		*at = '/';
	}
	file = fopen(full, "w");
	if (!CHECK(file != NULL))
		return;
	fputs(text, file);
	fclose(file);
}

static void put_cache(const char *root, int index, const char *level, const char *size,
		      const char *cpus)
{
	const char *const values[] = {level, size, cpus};
	static const char *const files[] = {"level", "size", "shared_cpu_list"};
	char path[96];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
			 files[i]);
		put(root, path, values[i]);
	}
}

/* 64 processors, of which 16 share a cache of the third level. */
static void test_read(void)
{
	char root[] = "/tmp/fb-test-cache-XXXXXX", command[64];
	struct fb_caches caches;

	if (!CHECK(mkdtemp(root) != NULL))
		return;
	fb_caches_read(&caches, root);
	CHECK_INT(caches.last, 0);
	CHECK_INT(caches.count, 1);
	CHECK_INT(fb_caches_share(&caches, 4), 0);
	put(root, "/sys/devices/system/cpu/online", "0-63\n");
	put_cache(root, 0, "1\n", "32K\n", "0,32\n");
	put_cache(root, 1, "1\n", "32K\n", "0,32\n");
	put_cache(root, 2, "2\n", "1024K\n", "0,32\n");
	fb_caches_read(&caches, root);
	CHECK_INT(caches.last, 1 << 20);
	CHECK_INT(caches.count, 32);
	put_cache(root, 3, "3\n", "32M\n", "0-7,32-39\n");
	fb_caches_read(&caches, root);
	CHECK_INT(caches.second, 1 << 20);
	CHECK_INT(caches.last, 32 << 20);
	CHECK_INT(caches.count, 4);
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
}

/* All together twice what all caches hold; nobody less than its own second level. */
static void test_share(void)
{
	const struct fb_caches one = {1 << 20, 32 << 20, 1}, four = {1 << 20, 32 << 20, 4};

	CHECK_INT(fb_caches_share(&one, 1), 64 << 20);
	CHECK_INT(fb_caches_share(&one, 2), 32 << 20);
	CHECK_INT(fb_caches_share(&one, 64), 4 << 20);
	CHECK_INT(fb_caches_share(&four, 1), 64 << 20);
	CHECK_INT(fb_caches_share(&four, 4), 64 << 20);
	CHECK_INT(fb_caches_share(&four, 8), 32 << 20);
}

/* Follows a chain through all lines in an order that nothing guesses. */
static double chase(const struct fb_clock *clock, void *chain)
{
	uint64_t start = fb_clock_ticks(clock);
	void *at = chain;

	for (int i = 0; i < CHAIN_BYTES / LINE; i++)
		at = *(void *volatile *)at;
	return fb_clock_seconds(clock, fb_clock_ticks(clock) - start);
}

static void make_chain(char *memory)
{
	enum { LINES = CHAIN_BYTES / LINE, STRIDE = 1657 }; /* prime to the number of lines */

	for (int i = 0; i < LINES; i++)
		*(void **)(void *)(memory + i * LINE) = memory + (i + STRIDE) % LINES * LINE;
}

static void test_clear(void)
{
	char *memory = aligned_alloc(4096, CHAIN_BYTES);
	struct fb_cache_area area;
	struct fb_clock clock;
	double hot = 1e9, cold = 1e9, time;
	int err = fb_cache_open(&area, 1);

	if (err == FB_EUNSUPPORTED || !memory || !CHECK_INT(err, FB_OK)) {
		free(memory);
		return;
	}
	CHECK_INT(fb_clock_open(&clock), FB_OK);
	make_chain(memory);
	for (int i = 0; i < TRIES; i++) {
		fb_cache_clear(&area);
		time = chase(&clock, memory);
		cold = time < cold ? time : cold;
		/* Some caches take lines in for good at a second use only. */
		for (int again = 0; again < AGAIN; again++) {
			time = chase(&clock, memory);
			hot = time < hot ? time : hot;
		}
	}
	if (!CHECK(cold > 2 * hot))
		printf("\t%d lines: cold %.1f us, hot %.1f us\n", CHAIN_BYTES / LINE, cold * 1e6,
		       hot * 1e6);
	fb_cache_close(&area);
	fb_cache_close(&area);
	free(memory);
}

int main(void)
{
	test_read();
	test_share();
	test_clear();
	return check_done("cache");
}
