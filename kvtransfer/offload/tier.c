/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case of offload; see offload.h. A rank's memory has two caches in a row: blocks are evicted
 * from the first one and come back to the second one, which has another block table.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/stats.h"
#include "kvtransfer/offload/offload.h"
#include "kvtransfer/plan.h"

enum { BULK_TRIES = 5, NOTICE = 1 };

double fb_tier_now_us(const struct fb_tier_instance *i)
{
	return fb_clock_now(i->state->machine.session->clock) * 1e6;
}

/* --- lists of pieces -------------------------------------------------------------------------- */

static bool keeps(const struct fb_tier_job *j, uint32_t region, uint32_t block)
{
	uint32_t parts = fb_kv_regions(&j->shape) / j->shape.layers;

	return j->crossover || fb_kv_model_keeps(j->model, region / parts, &j->shape, block);
}

static uint64_t memory_place(const struct fb_tier_instance *i, int cache, uint32_t region,
			     uint32_t block)
{
	const struct fb_tier_job *j = &i->job;

	return (uint64_t)cache * j->area +
	       fb_kv_region_at(&j->shape, FB_KV_PREFILL, region) +
	       i->table[cache][block] * j->page_bytes;
}

static uint64_t tier_place(const struct fb_tier_job *j, uint32_t region, uint32_t block)
{
	if (j->order == FB_TIER_BLOCK_FIRST)
		return ((uint64_t)block * fb_kv_regions(&j->shape) + region) * j->page_bytes;
	return ((uint64_t)region * fb_kv_blocks(&j->shape) + block) * j->page_bytes;
}

/* The pages of the first `blocks` blocks, in the tier's order; returns how many. */
uint64_t fb_tier_list(const struct fb_tier_instance *i, int cache, uint32_t blocks,
		     struct fb_piece *piece)
{
	const struct fb_tier_job *j = &i->job;
	bool block_first = j->order == FB_TIER_BLOCK_FIRST;
	uint32_t regions = fb_kv_regions(&j->shape);
	uint32_t outer = block_first ? blocks : regions, inner = block_first ? regions : blocks;
	uint64_t n = 0;

	for (uint32_t a = 0; a < outer; a++)
		for (uint32_t b = 0; b < inner; b++) {
			uint32_t region = block_first ? b : a, block = block_first ? a : b;

			if (keeps(j, region, block))
				piece[n++] = (struct fb_piece){
					memory_place(i, cache, region, block),
					tier_place(j, region, block), j->page_bytes};
		}
	return n;
}

int fb_tier_prepare(const struct fb_tier_instance *i, enum fb_move_verb verb,
		   const struct fb_piece *piece, uint64_t n, struct fb_move **move)
{
	const struct fb_kv_backend *e = i->engine;
	const struct fb_transfer t = {.verb = verb, .peer = i->state->machine.world->rank,
				      .local = e->region, .remote = e->remote, .piece = piece,
				      .pieces = n, .notice = verb == FB_MOVE_PUT ? NOTICE : 0};

	return fb_move_prepare_checked(e->mover, &t, 1, i->form, move);
}

/* Posts a move and waits until its bytes have arrived, which for a PUT only its notice shows. */
static int carry(struct fb_move *move)
{
	struct fb_mover *mover = move->mover;
	bool put = move->transfer[0].verb == FB_MOVE_PUT;
	uint64_t before = 0;
	int err = FB_OK, self = mover->group->rank;

	if (put)
		err = mover->ops->arrived(mover, self, NOTICE, &before);
	if (!err)
		err = mover->ops->post(move);
	if (!err)
		err = fb_move_wait(move);
	return err || !put ? err : fb_mover_await(mover, self, NOTICE, before + 1);
}

/*
 * It stops early when the moves have taken as long as the repetitions of a row may take. Otherwise
 * a cache that takes seconds would be written to a slow disk many times before the row is measured.
 */
int fb_tier_fastest(const struct fb_tier_instance *i, struct fb_move *move, int tries, double *us)
{
	double left = i->state->machine.settings->max_time_s * 1e6;
	MPI_Comm comm = i->state->machine.world->comm;
	int err = FB_OK;

	for (int k = 0; k < tries && !err && left > 0; k++) {
		double began, spent;

		MPI_Barrier(comm);
		began = fb_tier_now_us(i);
		err = carry(move);
		spent = fb_tier_now_us(i) - began;
		err = fb_group_agree(i->state->machine.world, err);
		MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, comm);
		*us = k && *us < spent ? *us : spent;
		left -= spent;
	}
	return err;
}

/* --- setting up ------------------------------------------------------------------------------- */

static int make_tables(struct fb_tier_instance *i)
{
	const struct fb_kv_shape *s = &i->job.shape;
	uint32_t *scratch = calloc(fb_kv_pool(s), sizeof(*scratch));

	for (int c = 0; c < FB_TIER_CACHES; c++) {
		i->table[c] = calloc(fb_kv_blocks(s), sizeof(*i->table[c]));
		if (i->table[c] && scratch)
			fb_kv_table(s, (uint64_t)c + 1, i->table[c], scratch);
	}
	free(scratch);
	return scratch && i->table[FB_TIER_OUT] && i->table[FB_TIER_BACK] ? FB_OK : FB_ENOMEM;
}

