/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the readers of perftest's text and JSON. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_PERFTEST_H
#define FB_SCRIPTS_TOOLS_IMPORT_PERFTEST_H

#include "scripts/tools/import/import.h"

/* What ran, as its header says. */
struct fb_perftest_run {
	char test[80]; /* "RDMA_Write BW Test"; blanks or underscores between the words */
	char device[64], connection[16], link[32], transport[32];
	double qps, post_list, mtu; /* NAN: not said */
	bool on_gpu;
};

/* One row; NAN: not there. Rates in GB/s. */
struct fb_perftest_row {
	uint64_t bytes;
	double iterations;
	double average_GBps, peak_GBps, rate_Mps;
	double min_us, max_us, typical_us, average_us, stdev_us, p99_us, p999_us;
	double cpu_percent;
};

/* A row of which nothing is known. */
struct fb_perftest_row fb_perftest_row_empty(void);

/* The units of perftest's rates, in GB/s: MB and MiB are both 2^20 bytes. */
double fb_perftest_unit(const char *name);

/* Begins a section. FB_EINPUT (printed) where the test is not known. */
int fb_perftest_begin(struct fb_import *import, const struct fb_text *text, size_t line,
		      const struct fb_perftest_run *run);

/* Adds a row of the section's test. Returns 0 or FB_EINPUT (no time in it; printed). */
int fb_perftest_add(struct fb_import *import, const struct fb_text *text, size_t line,
		    const struct fb_perftest_run *run, const struct fb_perftest_row *row);

#endif
