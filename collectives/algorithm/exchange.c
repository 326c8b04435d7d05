/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges among all ranks. Only the built rank's own transfers are walked, in the order in
 * which all of them together would come.
 */
#include "collectives/algorithm/exchange.h"

/* Round or turn k of the rotation; 0 is the local copy. */
static void rotate(struct fb_builder *b, enum fb_buffer into, int k)
{
	int n = fb_nranks(b), self = fb_self(b);

	fb_exchange_one(b, into, self, (int)(((int64_t)self + k) % n));
	if (k)
		fb_exchange_one(b, into, (self - k + n) % n, self);
}

void fb_exchange_direct(struct fb_builder *b, enum fb_buffer into)
{
	if (fb_self(b) < 0)
		return;
	for (int k = 1; k < fb_nranks(b); k++)
		rotate(b, into, k);
	rotate(b, FB_OUT, 0);
}

void fb_exchange_pairwise(struct fb_builder *b, int local_lane)
{
	for (int k = 0; k < fb_nranks(b) && fb_self(b) >= 0; k++, fb_round(b)) {
		fb_lane(b, k ? 0 : local_lane);
		rotate(b, FB_OUT, k);
	}
}
