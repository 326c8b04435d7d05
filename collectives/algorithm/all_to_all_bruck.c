/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all, Bruck: a block that must travel d ranks ahead makes the jumps of d's binary digits,
 * so ceil(log2 n) messages a rank do instead of n - 1.
 *
 * Step k sends every block whose distance has digit k, about n / 2 blocks, 2^k ranks ahead: in
 * all n / 2 log2 n blocks a rank instead of n - 1. For blocks so small that messages are all
 * that counts.
 *
 * A message is one chunk, so its blocks are packed first, in the order of their distances. They
 * are not unpacked: each step's message stays where it arrived, and the next pack or the final
 * copy takes a block from there. That saves the rotations at start and end of the textbook form,
 * and makes the in-place form correct: the output is written only at the end.
 *
 * Scratch: the pack, then one arrival area a step.
 */
#include "collectives/algorithm/algorithm.h"

/* How many distances below `n` have the digit `digit` (a power of two). */
static uint32_t travellers(uint32_t n, uint32_t digit)
{
	uint32_t rest = n % (2 * digit);

	return n / (2 * digit) * digit + (rest > digit ? rest - digit : 0);
}

/* The first block of the area where the message of step `digit` arrives. */
static uint32_t arrival(uint32_t n, uint32_t digit)
{
	uint32_t at = n / 2; /* no message is longer */

	for (uint32_t d = 1; d < digit; d *= 2)
		at += travellers(n, d);
	return at;
}

static uint32_t scratch(const struct fb_shape *shape)
{
	uint32_t n = (uint32_t)shape->nranks, digit = 1;

	while (digit < n)
		digit *= 2;
	return arrival(n, digit);
}

/*
 * Where `rank` has the block for distance `d` before step `digit`: it arrived with the highest of
 * d's lower digits, as number travellers(d, that) of its message; or it has not moved yet.
 */
static struct fb_chunk lies(int rank, uint32_t n, uint32_t d, uint32_t digit)
{
	uint32_t moved = d & (digit - 1), last;

	if (!moved)
		return fb_chunk(rank, FB_IN, (uint32_t)(((uint64_t)rank + d) % n), 1);
	last = 1u << (31 - __builtin_clz(moved));
	return fb_chunk(rank, FB_SCRATCH, arrival(n, last) + travellers(d, last), 1);
}

static int build(struct fb_builder *b)
{
	uint32_t n = (uint32_t)fb_nranks(b);
	int self = fb_self(b);

	if (self < 0)
		return 0;
	fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)self, 1),
		fb_chunk(self, FB_IN, (uint32_t)self, 1));
	for (uint32_t digit = 1; digit < n; digit *= 2, fb_round(b)) {
		uint32_t m = travellers(n, digit), area = arrival(n, digit);
		int ahead = (int)(((uint32_t)self + digit) % n);
		int behind = (int)(((uint32_t)self + n - digit) % n);

		for (uint32_t d = digit, to = 0; d < n; d = (d + 1) | digit)
			fb_copy(b, fb_chunk(self, FB_SCRATCH, to++, 1), lies(self, n, d, digit));
		fb_round(b);
		fb_copy(b, fb_chunk(ahead, FB_SCRATCH, area, m), fb_chunk(self, FB_SCRATCH, 0, m));
		fb_copy(b, fb_chunk(self, FB_SCRATCH, area, m), fb_chunk(behind, FB_SCRATCH, 0, m));
	}
	for (uint32_t d = 1; d < n; d++)
		fb_copy(b, fb_chunk(self, FB_OUT, ((uint32_t)self + n - d) % n, 1),
			lies(self, n, d, 1u << 31));
	return 0;
}

const struct fb_algorithm fb_all_to_all_bruck = {
	.name = "bruck",
	.collective = FB_ALL_TO_ALL,
	.source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
