/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a search for change points, which history.c finds and history_keep.c judges. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_HISTORY_SEARCH_H
#define FB_SCRIPTS_TOOLS_COMPARE_HISTORY_SEARCH_H

#include "common/base/rng.h"
#include "scripts/tools/compare/history.h"

/* A night of the stretch that is looked at. */
struct fb_history_night {
	int64_t rank2; /* doubled mid-rank in the stretch */
	size_t place;  /* in the tree: 1 .. n, equal ranks alike */
};

/* The search is recursive, so stretches are on the call stack; arrays have room for all nights. */
struct fb_history_search {
	const double *y;
	size_t least_part, draws;
	size_t allowed; /* as many random orders may be as good as the real one */
	struct fb_rng rng;
	double *sorted;			 /* [2n]: the second half is room for sorting */
	struct fb_history_night *nights; /* [n] */
	int64_t *count, *sum;		 /* [n + 1] each: the Fenwick tree */
	int64_t *total; /* [n]: sum of |rank2 - that of another| over the nights in sight */
	struct fb_change *change;
	size_t changes;
	double *residual; /* [n] */
	double alpha;
	size_t rows;
};

/* The median of nights from .. to - 1. */
double fb_history_median(struct fb_history_search *s, size_t from, size_t to);

/* Moves every point to where it fits best between its neighbours, and measures all. */
void fb_history_refit(struct fb_history_search *s, size_t n);

/* history_keep.c: removes points until all differ by theta at least, and by more than chance. */
void fb_history_keep(struct fb_history_search *s, size_t n, double theta);

#endif
