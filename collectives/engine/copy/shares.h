/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that engine copy cuts reductions into, and their places in memory; see sums.h. */
#ifndef FB_COLLECTIVES_ENGINE_COPY_SHARES_H
#define FB_COLLECTIVES_ENGINE_COPY_SHARES_H

#include "collectives/engine/copy/maker.h"

enum { FB_COPY_SLOTS = 2 };

/* In elements. */
struct fb_copy_shares {
	uint64_t total, share;
	uint64_t piece; /* the longest; a slot has room for it */
	uint64_t last;  /* pieces get shorter down to about it; 0: they are equal */
	int pieces;
};

struct fb_copy_shares fb_copy_shares_of(const struct fb_operation *op,
					const struct fb_copy_tuning *tuning, int nranks);

bool fb_copy_gets_result(const struct fb_operation *op, int rank);

/* Not yet in the list: the copies of piece i. */
struct fb_copy_op fb_copy_push(const struct fb_copy_maker *m, const struct fb_copy_shares *s, int i,
			       int peer);
struct fb_copy_op fb_copy_deliver(const struct fb_copy_maker *m, const struct fb_copy_shares *s,
				  int i, int peer);

/* Appends the sum of piece i. */
void fb_copy_sum(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i, int stream);

#endif
