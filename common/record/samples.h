/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.csv: every repetition of every row (--raw), for those who want the distribution; and
 * ranks.csv: the same of every rank (--raw-ranks), for those who look for the slow one.
 *
 * Columns run,launch_index,program,row,repetition,time_us or ...,rank,begin_us,end_us. Written in
 * blocks, one row's samples at a time, outside of all timing; each block is whole or absent
 * (append.h).
 */
#ifndef FB_COMMON_RECORD_SAMPLES_H
#define FB_COMMON_RECORD_SAMPLES_H

#include "common/base/append.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One repetition of one rank, in us; NaN where the rank's times do not count. */
struct fb_rank_time {
	double begin, end; /* since the meter's epoch; without one clock since the rank's begin */
};

struct fb_samples {
	struct fb_append file;
	const char *run; /* borrowed */
	const char *program;
	uint64_t launch_index;
};

/* Opens DIR/samples.csv (shared by all programs of a run). Errors as fb_csv_open. */
int fb_samples_open(struct fb_samples *samples, const char *dir, const char *run,
		    uint64_t launch_index, const char *program);

/*
 * Appends time_us[0..count), in order of repetition, of the launch's row-th case (from 0, the
 * order of the result file). Returns 0, FB_ENOMEM or FB_EIO (printed, block taken back).
 */
int fb_samples_append(struct fb_samples *samples, uint64_t row, const double *time_us,
		      size_t count);

/* Opens DIR/ranks.csv likewise. */
int fb_samples_open_ranks(struct fb_samples *samples, const char *dir, const char *run,
			  uint64_t launch_index, const char *program);

/*
 * Appends time[0 .. count)[ranks], without ranks whose times do not count; repetitions are numbered
 * as fb_samples_append does. begin_us is empty unless `one_clock`: end_us is the duration then.
 * Returns as fb_samples_append.
 */
int fb_samples_append_ranks(struct fb_samples *samples, uint64_t row,
			    const struct fb_rank_time *time, size_t count, size_t ranks,
			    bool one_clock);

/* Flushes to disk and closes. Returns 0 or FB_EIO (printed). Safe on a zeroed structure. */
int fb_samples_close(struct fb_samples *samples);

#endif
