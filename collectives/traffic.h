/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sizes of unequal blocks: by a rule (--skew) or a file, scaled to the size of a case. In
 * all_to_all_v they are a matrix of what ranks send to each other (--matrix), in all_gather_v and
 * reduce_scatter_v a number for each rank (--weights).
 *
 * Expert parallelism is the reason: tokens go to the ranks of their experts, never evenly. A
 * recorded matrix of token counts can be given as it is, since only the proportions matter. Shards
 * of parameters that are not cut evenly (FSDP) are blocks of unequal size in the others.
 */
#ifndef FB_COLLECTIVES_TRAFFIC_H
#define FB_COLLECTIVES_TRAFFIC_H

#include "common/option/option.h"
#include "common/plan/geometry.h"
#include "common/record/case.h"
#include "common/system/group.h"

/* What --skew and --matrix or --weights say. */
struct fb_traffic_settings {
	double skew;
	const char *file; /* path of --matrix or --weights, or NULL */
};

struct fb_traffic {
	enum fb_collective collective;
	int nranks;
	bool matrix;     /* weights are [from * nranks + to], else [rank] or, in all_to_all_v,
			    [distance from the sender] */
	double *weights; /* owned; not negative, finite */
	char variant[FB_VARIANT_CHARS]; /* "skew=1.5", "matrix=NAME" or "weights=NAME" */
};

/*
 * Collective. Rank 0 reads and computes, so that all ranks have the very same numbers. Returns
 * the same value on all ranks: 0, FB_EINPUT (printed by rank 0) or FB_ENOMEM; *traffic is
 * untouched on error.
 */
int fb_traffic_open(struct fb_traffic *traffic, const struct fb_traffic_settings *settings,
		    enum fb_collective collective, const struct fb_group *world);

/* Safe on a zeroed structure. */
void fb_traffic_close(struct fb_traffic *traffic);

/*
 * Shares elements out, `average` times the number of ranks in all. In all_to_all_v every rank sends
 * `average` by rule, and by matrix as much as its row's sum says. Every share is within one element
 * of the exact one, and nothing goes where the weight is 0. The caller frees counts->elements.
 * Pure and equal on all ranks. Returns 0 or FB_ENOMEM (not printed).
 */
int fb_traffic_counts(const struct fb_traffic *traffic, uint64_t average,
		      struct fb_counts *counts);

/* Elements that ranks send to others, all ranks together. */
uint64_t fb_traffic_moved(const struct fb_counts *counts);

/*
 * Makes the matrix of elements[n * n] from its first n entries, which are the elements of each
 * rank's block of a collective other than all_to_all_v.
 */
void fb_traffic_spread(enum fb_collective collective, size_t n, uint64_t *elements);

/* Sets max and empty to what the elements say. */
void fb_traffic_sizes(struct fb_counts *counts);

/*
 * Reads `rows` lines of n numbers, the file of that option, into weights[rows * n]. Numbers are
 * separated by commas, semicolons or blanks; empty lines and what follows a # are passed over.
 * Returns 0, or FB_EINPUT or FB_ENOMEM after printing the file, the line and what is wrong.
 * (traffic_file.c)
 */
int fb_traffic_read(const char *option, const char *path, int rows, int n, double *weights);

#endif
