/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists of engine copy, carried out on host memory over random interleavings.
 *
 * Every rank makes several calls back to back without a barrier. At the begin of each its output
 * is poisoned and its input changed, at the end of each its output is checked at once: a copy
 * that came too early, or that the end of the call did not wait for, is seen. Copies take two
 * steps, so that others come in between. Lists are the same in every call, which is what replay
 * of a graph is. At the end all flags must be 0. Lists that are broken on purpose must be caught.
 * Streams run at once, as they are listed, or in one queue of any order that keeps to them.
 */
#include "tests/unit/copy_world.h"

#define NO_ROUNDS .round_bytes = UINT64_MAX

static const struct fb_copy_tuning tunings[] = {
	{.pull = false, .streams = 0, .relay_bytes = UINT64_MAX},
	{.pull = true, .streams = 0, .relay_bytes = UINT64_MAX},
	{.pull = false, .streams = 1, .relay_bytes = UINT64_MAX, NO_ROUNDS},
	{.pull = true, .streams = 2, .relay_bytes = UINT64_MAX, NO_ROUNDS},
	{.pull = false, .streams = 16, .relay_bytes = UINT64_MAX, NO_ROUNDS},
	{.pull = true, .streams = 16, .relay_bytes = UINT64_MAX, NO_ROUNDS},
	{.pull = false, .streams = 0, .relay_bytes = 1, .piece_bytes = 4},
	{.pull = false, .streams = 3, .relay_bytes = 1, .piece_bytes = 1},
	{.pull = false, .streams = 2, .relay_bytes = 1, .piece_bytes = 1 << 20},
	{.pull = false, .streams = 3, .relay_bytes = UINT64_MAX, .tail_bytes = 9},
	{.pull = true, .streams = 3, .relay_bytes = UINT64_MAX, .tail_bytes = 2},
	{.pull = false, .streams = 3, .relay_bytes = UINT64_MAX, .tail_bytes = 0},
	{.streams = 1, .chain_bytes = 1, .piece_bytes = 4, .tail_bytes = 1},
	{.streams = 1, .chain_bytes = 1, .piece_bytes = 9, .tail_bytes = 0},
	{.streams = 1, .chain_bytes = 1, .piece_bytes = 128, .tail_bytes = 40},
	{.streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 256, .tail_bytes = 40},
	{.streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 128, .tail_bytes = 0},
	{.streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 512, .last_bytes = 128,
	 .tail_bytes = 24},
	{.streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 128, NO_ROUNDS},
	{.streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 384, NO_ROUNDS},
};

enum { TUNINGS = sizeof(tunings) / sizeof(tunings[0]), SUMS = 6 /* the last, for reductions */ };

/* Tries each tuning and each order; the last SUMS are for reductions only. */
static void test_tunings(struct job *job, const struct fb_operation *op, int n)
{
	const struct fb_collective_info *info = fb_collective_info(op->collective);

	if (!CHECK(world_open(&job->world, n, *op) == 0))
		return;
	for (size_t i = info->reduces ? TUNINGS - SUMS : 0; i < TUNINGS; i++) {
		for (int order = 0; order < ORDERS; order++) {
			job->order = (enum order)order;
			bool right = true;

			for (int try = order == ONE_QUEUE ? 0 : 4; try < 5 && right; try++)
				right = goes_right(job, &tunings[i]);
			if (!CHECK(right))
				printf("\t%s, %d ranks, in place %d, tuning %zu, order %d\n",
				       info->name, n, op->in_place, i, order);
		}
	}
	job->order = AT_ONCE;
	world_close(&job->world);
}

/* Sanitizers make the same code ten times slower. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

static void test_all(struct job *job)
{
	for (int c = 0; c < FB_COLLECTIVES; c++) {
		const struct fb_collective_info *info = fb_collective_info((enum fb_collective)c);

		for (int n = 1 + c % EVERY; n <= WORLD_MOST; n += EVERY) {
			for (int place = 0; place < 2; place++) {
				/* Several pieces for each rank, the last ones short or empty. */
				struct fb_operation op = {
					.collective = (enum fb_collective)c, .datatype = FB_U8,
					.root = n / 2, .in_place = place,
					.count = info->reduces ? 1171 : 37,
				};
				char why[FB_REASON_CHARS];

				if (fb_copy_can(&op, false, why, sizeof(why)) &&
				    (!place || info->in_place))
					test_tunings(job, &op, n);
			}
		}
	}
}

/* Whether a list relies on what the mutant lacks: results, pieces behind the first few. */
static bool concerns(enum mutant m, const struct fb_operation *op, const struct fb_copy_tuning *w)
{
	bool sums = fb_collective_info(op->collective)->reduces;
	bool chained = w->chain_bytes && (op->collective == FB_REDUCE ||
					  op->collective == FB_BROADCAST);

	if (m == NO_FREE)
		return (chained && w->piece_bytes * 8 < op->count) ||
		       (sums && w->sum_bytes == 128 && w->round_bytes);
	if (m == NO_LAST && chained)
		return false;
	return op->collective == FB_ALL_REDUCE || op->collective == FB_REDUCE;
}