/* Local: makes both moves, and room for another list. */
static int make_moves(struct fb_tier_instance *i)
{
	uint32_t blocks = fb_kv_blocks(&i->job.shape);
	uint64_t most = (uint64_t)blocks * fb_kv_regions(&i->job.shape);
	int err = make_tables(i);

	i->piece = calloc(most, sizeof(*i->piece));
	for (int c = 0; c < FB_TIER_CACHES && !err; c++) {
		i->pieces[c] = calloc(most, sizeof(*i->piece));
		if (!i->piece || !i->pieces[c])
			return fb_error(FB_ENOMEM, "out of memory for %llu pieces",
					(unsigned long long)most);
		i->npieces[c] = fb_tier_list(i, c, c == FB_TIER_OUT ? blocks : i->job.hits,
					     i->pieces[c]);
		err = fb_tier_prepare(i, c == FB_TIER_OUT ? FB_MOVE_PUT : FB_MOVE_GET, i->pieces[c],
			      i->npieces[c], &i->move[c]);
	}
	return err;
}

/* Measures the same bytes in one piece, with the same mover and form. Collective. */
static int time_bulk(struct fb_tier_instance *i)
{
	bool out = i->job.operation == FB_TIER_EVICT;
	struct fb_move *move = NULL;
	int err;

	i->bytes = (double)i->npieces[out ? FB_TIER_OUT : FB_TIER_BACK] * (double)i->job.page_bytes;
	i->bulk = (struct fb_piece){out ? 0 : i->job.area, 0, (uint64_t)i->bytes};
	if (!i->bulk.bytes)
		return FB_OK;
	err = fb_group_agree(i->state->machine.world,
			     fb_tier_prepare(i, out ? FB_MOVE_PUT : FB_MOVE_GET, &i->bulk, 1,
					     &move));
	if (err)
		return err;
	/* Bytes have to be in the tier before they can be read. */
	if (!out)
		err = fb_group_agree(i->state->machine.world, carry(i->move[FB_TIER_OUT]));
	if (!err)
		err = fb_tier_fastest(i, move, BULK_TRIES, &i->value[FB_TIER_BULK_US]);
	i->engine->ops->release(move);
	return err;
}

/* --- setup and teardown ----------------------------------------------------------------------- */

static void close_instance(struct fb_tier_instance *i)
{
	for (int c = 0; c < FB_TIER_CACHES; c++) {
		if (i->move[c])
			i->engine->ops->release(i->move[c]);
		free(i->pieces[c]);
		free(i->table[c]);
	}
	fb_kv_compute_close(i->compute);
	free(i->piece);
	free(i);
}

