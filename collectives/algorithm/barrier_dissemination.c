/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier, dissemination: in step k every rank notifies the rank 2^k after it, so that after
 * ceil(log2 n) steps each has a chain of messages from all.
 *
 * Messages are empty. What a rank knows is a set of ranks, and combining sets twice does no harm,
 * which is why any n works. Each step has a token of its own: a peer may still read the last one.
 */
#include "collectives/algorithm/algorithm.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	uint32_t steps = 0;

	while ((int64_t)1 << steps < shape->nranks)
		steps++;
	return steps > 1 ? steps - 1 : 0;
}

/* What `rank` knows after `steps` steps. */
static struct fb_chunk token(int rank, uint32_t steps)
{
	return steps ? fb_chunk(rank, FB_SCRATCH, steps - 1, 1) : fb_chunk(rank, FB_IN, 0, 1);
}

static void receive_token(struct fb_builder *b, int rank, uint32_t step)
{
	int64_t n = fb_nranks(b), far = (int64_t)1 << step;
	int from = (int)((rank + n - far) % n);
	bool last = far * 2 >= n;

	fb_reduce(b, last ? fb_chunk(rank, FB_OUT, 0, 1) : token(rank, step + 1), token(rank, step),
		  token(from, step), last ? FB_COMPLETE : FB_PARTIAL);
}

static int build(struct fb_builder *b)
{
	int64_t n = fb_nranks(b);
	int self = fb_self(b);

	if (self < 0)
		return 0;
	if (n == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
	for (uint32_t step = 0; (int64_t)1 << step < n; step++, fb_round(b)) {
		receive_token(b, self, step);
		receive_token(b, (int)((self + ((int64_t)1 << step)) % n), step);
	}
	return 0;
}

const struct fb_algorithm fb_barrier_dissemination = {
	.name = "dissemination",
	.collective = FB_BARRIER,
	.source = "Hensgen, Finkel, Manber 1988",
	.scratch = scratch,
	.build = build,
};
