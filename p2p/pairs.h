/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of ranks: parses --pairs. */
#ifndef FB_P2P_PAIRS_H
#define FB_P2P_PAIRS_H

#include "p2p/job.h"

#include <stdio.h>

struct fb_pair {
	int src, dst;
};

struct fb_pairs {
	struct fb_pair *item; /* [count], owned */
	int count;
};

/*
 * Reads a list of pairs: "0-1,2-3" from sender to receiver; "first" is 0-1; "root" 0-1, 0-2, ...;
 * "neighbours" 0-1, 1-2, ... and from the last rank to the first; "halves" i to i + n/2;
 * "all" every ordered pair. Every pair once, in the order given. Returns 0, FB_EINPUT (one line
 * to `errors`, may be NULL) or FB_ENOMEM (printed); *pairs is untouched then.
 */
int fb_pairs_read(struct fb_pairs *pairs, const char *list, int nranks, FILE *errors);
void fb_pairs_free(struct fb_pairs *pairs);

/*
 * The longest beginning of the list in which no rank occurs twice: what can be measured at once
 * without two pairs sharing a rank.
 */
int fb_pairs_disjoint(const struct fb_pairs *pairs);

#endif
