/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contention of computing and communication: work of one kind on some lanes, and the same
 * collective again and again on another lane. Kinds of work need different resources, so the kinds
 * that become slower show which resource is shared. `spin` needs multiprocessors only, `cache`
 * multiprocessors and the cache, `memory` multiprocessors and memory. Copies need memory and the
 * link to the host, but no multiprocessor. `gemm` needs a mix of all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/library/nccl/force.h"
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum kind { GEMM, MEMORY, CACHE, SPIN, COPY_IN, COPY_OUT, KINDS };
enum axis { STREAMS, COLLECTIVE, POLICY, BACKGROUND };
enum { MAIN, COMMUNICATE, WORK }; /* lanes; WORK and following ones compute */
enum { MOST_STREAMS = 8, CACHED = 1 << 18 /* elements of f32: 1 MiB, and 1 MiB written */ };

static const char *const schedules[] = {
	[GEMM] = "gemm", [MEMORY] = "memory", [CACHE] = "cache", [SPIN] = "spin",
	[COPY_IN] = "copy_in", [COPY_OUT] = "copy_out", [KINDS] = NULL};

static const char *const collective_names[] = {"all_reduce", "all_gather", "reduce_scatter",
						"broadcast", "all_to_all", "all_to_all_v", NULL};
static const enum fb_collective collectives[] = {FB_ALL_REDUCE, FB_ALL_GATHER, FB_REDUCE_SCATTER,
						 FB_BROADCAST, FB_ALL_TO_ALL, FB_ALL_TO_ALL_V};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Work beside communication"),
	FB_OVERLAP_SCHEDULES("all", schedules, "what is computed or copied beside the collectives"),
	FB_OPTION_SIZES(struct fb_overlap_settings, streams, 0, "streams", "1",
			"lanes with such work: streams on a GPU, threads on processors; 0 to 8"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, collective, 0, "collective", "all_reduce",
			  collective_names, "what communicates beside the work"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, cta_policy, 0, "nccl-cta-policy", "auto",
			  fb_nccl_policies, "NCCL's CTA policy (2.27); zero: copy engines, with "
			  "--registration window (2.28)"),
	FB_OVERLAP_U64(repeats, "repeats", "4", 1, 1000, "collectives of a step"),
	FB_OVERLAP_LAYERS("16", "pieces of the work of a lane"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	if (b->value[STREAMS] > MOST_STREAMS)
		snprintf(reason, FB_SCHEDULE_REASON, "--streams is from 0 to %d", MOST_STREAMS);
	else if (b->schedule >= COPY_IN && !b->device)
		snprintf(reason, FB_SCHEDULE_REASON, "processors have one memory, so there is "
			 "nothing to copy");
	else if (b->elements < FB_WITNESS * (uint64_t)b->nranks)
		snprintf(reason, FB_SCHEDULE_REASON, "--bytes is less than %d elements for each "
			 "rank", FB_WITNESS);
	else
		return true;
	return false;
}

/* One piece of work. Its size grows with the number of tokens, which is chosen for --compute. */
static struct fb_work work_of(const struct fb_build *b)
{
	static const enum fb_work_kind kinds[] = {
		[GEMM] = FB_WORK_GEMM, [MEMORY] = FB_WORK_MEMORY, [CACHE] = FB_WORK_MEMORY,
		[SPIN] = FB_WORK_SPIN, [COPY_IN] = FB_WORK_COPY_IN, [COPY_OUT] = FB_WORK_COPY_OUT};
	struct fb_work w = fb_work_pass(kinds[b->schedule], b->tokens * b->own->hidden);

	if (b->schedule == GEMM)
		return fb_work_product(FB_WORK_GEMM, b->tokens, b->own->hidden, b->own->hidden);
	if (b->schedule == SPIN)
		w.elements *= 256;
	if (b->schedule == CACHE) {
		w.times = (uint32_t)fb_ceil_div(w.elements, CACHED);
		w.elements = CACHED;
	}
	return w;
}

/* The buffers of the collective, and the content of what comes out of it, by blocks. */
struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	enum fb_collective collective;
	uint64_t block;      /* elements */
	uint64_t in, out;    /* elements of a rank's buffers */
	int blocks;          /* of the output, each of one content */
	int world, found, results, seen;
	struct fb_content own;
	uint64_t *counts;    /* [nranks * nranks]: of all_to_all_v */
};

/* Block `i` of the output, whose input began at element `first` of all ranks' data. */
static struct fb_content content_of(const struct plan *p, int i, uint64_t first)
{
	struct fb_content c = {p->own.data, FB_ALL_MEMBERS, first};

	if (p->collective == FB_BROADCAST)
		c.member = 0;
	else if (p->collective != FB_ALL_REDUCE && p->collective != FB_REDUCE_SCATTER)
		c.member = i;
	if (p->collective == FB_REDUCE_SCATTER || p->collective == FB_ALL_TO_ALL ||
	    p->collective == FB_ALL_TO_ALL_V)
		c.first += (uint64_t)p->b->rank * p->block;
	return c;
}

