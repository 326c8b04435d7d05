/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.csv: every repetition of every row (--raw), for those who want the distribution.
 *
 * Columns run,launch_index,program,row,repetition,time_us. Written in blocks, one row's samples
 * at a time, outside of all timing; each block is whole or absent (append.h).
 */
#ifndef FB_COMMON_SAMPLES_H
#define FB_COMMON_SAMPLES_H

#include "common/append.h"

#include <stddef.h>
#include <stdint.h>

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

/* Flushes to disk and closes. Returns 0 or FB_EIO (printed). Safe on a zeroed structure. */
int fb_samples_close(struct fb_samples *samples);

#endif
