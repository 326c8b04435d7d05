/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expert parallelism: each rank has some of a layer's experts. A token goes to its top-k experts
 * (dispatch, all_to_all_v), is computed there, and comes back (combine). With skew some ranks'
 * experts get more tokens than others. With two micro-batches one computes while the other one's
 * tokens are under way.
 *
 * Tokens may go out as floats of 8 bits with a scale of f32 for each 128 elements (DeepSeek-V3,
 * 2024, section 3.3), and come back in the step's datatype. A token then takes fewer elements of
 * that datatype. The bytes and the pass that casts them are real; the products do not use 8 bits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum schedule { SEQUENTIAL, OVERLAP };
enum axis { SKEW, DISPATCH, BACKGROUND };
enum dispatch { SAME, FP8 };
enum { MOST_BATCHES = 2, WHOLE = 100, SCALED = 128, SCALE_BYTES = 4 };

static const char *const schedules[] = {"sequential", "overlap", NULL};

static const char *const dispatches[] = {[SAME] = "same", [FP8] = "fp8", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Experts"),
	FB_OVERLAP_SCHEDULES("sequential,overlap", schedules,
			     "all tokens at once, or two micro-batches that overlap"),
	FB_OPTION_SIZES(struct fb_overlap_settings, experts_skew, 0, "skew", "0,100",
			"by how many percent more often tokens go to the last rank's experts than "
			"to the first rank's"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, dispatch, 0, "dispatch", "same", dispatches,
			  "how tokens go out: in the datatype, or in 8 bits with scales"),
	FB_OVERLAP_U64(topk, "topk", "8", 1, 64, "experts of each token"),
	FB_OVERLAP_U64(ffn, "ffn", "2048", 8, 1 << 20, "columns of an expert's first matrix"),
	FB_OVERLAP_LAYERS("2", "layers of the step"),
	FB_OVERLAP_HIDDEN("7168"),
	FB_OVERLAP_TOKENS("128", "tokens of each rank"),
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "0"}, FB_OVERLAP_DEFAULTS};

/* Tokens of a decode step and of a micro-batch; 8 bits on the way out, as DeepSeek-V3 has it. */
static const struct fb_default inference[] = {
	{"tokens", "128"}, {"datatype", "bf16"}, {"dispatch", "fp8"}, {"min-samples", "1000"},
	{"max-samples", "2000"}, {"max-time", "10s"}, {NULL, NULL},
};
static const struct fb_default training[] = {
	{"tokens", "4096"}, {"datatype", "bf16"}, {"dispatch", "fp8"}, {NULL, NULL},
};

struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	int batches, world, data;
	uint64_t copies, unit;      /* of tokens in a micro-batch; elements of one as it goes out */
	uint64_t *there, *back;     /* counts of dispatch and of combine */
	uint64_t arrived, most;     /* copies that arrive here, and at most at a rank */
	int answers;                /* data: what experts make */
	int found, tokens, made, outputs, results, seen;
};

static int batches_of(const struct fb_build *b)
{
	return b->schedule == OVERLAP ? MOST_BATCHES : 1;
}

/* Elements of the step's datatype that a token is on its way out. */
static uint64_t unit_of(const struct fb_build *b)
{
	uint64_t hidden = b->own->hidden;

	return b->value[DISPATCH] == SAME ? hidden
	       : fb_ceil_div(hidden + fb_ceil_div(hidden, SCALED) * SCALE_BYTES, b->element_bytes);
}

/* Bytes that a rank sends. */
static uint64_t bytes(const struct fb_build *b)
{
	return b->tokens * b->own->topk * unit_of(b) * b->element_bytes;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	if (b->tokens % (uint64_t)batches_of(b) || !b->tokens)
		snprintf(reason, FB_SCHEDULE_REASON, "%llu tokens are not two equal micro-batches",
			 (unsigned long long)b->tokens);
	else if (b->value[DISPATCH] == FP8 && b->element_bytes < 2)
		snprintf(reason, FB_SCHEDULE_REASON, "the datatype has 8 bits already");
	else
		return true;
	return false;
}

