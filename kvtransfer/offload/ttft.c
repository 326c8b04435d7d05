/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tier saves of a request's time to first token; see offload.h. */
#include "common/base/error.h"
#include "kvtransfer/offload/offload.h"

enum { TRIES = 3 };

/* Collective: the least time of TRIES to compute tokens behind a context, on the slowest rank. */
static int time_prefill(const struct fb_tier_instance *i, uint32_t tokens, uint32_t context,
			double *us)
{
	MPI_Comm comm = i->state->machine.world->comm;
	int err = FB_OK;

	for (int k = 0; k < TRIES && !err; k++) {
		double began = fb_tier_now_us(i), spent;

		err = fb_kv_prefill(i->compute, tokens, context);
		spent = fb_tier_now_us(i) - began;
		err = fb_group_agree(i->state->machine.world, err);
		MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, comm);
		*us = k && *us < spent ? *us : spent;
	}
	return err;
}

/* Collective: whether reading a prompt of so many blocks from the tier beats computing it. */
static int pays(const struct fb_tier_instance *i, uint32_t blocks, bool *it_does)
{
	struct fb_move *move = NULL;
	double onboard = 0, computed = 0;
	uint64_t n = fb_tier_list(i, FB_TIER_BACK, blocks, i->piece);
	int err = fb_group_agree(i->state->machine.world,
				 fb_tier_prepare(i, FB_MOVE_GET, i->piece, n, &move));

	if (err)
		return err;
	err = fb_tier_fastest(i, move, TRIES, &onboard);
	i->engine->ops->release(move);
	if (!err)
		err = time_prefill(i, blocks * i->job.shape.block_tokens, 0, &computed);
	*it_does = onboard < computed;
	return err;
}

/*
 * Finds the fewest tokens, in whole blocks, from which on onboarding is faster: by doubling, then
 * by bisection. NAN: it is not faster up to the request's length.
 */
static int find_breakeven(struct fb_tier_instance *i)
{
	uint32_t all = fb_kv_blocks(&i->job.shape), low = 0, high = 1;
	bool paid = false;
	int err;

	while (!(err = pays(i, high, &paid)) && !paid && high < all) {
		low = high;
		high = high * 2 < all ? high * 2 : all;
	}
	while (!err && paid && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		bool there = false;

		err = pays(i, middle, &there);
		high = there ? middle : high;
		low = there ? low : middle;
	}
	if (paid)
		i->value[FB_TIER_BREAKEVEN_TOKENS] = (double)high * i->job.shape.block_tokens;
	return err;
}

uint32_t fb_tier_hit_tokens(const struct fb_tier_instance *i)
{
	uint64_t tokens = (uint64_t)i->job.hits * i->job.shape.block_tokens;

	return tokens < i->job.shape.tokens ? (uint32_t)tokens : i->job.shape.tokens;
}

int fb_tier_open_compute(struct fb_tier_instance *i)
{
	uint32_t tokens = i->job.shape.tokens + i->job.shape.block_tokens;
	const struct fb_gpu *gpu = i->engine->ops->device ? &i->state->machine.gpu : NULL;
	int err = fb_group_agree(i->state->machine.world,
				 fb_kv_compute_open(&i->compute, i->job.model, gpu, tokens));

	if (!err)
		err = time_prefill(i, i->job.shape.tokens, 0, &i->value[FB_TIER_RECOMPUTE_US]);
	if (!err)
		err = time_prefill(i, i->job.shape.tokens - fb_tier_hit_tokens(i),
				   fb_tier_hit_tokens(i), &i->value[FB_TIER_REST_US]);
	return err ? err : find_breakeven(i);
}
