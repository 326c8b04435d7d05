/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Butterflies: log2 rounds in which every rank exchanges with one partner, halving what it is
 * responsible for (reduce) or doubling what it holds (gather). Recursive halving, recursive
 * doubling and Swing are butterflies that differ only in who meets whom.
 *
 * A butterfly needs a power of two. Other numbers are folded as Rabenseifner and MPICH do: with
 * n = 2^k + extra, each of the first `extra` pairs of neighbouring ranks acts as one. Neighbours,
 * because then the blocks of a folded pair, and of every aligned group, stay contiguous.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_FOLD_H
#define FB_COLLECTIVES_ALGORITHM_FOLD_H

#include "common/plan/builder.h"

struct fb_fold {
	int n;      /* virtual ranks: the largest power of two <= nranks */
	int extra;  /* nranks - n: virtual ranks v < extra stand for ranks 2v and 2v + 1 */
	int rounds; /* log2 n */
};

struct fb_fold fb_fold_of(int nranks);

/*
 * The rank that acts for virtual rank v; also the first rank of v, so that virtual ranks
 * [v, w) stand for ranks [fb_fold_rank(v), fb_fold_rank(w)). v may be n.
 */
int fb_fold_rank(const struct fb_fold *fold, int v);

/* The virtual rank that `rank` acts for, or -1 for the silent one of a pair. */
int fb_fold_virtual(const struct fb_fold *fold, int rank);

/*
 * Who meets whom. In round s of a reduction virtual rank v is left responsible for the aligned
 * group of n >> (s + 1) places that holds place_of[v]; its partner for the sibling group.
 */
struct fb_butterfly {
	struct fb_fold fold;
	bool block_per_rank; /* places are blocks of one unit, one for each rank; else one for
			      * each virtual rank */
	int (*partner)(const struct fb_fold *fold, int v, int round); /* NULL: opposite place */
	const int *place_of; /* [n]; NULL: v */
};

/*
 * Reduces FB_IN of all ranks so that each virtual rank holds the sums of its own place, in
 * `partial` (FB_SCRATCH or FB_OUT, as many units as FB_IN). Sums that are not final are kept
 * there too. With `own_out`, the place of a rank's own block goes to unit 0 of FB_OUT instead.
 * Needs two ranks or more.
 */
void fb_butterfly_reduce(struct fb_builder *b, const struct fb_butterfly *butterfly,
			 enum fb_buffer partial, bool own_out);

/*
 * The way back: each virtual rank holds its own place in FB_OUT; afterwards all ranks hold all,
 * the silent ones too, except that with block_per_rank a silent rank's pair must exchange its
 * own two blocks before.
 */
void fb_butterfly_gather(struct fb_builder *b, const struct fb_butterfly *butterfly);

#endif