/*
 * Copies of tokens that a rank sends to all ranks before `to`. Shares rise evenly with the rank. A
 * rank's copies are a difference of two such rounded sums, so that all of them add up exactly.
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

	p->copies = b->tokens * b->own->topk / (uint64_t)p->batches;
	p->unit = unit_of(b);
	for (int to = 0; to < n; to++) {
		uint64_t end = to == n - 1 ? p->copies : copies_before(b, p->copies, to + 1);
		uint64_t share = end - copies_before(b, p->copies, to);

		for (int from = 0; from < n; from++) {
			p->there[from * n + to] = share * p->unit;
			p->back[to * n + from] = share * b->own->hidden;
		}
		p->arrived = to == b->rank ? share * (uint64_t)n : p->arrived;
		p->most = share * (uint64_t)n > p->most ? share * (uint64_t)n : p->most;
	}
}

/* Where the block for rank `to` begins in the buffer that rank `from` sends. */
static uint64_t before(const struct plan *p, const uint64_t *counts, int from, int to)
{
	uint64_t at = 0;

	for (int r = 0; r < to; r++)
		at += counts[from * p->b->nranks + r];
	return at;
}

/* Every micro-batch of every layer has its own input; both have a place in turn. */
static void dispatch(struct plan *p, int layer, int batch)
{
	int number = layer * p->batches + batch;
	const struct fb_span from = {p->found, (uint64_t)number * FB_WITNESS,
				     p->copies * p->unit};
	const struct fb_span to = {p->tokens, (uint64_t)batch * p->most * p->unit,
				   p->arrived * p->unit};
	struct fb_work cast = fb_work_pass(FB_WORK_CAST, p->copies * p->b->own->hidden);

	cast.k = 1;
	if (p->b->value[DISPATCH] == FP8)
		fb_dag_compute(p->dag, FB_LANE_COMMUNICATE, "cast", number, cast);
	fb_dag_all_to_all_v(p->dag, FB_LANE_COMMUNICATE, "dispatch", number, p->world, p->there,
			    from, to);
}

/* The experts' task reads what each rank has sent. */
static void read_tokens(struct plan *p, int task, int number, uint64_t at)
{
	int n = p->b->nranks;

	for (int r = 0; r < n; r++) {
		uint64_t count = p->there[r * n + p->b->rank];
		const struct fb_content content = {
			p->data, r, (uint64_t)number * FB_WITNESS +
					    before(p, p->there, r, p->b->rank)};

		if (count)
			fb_dag_witness(p->dag, task, p->seen, number * n + r,
				       (struct fb_span){p->tokens, at, count}, content);
		at += count;
	}
}

static void compute(struct plan *p, int layer, int batch)
{
	int number = layer * p->batches + batch;
	const struct fb_nn *nn = p->b->nn; /* its experts have two first matrices */
	uint64_t hidden = p->b->own->hidden;
	uint64_t experts = nn ? fb_ceil_div(nn->experts, (uint64_t)p->b->nranks) : 1;
	uint64_t tokens = fb_ceil_div(p->arrived, experts);
	struct fb_work first = fb_work_product(FB_WORK_GEMM, tokens,
					       p->b->own->ffn * (nn ? 2 : 1), hidden);
	struct fb_work second = fb_work_product(FB_WORK_GEMM, tokens, hidden, p->b->own->ffn);
	const struct fb_span from = {p->made, (uint64_t)number * FB_WITNESS, p->arrived * hidden};
	const struct fb_span to = {p->outputs, (uint64_t)batch * p->most * hidden,
				   p->arrived * hidden};
	int task;

	first.times = second.times = (uint32_t)experts;
	task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "first", number, first);
	read_tokens(p, task, number, (uint64_t)batch * p->most * p->unit);
	task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "second", number, second);
	fb_dag_copy(p->dag, task, from, to);
}

