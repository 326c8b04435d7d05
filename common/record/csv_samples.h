/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule that samples.csv holds as many samples of each row as the row says. It holds for every
 * launch of which samples.csv has any: without --raw a launch writes none.
 */
#ifndef FB_COMMON_RECORD_CSV_SAMPLES_H
#define FB_COMMON_RECORD_CSV_SAMPLES_H

#include "common/record/csv_check.h"

struct fb_csv_samples {
	struct fb_csv_row_samples *row; /* [nrows], in the order of the result file */
	struct fb_csv_launch_samples *launch;
	size_t nrows, capacity, nlaunches;
};

/*
 * Adds a row of a result file: its run, launch_index and program, its line and how many samples it
 * says to have. All rows of a launch must be added, in order. Returns 0 or FB_ENOMEM (printed).
 */
int fb_csv_samples_row(struct fb_csv_samples *samples, const char *const id[3], uint64_t line,
		       uint64_t count);

/*
 * Counts in the samples.csv beside the result file, if there is one, and reports each row of which
 * it has another number. Returns 0, FB_ENOMEM or FB_EIO (printed).
 */
int fb_csv_samples_judge(struct fb_csv_samples *samples, struct fb_csv_check *check,
			 const struct fb_csv_reader *results);

/* Safe on a zeroed structure, which it leaves. */
void fb_csv_samples_free(struct fb_csv_samples *samples);

#endif
