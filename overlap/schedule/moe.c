/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expert parallelism: each rank has some of a layer's experts. A token goes to its top-k experts
 * (dispatch, all_to_all_v), is computed there, and comes back (combine). Experts may be skewed: the
 * ranks are asked for in unlike shares. With two micro-batches one computes while the other one's
 * tokens are under way.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum schedule { SEQUENTIAL, OVERLAP };
enum axis { SKEW };
enum { MOST_BATCHES = 2, WHOLE = 100 };

static const char *const schedules[] = {"sequential", "overlap", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Experts"),
	FB_OVERLAP_SCHEDULES("sequential,overlap", schedules,
			     "all tokens at once, or two micro-batches that overlap"),
	FB_OPTION_SIZES(struct fb_overlap_settings, experts_skew, 0, "skew", "0,100",
			"how much more often the last rank's experts are asked for than the "
			"first rank's, in percent"),
	FB_OVERLAP_U64(topk, "topk", "8", 1, 64, "experts of each token"),
	FB_OVERLAP_U64(ffn, "ffn", "2048", 8, 1 << 20, "columns of an expert's first matrix"),
	FB_OVERLAP_LAYERS("2", "layers of the step"),
	FB_OVERLAP_HIDDEN("7168"),
	FB_OVERLAP_TOKENS("128", "tokens of each rank"),
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "0"}, FB_OVERLAP_DEFAULTS};

struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	int batches, world, data;
	uint64_t sent;              /* elements that a rank sends in a micro-batch */
	uint64_t *there, *back;     /* counts of dispatch and of combine */
	uint64_t arrived, most;     /* elements that arrive here, and at most at a rank */
	int found, tokens, outputs, results;
};

static int batches_of(const struct fb_build *b)
{
	return b->schedule == OVERLAP ? MOST_BATCHES : 1;
}

/* What a rank sends. */
static uint64_t bytes(const struct fb_build *b)
{
	return b->tokens * b->own->topk * b->own->hidden * b->element_bytes;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	if (b->tokens % (uint64_t)batches_of(b) == 0 && b->tokens)
		return true;
	snprintf(reason, FB_SCHEDULE_REASON, "%llu tokens are not two equal micro-batches",
		 (unsigned long long)b->tokens);
	return false;
}

/*
 * Copies of tokens that each rank sends to rank `to`: shares rise evenly from the first rank to the
 * last. Those before it are rounded, so that all of them add up.
 */
static uint64_t copies_before(const struct fb_build *b, uint64_t copies, int to)
{
	double n = b->nranks, skew = (double)b->value[SKEW] / WHOLE, at = to;
	double share = at + (n > 1 ? skew * at * (at - 1) / 2 / (n - 1) : 0);

	return (uint64_t)((double)copies * share / (n + skew * n / 2) + 0.5);
}

static void make_counts(struct plan *p)
{
	const struct fb_build *b = p->b;
	int n = b->nranks;
	uint64_t copies = b->tokens * b->own->topk / (uint64_t)p->batches;

	p->sent = copies * b->own->hidden;
	for (int from = 0; from < n; from++)
		for (int to = 0; to < n; to++) {
			uint64_t end = to == n - 1 ? copies : copies_before(b, copies, to + 1);

			p->there[from * n + to] = (end - copies_before(b, copies, to)) *
						  b->own->hidden;
			p->back[to * n + from] = p->there[from * n + to];
		}
	p->arrived = p->there[b->rank] * (uint64_t)n;
	for (int r = 0; r < n; r++)
		p->most = p->there[r] * (uint64_t)n > p->most ? p->there[r] * (uint64_t)n : p->most;
}

/* Every micro-batch of every layer has its own input; both have a place in turn. */
static void dispatch(struct plan *p, int layer, int batch)
{
	int number = layer * p->batches + batch;
	const struct fb_span from = {p->found, (uint64_t)number * FB_WITNESS, p->sent};
	const struct fb_span to = {p->tokens, (uint64_t)batch * p->most, p->arrived};

	fb_dag_all_to_all_v(p->dag, FB_LANE_COMMUNICATE, "dispatch", number, p->world, p->there,
			    from, to);
}