int fb_tier_set_up(void *arg, const struct fb_case *c, void **result)
{
	struct fb_tier_state *state = arg;
	struct fb_tier_instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(state->machine.world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->state = state;
	i->automatic = !strcmp(c->engine, "auto");
	i->engine = fb_tier_engine_of(state, c, &i->form);
	i->job = fb_tier_job_of(c);
	i->data = (struct fb_data){.seed = state->machine.settings->seed, .type = c->datatype,
				   .op = FB_SUM, .nranks = state->machine.world->nranks};
	for (int k = 0; k < FB_TIER_COLUMNS; k++)
		i->value[k] = (double)NAN;
	err = fb_kv_backend_memory(&state->machine, i->engine, true, &state->machine.world->rank,
				   1);
	if (!err && fb_store_below(i->engine->mover))
		err = fb_group_agree(state->machine.world,
				     fb_store_depth(fb_store_below(i->engine->mover),
						    i->job.depth));
	if (!err)
		err = fb_group_agree(state->machine.world, make_moves(i));
	if (!err)
		err = time_bulk(i);
	if (!err && i->job.operation == FB_TIER_TTFT)
		err = fb_tier_open_compute(i);
	if (err) {
		close_instance(i);
		return err;
	}
	i->value[FB_TIER_BLOCKS] = fb_kv_blocks(&i->job.shape);
	i->value[FB_TIER_PIECES] =
		(double)i->npieces[i->job.operation == FB_TIER_EVICT ? FB_TIER_OUT : FB_TIER_BACK];
	i->value[FB_TIER_PIECE_BYTES] = (double)i->job.page_bytes;
	i->value[FB_TIER_HIT_TOKENS] = fb_tier_hit_tokens(i);
	*result = i;
	return FB_OK;
}

void fb_tier_tear_down(void *instance)
{
	const struct fb_tier_instance *i = instance;
	MPI_Comm comm = i->state->machine.world->comm;

	close_instance(instance);
	MPI_Barrier(comm);
}

/* --- measuring and checking ------------------------------------------------------------------- */

static char *memory_of(const struct fb_tier_instance *i)
{
	return fb_segment_part(i->engine->memory, i->state->machine.world->rank);
}

/* Fills (bad NULL) or checks those pages of a cache that the tier keeps. */
static int each_page(const struct fb_tier_instance *i, int cache, uint32_t blocks,
		     struct fb_mismatch *bad)
{
	const struct fb_memory_ops *ops = i->engine->memory->ops;
	size_t elements = (size_t)(i->job.page_bytes / i->job.shape.element_bytes);
	int rank = i->state->machine.world->rank, err = FB_OK;

	for (uint32_t region = 0; region < fb_kv_regions(&i->job.shape); region++)
		for (uint32_t block = 0; block < blocks && !err; block++) {
			char *page = memory_of(i) + memory_place(i, cache, region, block);
			uint64_t first = tier_place(&i->job, region, block) /
					 i->job.shape.element_bytes;

			if (!keeps(&i->job, region, block))
				continue;
			err = bad ? ops->check(&i->data, rank, first, page, elements, bad)
				  : ops->fill(&i->data, rank, first, page, elements);
		}
	return err;
}

int fb_tier_prime(void *instance)
{
	struct fb_tier_instance *i = instance;
	const struct fb_memory_ops *ops = i->engine->memory->ops;
	int poison = fb_data_poison_byte((unsigned)i->state->machine.world->rank), err;

	fb_data_renew(&i->data);
	err = ops->set(memory_of(i), poison, (size_t)(2 * i->job.area));
	if (!err)
		err = each_page(i, FB_TIER_OUT, fb_kv_blocks(&i->job.shape), NULL);
	if (!err && i->job.operation != FB_TIER_EVICT)
		err = carry(i->move[FB_TIER_OUT]);
	return err;
}

static struct fb_move *timed_move(const struct fb_tier_instance *i)
{
	return i->move[i->job.operation == FB_TIER_EVICT ? FB_TIER_OUT : FB_TIER_BACK];
}

int fb_tier_run(void *instance, int calls)
{
	const struct fb_tier_instance *i = instance;
	int err = FB_OK;

	for (int k = 0; k < calls && !err; k++) {
		err = carry(timed_move(i));
		if (!err && i->job.operation == FB_TIER_TTFT)
			err = fb_kv_prefill(i->compute, i->job.shape.tokens - fb_tier_hit_tokens(i),
					    fb_tier_hit_tokens(i));
	}
	return err;
}

/* Evicted blocks are read back to be checked; bytes outside of the blocks must be untouched. */
int fb_tier_check(void *instance, int calls, struct fb_mismatch *bad)
{
	struct fb_tier_instance *i = instance;
	uint32_t blocks = i->job.operation == FB_TIER_EVICT ? fb_kv_blocks(&i->job.shape)
							     : i->job.hits;
	struct fb_move *back = NULL;
	int err = FB_OK;

	(void)calls;
	if (i->job.operation == FB_TIER_EVICT) {
		uint64_t n = fb_tier_list(i, FB_TIER_BACK, blocks, i->piece);

		err = fb_tier_prepare(i, FB_MOVE_GET, i->piece, n, &back);
		if (!err)
			err = carry(back);
		if (back)
			i->engine->ops->release(back);
	}
	err = err ? err : each_page(i, FB_TIER_BACK, blocks, bad);
	i->wrong |= bad->errors > 0;
	return err;
}

void fb_tier_describe(void *instance, struct fb_traits *traits)
{
	struct fb_tier_instance *i = instance;
	bool computes = i->job.operation == FB_TIER_TTFT;
	size_t used;

	MPI_Allreduce(MPI_IN_PLACE, &i->wrong, 1, MPI_C_BOOL, MPI_LOR,
		      i->state->machine.world->comm);
	i->engine->ops->describe(timed_move(i), traits);
	fb_kv_backend_path(&i->state->machine, i->engine, i->automatic, traits);
	traits->algorithm_bytes = i->bytes;
	traits->bus_factor = 1;
	traits->bound_us = (double)NAN; /* bulk_us is what the same mover takes */
	memcpy(traits->extra, i->value, sizeof(i->value));
	used = strlen(traits->path);
	if (computes && used + 4 < sizeof(traits->path)) {
		memcpy(traits->path + used, "; ", 3);
		fb_kv_compute_describe(i->compute, traits->path + used + 2,
				       sizeof(traits->path) - used - 2);
	}
}

void fb_tier_summarise(void *instance, const double *samples_us, size_t n,
		       struct fb_traits *traits)
{
	const struct fb_tier_instance *i = instance;
	double *scratch = calloc(2 * n + 1, sizeof(*scratch)), us;

	if (scratch && n) {
		us = fb_median(samples_us, n, scratch);
		if (i->job.operation == FB_TIER_TTFT)
			traits->extra[FB_TIER_SAVED_US] = i->value[FB_TIER_RECOMPUTE_US] - us;
		fb_tier_crossover_add(i, us);
	}
	free(scratch);
}
