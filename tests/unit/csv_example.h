/* SPDX-License-Identifier: BSD-3-Clause */
/* A case, a good row and small file helpers for the tests of result files. */
#ifndef FB_TESTS_UNIT_CSV_EXAMPLE_H
#define FB_TESTS_UNIT_CSV_EXAMPLE_H

#include "common/record/csv.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_CHARS = 1 << 16, EXAMPLE_PATH_CHARS = 256 };

static inline struct fb_case example_case(uint64_t bytes)
{
	return (struct fb_case){
		.program = "all_reduce",
		.operation = "all_reduce",
		.engine = "host",
		.algorithm = "ring",
		.protocol = "simple",
		.transport = "shm",
		.memory = "host",
		.registration = "none",
		.launch = "blocking",
		.cadence = FB_STREAMING,
		.datatype = FB_F32,
		.redop = FB_SUM,
		.root = -1,
		.in_place = true,
		.bytes = bytes,
		.variant = "a=1;b=2",
	};
}

/* A row that breaks no rule. */
static inline struct fb_row example_row(const struct fb_case *key)
{
	struct fb_row row = fb_row_empty(key);

	row.run = "study";
	row.launch_index = 3;
	row.utc = "2024-05-31T23:59:59Z";
	row.ranks = 8;
	row.nodes = 2;
	row.status = FB_STATUS_OK;
	row.samples = 1000;
	row.stop = FB_STOP_CI;
	row.setup_us = 1234.56789;
	row.first_us = 50;
	row.min_us = 8;
	row.p05_us = 9;
	row.median_low_us = 9.9;
	row.median_us = 10;
	row.median_high_us = 10.125;
	row.p95_us = 12;
	row.p99_us = 20;
	row.max_us = 1e6;
	row.mad_us = 0.5;
	row.rank_mean_us = 9.5;
	row.rank_min_us = 9;
	row.skew_us = 0.2;
	row.outliers = 4;
	row.algbw_GBps = 12.3456789;
	row.busbw_GBps = 21.6049;
	row.bound_us = 5;
	row.efficiency = 0.5;
	row.path = "shm, \"direct\"";
	row.channels = 2;
	row.cpu_s = 7.5e-5;
	row.traffic = "lo=2000;eth0=30";
	row.counters = "eth0.rx_dropped=2";
	return row;
}

/* A new folder; NULL where there can be none. The caller frees the name. */
static inline char *example_folder(void)
{
	const char *base = getenv("TMPDIR");
	char *path = NULL;

	if (asprintf(&path, "%s/fabricbench-test-XXXXXX", base && *base ? base : "/tmp") < 0)
		return NULL;
	if (!mkdtemp(path)) {
		free(path);
		return NULL;
	}
	return path;
}

static inline const char *example_path(const char *folder, const char *name)
{
	static char path[EXAMPLE_PATH_CHARS];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* The whole file as text; "" where there is none. Static storage. */
static inline const char *example_read(const char *path)
{
	static char text[FILE_CHARS];
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[n] = '\0';
	if (file)
		fclose(file);
	return text;
}

static inline void example_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

static inline int example_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

/* Removes the folder with all that is in it, and frees its name. */
static inline void example_remove(char *folder)
{
	nftw(folder, example_remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

#endif
