/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix of bytes that ranks send to each other in all_to_all_v: by a rule (--skew) or a file
 * (--matrix), scaled to the size of a case.
 *
 * Expert parallelism is the reason: tokens go to the ranks of their experts, never evenly. A
 * recorded matrix of token counts can be given as it is, since only the proportions matter.
 */
#ifndef FB_COLLECTIVES_TRAFFIC_H
#define FB_COLLECTIVES_TRAFFIC_H

#include "common/option/option.h"
#include "common/plan/geometry.h"
#include "common/record/case.h"
#include "common/system/group.h"

/* What --skew and --matrix say. */
struct fb_traffic_settings {
	double skew;
	const char *matrix; /* path, or NULL */
};

struct fb_traffic {
	int nranks;
	bool matrix;     /* weights are [from * nranks + to], else [distance from the sender] */
	double *weights; /* owned; not negative, finite */
	char variant[FB_VARIANT_CHARS]; /* "skew=1.5" or "matrix=NAME" */
};

/*
 * Collective. Rank 0 reads and computes, so that all ranks have the very same numbers. Returns
 * the same value on all ranks: 0, FB_EINPUT (printed by rank 0) or FB_ENOMEM; *traffic is
 * untouched on error.
 */
int fb_traffic_open(struct fb_traffic *traffic, const struct fb_traffic_settings *settings,
		    const struct fb_group *world);

/* Safe on a zeroed structure. */
void fb_traffic_close(struct fb_traffic *traffic);

/*
 * Shares elements out, `average` times the number of ranks in all: by rule every rank sends
 * `average`, by matrix each as its row's sum says. Every share is within one element of the
 * exact one, and nothing goes where the weight is 0. The caller frees counts->elements. Pure and
 * equal on all ranks. Returns 0 or FB_ENOMEM (not printed).
 */
int fb_traffic_counts(const struct fb_traffic *traffic, uint64_t average,
		      struct fb_counts *counts);

/* Elements that ranks send to others, all ranks together. */
uint64_t fb_traffic_moved(const struct fb_counts *counts);

/*
 * Reads n lines of n numbers into weights[n * n]. Numbers are separated by commas, semicolons
 * or blanks; empty lines and what follows a # are passed over. Returns 0, or FB_EINPUT or
 * FB_ENOMEM after printing the file, the line and what is wrong. (traffic_file.c)
 */
int fb_traffic_read(const char *path, int n, double *weights);

#endif