static void make_sizes(struct plan *p)
{
	uint64_t n = (uint64_t)p->b->nranks, all;
	bool whole;

	p->collective = collectives[p->b->value[COLLECTIVE]];
	whole = p->collective == FB_ALL_REDUCE || p->collective == FB_BROADCAST;
	p->block = whole ? p->b->elements : p->b->elements / n;
	all = whole ? p->block : p->block * n;
	p->in = p->collective == FB_ALL_GATHER ? p->block : all;
	p->out = p->collective == FB_REDUCE_SCATTER ? p->block : all;
	p->blocks = (int)(p->out / p->block);
	for (uint64_t i = 0; i < n * n; i++)
		p->counts[i] = p->block;
}

/* A collective, and a look at all that it made: the next one has other data. */
static void communicate(struct plan *p, int number)
{
	const struct fb_span in = {p->found, (uint64_t)number * FB_WITNESS, p->in};
	const struct fb_span out = fb_dag_whole(p->dag, p->results);
	bool last = number == (int)p->b->own->repeats - 1;
	int task;

	if (p->collective == FB_ALL_TO_ALL_V)
		fb_dag_all_to_all_v(p->dag, COMMUNICATE, "all_to_all_v", number, p->world,
				    p->counts, in, out);
	else
		fb_dag_collective(p->dag, COMMUNICATE,
				  collective_names[p->b->value[COLLECTIVE]], number,
				  p->collective, p->world, 0, in, out);
	task = fb_dag_compute(p->dag, COMMUNICATE, "look", number,
			      (struct fb_work){.kind = FB_WORK_NONE});
	for (int i = 0; i < p->blocks; i++) {
		const struct fb_span block = {p->results, (uint64_t)i * p->block, p->block};
		struct fb_content content = content_of(p, i, in.first);

		fb_dag_witness(p->dag, task, p->seen, number * p->blocks + i, block, content);
		if (last)
			fb_dag_output(p->dag, block, content);
	}
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {.b = b, .dag = dag, .own = {.member = b->rank}};
	uint64_t repeats = b->own->repeats;

	p.counts = malloc((size_t)b->nranks * (size_t)b->nranks * sizeof(*p.counts));
	if (!p.counts) {
		dag->err = FB_ENOMEM;
		return;
	}
	make_sizes(&p);
	dag->nccl_policy = (int)b->value[POLICY];
	fb_dag_lane(dag, "main", false);
	fb_dag_lane(dag, "communicate", true);
	for (uint64_t s = 0; s < b->value[STREAMS]; s++)
		fb_dag_lane(dag, "work", false);
	p.world = fb_dag_axis(dag, "world", 1, b->nranks);
	p.own.data = fb_dag_data(dag, b->nranks);
	p.found = fb_dag_buffer(dag, "input", p.in + repeats * FB_WITNESS);
	p.results = fb_dag_buffer(dag, "results", p.out);
	p.seen = fb_dag_buffer(dag, "seen", repeats * (uint64_t)p.blocks * FB_WITNESS);
	fb_dag_input(dag, fb_dag_whole(dag, p.found), p.own);
	fb_dag_background(dag, b, b->value[BACKGROUND]);
	/* Collectives come first: a piece of work can have thousands of launches before them. */
	for (int r = 0; r < (int)repeats; r++)
		communicate(&p, r);
	for (int l = 0; l < (int)b->own->layers; l++)
		for (int s = 0; s < (int)b->value[STREAMS]; s++)
			fb_dag_compute(dag, WORK + s, schedules[b->schedule], l, work_of(b));
	free(p.counts);
	dag->tokens = b->tokens * (uint64_t)b->nranks;
}

static enum fb_collective collective_of(const struct fb_build *b)
{
	return collectives[b->value[COLLECTIVE]];
}

const struct fb_schedule_program fb_schedule_contention = {
	.name = "contention",
	.summary = "how much computing and communicating slow each other",
	.description =
	"Times work of one kind beside collectives that have nothing to do with it. Columns "
	"compute_slowdown and communication_slowdown are the times of such pieces of work and "
	"collectives that ran while the other side ran as well, over the same ones alone.\n\n"
	"BYTES is the size of each collective: of the larger of a rank's two buffers.",
	.options = options, .defaults = defaults, .schedules = schedules, .own_tokens = true,
	.axes = {{.key = "streams", .kind = FB_AXIS_NUMBERS,
		  .offset = offsetof(struct fb_overlap_settings, streams),
		  .schedules = (1 << KINDS) - 1},
		 {"collective", FB_AXIS_CHOICES, offsetof(struct fb_overlap_settings, collective),
		  collective_names, (1 << KINDS) - 1, 1},
		 {"nccl_cta_policy", FB_AXIS_CHOICES,
		  offsetof(struct fb_overlap_settings, cta_policy), fb_nccl_policies,
		  (1 << KINDS) - 1, 1},
		 [BACKGROUND] = FB_BACKGROUND_AXIS((1 << KINDS) - 1)},
	.collective = collective_of, .can = can, .build = build,
};