/* The experts' results return to the ranks that sent the tokens. */
static void combine(struct plan *p, int layer, int batch)
{
	int number = layer * p->batches + batch, n = p->b->nranks;
	uint64_t hidden = p->b->own->hidden, all = p->copies * hidden;
	const struct fb_span from = {p->outputs, (uint64_t)batch * p->most * hidden,
				     p->arrived * hidden};
	struct fb_span to = {p->results, (uint64_t)number * all, all};

	fb_dag_all_to_all_v(p->dag, FB_LANE_COMMUNICATE, "combine", number, p->world, p->back,
			    from, to);
	for (int r = 0; r < n; r++) {
		to.count = p->back[r * n + p->b->rank];
		fb_dag_output(p->dag, to, (struct fb_content){
			p->answers, r, (uint64_t)number * FB_WITNESS +
					       before(p, p->back, r, p->b->rank)});
		to.first += to.count;
	}
}

static void build_buffers(struct plan *p, int numbers)
{
	uint64_t hidden = p->b->own->hidden, apart = (uint64_t)numbers * FB_WITNESS;
	uint64_t batches = (uint64_t)p->batches;

	p->found = fb_dag_buffer(p->dag, "tokens", p->copies * p->unit + apart);
	p->made = fb_dag_buffer(p->dag, "answers", p->most * hidden + apart);
	p->tokens = fb_dag_buffer(p->dag, "arrived", batches * p->most * p->unit);
	p->outputs = fb_dag_buffer(p->dag, "outputs", batches * p->most * hidden);
	p->results = fb_dag_buffer(p->dag, "results", (uint64_t)numbers * p->copies * hidden);
	p->seen = fb_dag_buffer(p->dag, "seen", apart * (uint64_t)p->b->nranks);
	fb_dag_input(p->dag, fb_dag_whole(p->dag, p->found),
		     (struct fb_content){p->data, p->b->rank, 0});
	fb_dag_input(p->dag, fb_dag_whole(p->dag, p->made),
		     (struct fb_content){p->answers, p->b->rank, 0});
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {.b = b, .dag = dag, .batches = batches_of(b)};
	int layers = (int)b->own->layers, n = b->nranks;

	p.there = calloc(2 * (size_t)n * (size_t)n, sizeof(*p.there));
	if (!p.there) {
		dag->err = FB_ENOMEM;
		return;
	}
	p.back = p.there + (size_t)n * (size_t)n;
	make_counts(&p);
	fb_dag_two_lanes(dag, b->schedule == SEQUENTIAL);
	p.world = fb_dag_axis(dag, "experts", 1, n);
	p.data = fb_dag_data(dag, n);
	p.answers = fb_dag_data(dag, n);
	build_buffers(&p, layers * p.batches);
	fb_dag_background(dag, b, b->value[BACKGROUND]);
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
	"BYTES is what a rank sends in a dispatch: tokens x topk x hidden, with --dispatch fp8 a "
	"byte for each and the scales. Column logical_GBps counts all of it, wire_GBps only what "
	"leaves the rank.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.presets = (const struct fb_default *const[FB_PRESETS]){
		[FB_PRESET_INFERENCE] = inference, [FB_PRESET_TRAINING] = training},
	.axes = {{"skew", FB_AXIS_NUMBERS, offsetof(struct fb_overlap_settings, experts_skew), NULL,
		  1 << SEQUENTIAL | 1 << OVERLAP},
		 {"dispatch", FB_AXIS_CHOICES, offsetof(struct fb_overlap_settings, dispatch),
		  dispatches, 1 << SEQUENTIAL | 1 << OVERLAP, 1 + SAME},
		 [BACKGROUND] = FB_BACKGROUND_AXIS(1 << SEQUENTIAL | 1 << OVERLAP)},
	.has_experts = true, .bytes = bytes, .can = can, .build = build,
};
