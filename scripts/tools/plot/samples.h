/* SPDX-License-Identifier: BSD-3-Clause */
/* Single repetitions joined to the rows that they belong to: samples.csv and ranks.csv. */
#ifndef FB_SCRIPTS_TOOLS_PLOT_SAMPLES_H
#define FB_SCRIPTS_TOOLS_PLOT_SAMPLES_H

#include "scripts/tools/lib/results.h"

#include <stddef.h>
#include <stdint.h>

/* Columns common to both files, in the order of the array given to a sample's callback. */
enum {
	FB_SAMPLE_RUN,
	FB_SAMPLE_LAUNCH,
	FB_SAMPLE_PROGRAM,
	FB_SAMPLE_ROW,
	FB_SAMPLE_REPETITION,
	FB_SAMPLE_FIXED
};

/*
 * Reads a file line by line and calls `each` with the row of each line (NULL: no such row), the
 * repetition, and the values of the columns names[0 .. count) as numbers. `each` returns 0 or an
 * error that ends reading. Returns that, or FB_EINPUT (not there, a column missing, no CSV;
 * printed).
 */
typedef int (*fb_sample_fn)(void *arg, const struct fb_result *row, uint64_t repetition,
			    const double *value);
int fb_samples_each(const char *path, const struct fb_results *results, const char *const *names,
		    size_t count, fb_sample_fn each, void *arg);

/* Doubles that grow by FB_ADD. */
struct fb_doubles {
	double *x;
	size_t count;
};

/* Sorts ascending. */
void fb_doubles_sort(struct fb_doubles *list);

#endif
