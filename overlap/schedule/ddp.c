/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data-parallel training: backward computes one tensor after the other, the last layer's first,
 * and copies its gradient into a bucket, as DDP does. A bucket's all_reduce is in place.
 */
#include <stdio.h>

#include "common/base/error.h"
#include "overlap/options.h"
#include "overlap/schedule/buckets.h"
#include "overlap/schedule/schedule.h"
#include "overlap/step/run.h"

enum schedule { COMPUTE, COMMUNICATE, SEQUENTIAL, OVERLAP };
enum axis { BUCKET };
enum { ALIGN_BYTES = 512, ALIGN = 128 };

static const char *const schedules[] = {"compute", "communicate", "sequential", "overlap", NULL};
static const unsigned parts[] = {FB_PART_ALL, FB_PART_COMMUNICATE, FB_PART_ALL, FB_PART_ALL};

static int check_tensors(const char *value, char *accepted, size_t n)
{
	struct fb_ratios ratios = {.layers = 1};

	snprintf(accepted, n, "at most %d numbers from 1 to %d as 4,1,1,4", FB_MOST_TENSORS,
		 FB_MOST_RATIO);
	return fb_ratios_parse(&ratios, value);
}

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OPTION_SIZES(struct fb_overlap_settings, bucket, 0, "bucket", "1M,4M,25M,64M,0",
			"bytes of gradients after which a bucket is full; 0: one bucket for all"),
	FB_OVERLAP_SCHEDULES("sequential,overlap", schedules,
			     "what a step does: compute or communicate alone, one behind the "
			     "other, or each bucket's all_reduce while backward goes on"),
	FB_OPTION_STRING(struct fb_overlap_settings, tensors, 0, "tensors", "LIST", FB_DDP_RATIOS,
			 check_tensors, "sizes of a layer's tensors, relative, in the order of "
			 "forward"),
	FB_OVERLAP_LAYERS("8", "equal layers of the model"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_PARTS,
	FB_OVERLAP_STAGES,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

/* The tensors and buckets of a case; false where they do not fit into memory. */
static bool make(const struct fb_build *b, struct fb_gradients *g)
{
	struct fb_ratios ratios = {.layers = b->own->layers};
	uint64_t full = fb_ceil_div(b->value[BUCKET], b->element_bytes);
	int err = b->nn ? fb_gradients_list(g, b->nn, ALIGN) :
		  fb_ratios_parse(&ratios, b->own->tensors);

	if (!err && !b->nn)
		err = fb_gradients_split(g, &ratios, b->elements, ALIGN_BYTES / b->element_bytes);
	if (!err)
		fb_gradients_pack(g, full, full);
	return !err;
}

/* Of a model: all its tensors. */
static uint64_t bytes(const struct fb_build *b)
{
	struct fb_gradients g;
	uint64_t elements = 0;

	if (b->nn && !fb_gradients_list(&g, b->nn, ALIGN)) {
		elements = fb_gradients_elements(&g);
		fb_gradients_free(&g);
	}
	return elements * b->element_bytes;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	struct fb_gradients g;
	bool can = false;

	if (!make(b, &g))
		snprintf(reason, FB_SCHEDULE_REASON, "out of memory for the buckets");
	else if (!g.ntensors)
		snprintf(reason, FB_SCHEDULE_REASON,
			 "no gradients: --bytes is less than an element");
	else if (b->value[BUCKET] && g.nbuckets == 1 && b->own->bucket.value[0] == 0)
		snprintf(reason, FB_SCHEDULE_REASON, "one bucket holds all: see bucket=whole");
	else
		can = true;
	fb_gradients_free(&g);
	return can;
}

static struct fb_work work_of(const struct fb_build *b, const struct fb_tensor *t)
{
	if (t->of)
		return fb_nn_work(b->nn, t->of, b->tokens, true);
	return fb_work_product(FB_WORK_BACKWARD, b->tokens,
			       fb_ceil_div(t->count, b->own->hidden), b->own->hidden);
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct fb_gradients g;
	struct fb_content own = {.member = b->rank}, sum = {.member = FB_ALL_MEMBERS};
	int found, buckets, world, last = 0;
	size_t next = 0;

	if (!make(b, &g)) {
		dag->err = FB_ENOMEM;
		return;
	}
	fb_dag_two_lanes(dag);
	world = fb_dag_axis(dag, "world", 1, b->nranks);
	own.data = sum.data = fb_dag_data(dag, b->nranks);
	found = fb_dag_buffer(dag, "gradients", b->elements);
	buckets = fb_dag_buffer(dag, "buckets", b->elements);
	fb_dag_input(dag, fb_dag_whole(dag, found), own);
	for (size_t t = 0; t < g.ntensors; t++) {
		const struct fb_span from = {found, g.tensors[t].first, g.tensors[t].count};
		const struct fb_span to = {buckets, from.first, from.count};

		if (g.tensors[t].before)
			fb_dag_compute(dag, FB_LANE_COMPUTE, "attention", (int)t,
				       fb_nn_work(b->nn, g.tensors[t].before, b->tokens, true));
		last = fb_dag_compute(dag, FB_LANE_COMPUTE, "backward", (int)t,
				      work_of(b, &g.tensors[t]));
		fb_dag_copy(dag, last, from, to);
		for (; b->schedule != COMPUTE && next < g.nbuckets && g.buckets[next].last <= t &&
		     (b->schedule != SEQUENTIAL || t + 1 == g.ntensors); next++) {
			const struct fb_span s = {buckets, g.buckets[next].first,
						  g.buckets[next].count};
			int task = fb_dag_collective(dag, FB_LANE_COMMUNICATE, "all_reduce",
						     (int)next, FB_ALL_REDUCE, world, 0, s, s);

			if (b->schedule == SEQUENTIAL)
				fb_dag_after(dag, task, last);
		}
	}
	fb_dag_output(dag, fb_dag_whole(dag, buckets), b->schedule == COMPUTE ? own : sum);
	dag->tokens = b->tokens * (uint64_t)b->nranks;
	fb_gradients_free(&g);
}

const struct fb_schedule_program fb_schedule_ddp = {
	.name = "ddp",
	.summary = "a step of data-parallel training: backward and its all_reduces",
	.description =
	"Times a step of data-parallel training from the begin of backward until all gradients are "
	"reduced: backward computes one tensor after the other, the last layer's first, packs its "
	"gradient into a bucket, and a full bucket's all_reduce begins while backward goes on. "
	"What of the communication backward does not hide is exposed_us.\n\n"
	"BYTES is the size of all gradients of a rank. The default tensors are those of a layer of "
	"Llama 3 8B: --bytes 3489660928 --datatype bf16 are eight of them. Computing is real: two "
	"matrix products for each tensor.",
	.options = options, .defaults = defaults, .schedules = schedules, .parts = parts,
	.axes = {{"bucket", FB_AXIS_SIZES, offsetof(struct fb_overlap_settings, bucket), NULL,
		  1 << COMMUNICATE | 1 << SEQUENTIAL | 1 << OVERLAP}},
	.bytes = bytes, .can = can, .build = build,
};
