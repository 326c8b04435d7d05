/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, Bruck: in round k every rank gets from the one 2^k ahead as many blocks as it
 * already holds, so that it then holds those of twice as many consecutive ranks.
 *
 * ceil(log2 n) steps for any n, (n - 1)/n of the output sent per rank. The original collects in
 * rotated order and rotates at the end; here blocks go straight to their place, at the price of
 * two pieces where a run of blocks wraps around.
 */
#include "collectives/algorithm/algorithm.h"

/* Blocks [from, from + count) modulo n of rank `from`, to rank `to`. */
static void give(struct fb_builder *b, int from, int to, int count)
{
	int n = fb_nranks(b), head = from + count <= n ? count : n - from;

	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)from, (uint32_t)head),
		fb_chunk(from, FB_OUT, (uint32_t)from, (uint32_t)head));
	fb_copy(b, fb_chunk(to, FB_OUT, 0, (uint32_t)(count - head)),
		fb_chunk(from, FB_OUT, 0, (uint32_t)(count - head)));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);

	if (self < 0)
		return 0;
	fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)self, 1), fb_chunk(self, FB_IN, 0, 1));
	for (int held = 1; held < n; held *= 2) {
		int count = held < n - held ? held : n - held;

		fb_round(b);
		give(b, self, (self - held + n) % n, count);
		give(b, (self + held) % n, self, count);
		if (held > n / 2)
			break; /* doubling could overflow */
	}
	return 0;
}

const struct fb_algorithm fb_all_gather_bruck = {
	.name = "bruck",
	.collective = FB_ALL_GATHER,
	.source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
	.in_place = true,
	.build = build,
};