/*
 * DONE before the copy does no harm where the copy that is last is the rank's own, nor where HEAD,
 * behind all of the copy, is waited for too.
 */
static bool is_harmless(const struct fb_operation *op, const struct fb_copy_tuning *w)
{
	if (fb_collective_info(op->collective)->reduces)
		return op->collective == FB_ALL_REDUCE && !w->round_bytes && !w->tail_bytes;
	return !w->streams &&
	       (op->collective != FB_BROADCAST || w->relay_bytes == UINT64_MAX);
}

/* Each kind of damage is noticed in some interleaving, of every collective and direction. */
static void test_mutants(struct job *job)
{
	static const enum fb_collective collectives[] = {FB_ALL_GATHER, FB_ALL_GATHER_V,
							  FB_ALL_TO_ALL,
							  FB_BROADCAST, FB_SEND_RECV,
							  FB_ALL_REDUCE, FB_REDUCE_SCATTER,
							  FB_REDUCE};

	for (int m = SOUND + 1; m < MUTANTS; m++) {
		for (size_t c = 0; c < sizeof(collectives) / sizeof(collectives[0]); c++) {
			bool sums = fb_collective_info(collectives[c])->reduces;

			for (size_t i = sums ? TUNINGS - SUMS : 0; i < TUNINGS; i++) {
				struct fb_operation op = {.collective = collectives[c],
							  .datatype = FB_U8,
							  .count = sums ? 1171 : 37};
				int caught = 0;

				if (m >= NO_AFTER && !concerns((enum mutant)m, &op, &tunings[i]))
					continue;
				if (m == EARLY_DONE && is_harmless(&op, &tunings[i]))
					continue;
				if (!CHECK(world_open(&job->world, 4, op) == 0))
					return;
				job->mutant = (enum mutant)m;
				for (int try = 0; try < 300 && !caught; try++)
					caught = !goes_right(job, &tunings[i]);
				if (!CHECK(caught))
					printf("\tmutant %d, %s, tuning %zu\n", m,
					       fb_collective_info(op.collective)->name, i);
				world_close(&job->world);
			}
		}
	}
	job->mutant = SOUND;
}

/* At every step of the rotation each rank is served by one other. */
static void test_rotation(void)
{
	const struct fb_copy_tuning tuning = {.streams = 16};
	struct world_in_one w;

	if (!CHECK(world_open(&w, 8, (struct fb_operation){.collective = FB_ALL_TO_ALL,
							   .datatype = FB_F32, .count = 3}) == 0))
		return;
	for (int step_ = 0; step_ < 7; step_++) {
		int hits[8] = {0};

		for (int r = 0; r < 8; r++) {
			struct fb_copy_list list;
			int moves = 0;

			if (!CHECK_INT(fb_copy_plan(&w.op, &tuning, r, 8, &list), 0))
				continue;
			for (size_t i = 0; i < list.count; i++)
				if (list.op[i].kind == FB_COPY_MOVE && list.op[i].to != r &&
				    moves++ == step_)
					hits[list.op[i].to]++;
			fb_copy_list_free(&list);
		}
		for (int r = 0; r < 8; r++)
			CHECK_INT(hits[r], 1);
	}
	world_close(&w);
}

/* The test of rounds can fail: streams of their own do crowd a GPU. */
static void test_crowd(struct job *job)
{
	const struct fb_copy_tuning tuning = {.streams = 16, NO_ROUNDS};

	if (!CHECK(world_open(&job->world, 4, (struct fb_operation){.collective = FB_ALL_GATHER,
								    .datatype = FB_U8,
								    .count = 37}) == 0))
		return;
	CHECK(goes_right(job, &tuning));
	CHECK(job->crowded > 0);
	world_close(&job->world);
}

static void test_reasons(void)
{
	struct fb_operation op = {.collective = FB_BARRIER};
	char why[FB_REASON_CHARS];

	CHECK(!fb_copy_can(&op, false, why, sizeof(why)));
	CHECK_STR(why, "copy engines cannot do barrier");
	op = (struct fb_operation){.collective = FB_ALL_REDUCE};
	CHECK(fb_copy_can(&op, false, why, sizeof(why)));
	CHECK(!fb_copy_can(&op, true, why, sizeof(why)));
	CHECK_STR(why, "data that is summed can only be pushed");
	op = (struct fb_operation){.collective = FB_ALL_TO_ALL, .in_place = true};
	CHECK(!fb_copy_can(&op, false, why, sizeof(why)));
	CHECK_STR(why, "all_to_all in place needs memory between");
}

int main(void)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return 1;
	fb_rng_seed(&job->rng, 1);
	test_all(job);
	test_mutants(job);
	test_rotation();
	test_crowd(job);
	test_reasons();
	free(job);
	return check_done("copy_plan");
}
