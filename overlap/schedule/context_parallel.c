/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Context parallelism by a ring (ring attention, Liu et al., 2023): each rank has a part of the
 * sequence. In as many rounds as there are ranks, its queries attend to a block of keys and values,
 * while the block moves on to the next rank and another one arrives.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum schedule { SEQUENTIAL, OVERLAP };
enum { PLACES = 2, BACKGROUND = 0 /* axis */ };

static const char *const schedules[] = {"sequential", "overlap", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Attention"),
	FB_OVERLAP_SCHEDULES("sequential,overlap", schedules,
			     "whether a block moves on while attention computes with it"),
	FB_OVERLAP_LAYERS("2", "layers of the step"),
	FB_OVERLAP_HIDDEN("1024"),
	FB_OVERLAP_TOKENS("256", "tokens of the sequence on each rank"),
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "0"}, FB_OVERLAP_DEFAULTS};

/* Keys and values of a rank's tokens. */
static uint64_t bytes(const struct fb_build *b)
{
	return (b->nn ? b->nn->kv : 2 * b->own->hidden) * b->tokens * b->element_bytes;
}

/* A rank's own blocks, and places for those that move; not the blocks of all ranks. */
static uint64_t most(const struct fb_build *b)
{
	uint64_t layers = b->own->layers;

	return (layers + PLACES) * bytes(b) / b->element_bytes +
	       layers * (uint64_t)b->nranks * FB_WITNESS;
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	uint64_t block = bytes(b) / b->element_bytes;
	uint64_t heads = b->nn ? b->nn->heads * b->nn->query : b->own->hidden;
	int n = b->nranks, layers = (int)b->own->layers, world, own, places, seen, data = 0;

	fb_dag_two_lanes(dag, b->schedule == SEQUENTIAL);
	world = fb_dag_axis(dag, "context", 1, n);
	own = fb_dag_buffer(dag, "own blocks", (uint64_t)layers * block);
	places = fb_dag_buffer(dag, "blocks", PLACES * block);
	seen = fb_dag_buffer(dag, "seen", (uint64_t)(layers * n) * FB_WITNESS);
	fb_dag_background(dag, b, b->value[BACKGROUND]);
	for (int l = 0; l < layers; l++) {
		const struct fb_span mine = {own, (uint64_t)l * block, block};

		data = fb_dag_data(dag, n);
		fb_dag_input(dag, mine, (struct fb_content){data, b->rank, 0});
		for (int round = 0; round < n; round++) {
			int number = l * n + round;
			struct fb_span here = {places, (uint64_t)(number % PLACES) * block, block};
			const struct fb_span next = {places, (uint64_t)((number + 1) % PLACES) *
						     block, block};
			int task = fb_dag_compute(dag, FB_LANE_COMPUTE, "attention", number,
						  fb_work_product(FB_WORK_ATTENTION, b->tokens,
								  b->tokens, heads));
			int moved;

			if (!round)
				here = mine;
			fb_dag_witness(dag, task, seen, number, here,
				       (struct fb_content){data, (b->rank + n - round) % n, 0});
			if (round == n - 1)
				continue;
			moved = fb_dag_collective(dag, FB_LANE_COMMUNICATE, "send_recv", number,
						  FB_SEND_RECV, world, 0, here, next);
			if (b->schedule == SEQUENTIAL)
				fb_dag_after(dag, moved, task);
		}
	}
	dag->tokens = b->tokens * (uint64_t)n;
}

const struct fb_schedule_program fb_schedule_context_parallel = {
	.name = "context_parallel",
	.summary = "attention over a ring of blocks of keys and values",
	.description =
	"Times attention of some layers over a sequence that is spread over all ranks: in each "
	"round a rank attends to one block of keys and values, which moves on to the next rank "
	"meanwhile.\n\n"
	"BYTES is the size of a block, by --tokens and --hidden.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.axes = {FB_BACKGROUND_AXIS(3)}, .attends = true, .bytes = bytes, .build = build,
	.most = most,
};