static void compute(struct plan *p, int layer, int batch)
{
	int number = layer * p->batches + batch;
	const struct fb_nn *nn = p->b->nn; /* its experts have two first matrices */
	uint64_t experts = nn ? fb_ceil_div(nn->experts, (uint64_t)p->b->nranks) : 1;
	uint64_t tokens = fb_ceil_div(p->arrived / p->b->own->hidden, experts);
	struct fb_work first = fb_work_product(FB_WORK_GEMM, tokens,
					       p->b->own->ffn * (nn ? 2 : 1), p->b->own->hidden);
	struct fb_work second = fb_work_product(FB_WORK_GEMM, tokens, p->b->own->hidden,
						p->b->own->ffn);
	const struct fb_span from = {p->tokens, (uint64_t)batch * p->most, p->arrived};
	const struct fb_span to = {p->outputs, (uint64_t)batch * p->most, p->arrived};
	int task;

	first.times = second.times = (uint32_t)experts;
	fb_dag_compute(p->dag, FB_LANE_COMPUTE, "first", number, first);
	task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "second", number, second);
	fb_dag_copy(p->dag, task, from, to);
}

/* Copies come back to where they were sent from. */
static void combine(struct plan *p, int layer, int batch)
{
	int number = layer * p->batches + batch;
	const struct fb_span from = {p->outputs, (uint64_t)batch * p->most, p->arrived};
	const struct fb_span to = {p->results, (uint64_t)number * p->sent, p->sent};

	fb_dag_all_to_all_v(p->dag, FB_LANE_COMMUNICATE, "combine", number, p->world, p->back,
			    from, to);
	fb_dag_output(p->dag, to, (struct fb_content){p->data, p->b->rank,
						      (uint64_t)number * FB_WITNESS});
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {.b = b, .dag = dag, .batches = batches_of(b)};
	int layers = (int)b->own->layers, numbers = layers * p.batches, n = b->nranks;

	p.there = calloc(2 * (size_t)n * (size_t)n, sizeof(*p.there));
	if (!p.there) {
		dag->err = FB_ENOMEM;
		return;
	}
	p.back = p.there + (size_t)n * (size_t)n;
	make_counts(&p);
	fb_dag_two_lanes(dag);
	p.world = fb_dag_axis(dag, "experts", 1, n);
	p.data = fb_dag_data(dag, n);
	p.found = fb_dag_buffer(dag, "tokens", p.sent + (uint64_t)numbers * FB_WITNESS);
	p.tokens = fb_dag_buffer(dag, "arrived", (uint64_t)p.batches * p.most);
	p.outputs = fb_dag_buffer(dag, "outputs", (uint64_t)p.batches * p.most);
	p.results = fb_dag_buffer(dag, "results", (uint64_t)numbers * p.sent);
	fb_dag_input(dag, fb_dag_whole(dag, p.found), (struct fb_content){p.data, b->rank, 0});
	for (int batch = 0; batch < p.batches; batch++)
		dispatch(&p, 0, batch);
	for (int l = 0; l < layers; l++)
		for (int batch = 0; batch < p.batches; batch++) {
			compute(&p, l, batch);
			combine(&p, l, batch);
			if (l + 1 < layers)
				dispatch(&p, l + 1, batch);
		}
	dag->tokens = b->tokens * (uint64_t)n;
	free(p.there);
}

const struct fb_schedule_program fb_schedule_moe = {
	.name = "moe",
	.summary = "layers of experts spread over ranks: dispatch, compute, combine",
	.description =
	"Times some layers of experts that are spread over all ranks: copies of each token go to "
	"the ranks of its experts, are computed there and come back. Every copy is checked.\n\n"
	"BYTES is what a rank sends in a dispatch: tokens x topk x hidden. Column logical_GBps "
	"counts all of it, wire_GBps only what leaves the rank.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.axes = {{"skew", FB_AXIS_NUMBERS, offsetof(struct fb_overlap_settings, experts_skew), NULL,
		  1 << SEQUENTIAL | 1 << OVERLAP}},
	.has_experts = true, .bytes = bytes, .can = can, .build = build,
};
