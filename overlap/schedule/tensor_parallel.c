/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tensor parallelism: a layer is two blocks, attention and MLP; in each the first matrix is cut by
 * columns and the second by rows, so that each rank has a part of every sum. The sum over ranks is
 * an all_reduce, or (sequence parallel) a reduce_scatter and, before the next block, an
 * all_gather. In chunks of tokens the product of one chunk runs beside the communication of
 * another.
 *
 * gather_gemm and gemm_scatter are one product with its collective, cut by ranks: first the product
 * that needs nothing of others, or that others wait for, so that blocks move on beside products
 * that are as tall as they can be.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum schedule { ALL_REDUCE, SEQUENCE, GATHER_GEMM, GEMM_SCATTER };
enum axis { CHUNKS };
enum { PLACES = 2 };

static const char *const schedules[] = {"all_reduce", "sequence", "gather_gemm", "gemm_scatter",
					 NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Layers"),
	FB_OVERLAP_SCHEDULES("all_reduce,sequence", schedules,
			     "how parts become sums: an all_reduce behind each block, or a "
			     "reduce_scatter behind it and an all_gather before the next; or the "
			     "MLP's first product with its all_gather, or its second one with its "
			     "reduce_scatter, block by block"),
	FB_OPTION_SIZES(struct fb_overlap_settings, chunks, 0, "chunks", "1,2,4",
			"parts of the tokens, computed and communicated one behind the other; 0: "
			"the quickest of 1, 2, 4 and 8, which is measured and said in path"),
	FB_OVERLAP_U64(degree, "degree", "0", 0, 1 << 20,
		       "ranks that share a layer (tensor parallel); 0: all"),
	FB_OVERLAP_U64(ffn, "ffn", "14336", 8, 1 << 20, "columns of the MLP's first matrix"),
	FB_OPTION_TIME(struct fb_overlap_settings, token_budget_s, 0, "token-budget", "33ms", 1e-6,
		       60, "time that a decode step may take: column budget_share"),
	FB_OVERLAP_LAYERS("4", "layers of the step"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_TOKENS("64", "tokens of a step, the same on all ranks that share a layer"),
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "0"}, FB_OVERLAP_DEFAULTS};

static const uint64_t trials[] = {1, 2, 4, 8, 0};

struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	int ranks, chunks, blocks, group, data;
	int pieces; /* of a block that lie one behind the other */
	uint64_t part, chunk; /* elements of a rank's share of a chunk, of a chunk */
	int found, sums, shares, seen, arrived;
};

static int ranks_of(const struct fb_build *b)
{
	return b->own->degree ? (int)b->own->degree : b->nranks;
}

static uint64_t bytes(const struct fb_build *b)
{
	return b->tokens * b->own->hidden * b->element_bytes;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	uint64_t ranks = (uint64_t)ranks_of(b), tokens = b->tokens;

	if ((uint64_t)b->nranks % ranks)
		snprintf(reason, FB_SCHEDULE_REASON, "--degree %llu does not divide %d ranks",
			 (unsigned long long)ranks, b->nranks);
	else if (!b->value[CHUNKS] || tokens % b->value[CHUNKS])
		snprintf(reason, FB_SCHEDULE_REASON, "%llu tokens are not %llu equal chunks",
			 (unsigned long long)tokens, (unsigned long long)b->value[CHUNKS]);
	else if (b->schedule != ALL_REDUCE && tokens / b->value[CHUNKS] * b->own->hidden % ranks)
		snprintf(reason, FB_SCHEDULE_REASON, "a chunk is not equal shares of %llu ranks",
			 (unsigned long long)ranks);
	else
		return true;
	return false;
}

/* A block's chunk in one of the places that blocks use in turn. */
static struct fb_span span_of(const struct plan *p, int buffer, int block, int chunk,
			      uint64_t count)
{
	uint64_t at = (uint64_t)(block % PLACES * p->pieces + chunk) * count;

	return (struct fb_span){buffer, at, count};
}

static struct fb_content sum_of(const struct plan *p, int block, int chunk)
{
	return (struct fb_content){p->data, FB_ALL_MEMBERS,
				   (uint64_t)block * FB_WITNESS + (uint64_t)chunk * p->chunk};
}

/* What a block does to a chunk: both products, and attention's own. */
static int compute(struct plan *p, int block, int chunk, bool second)
{
	const struct fb_overlap_settings *own = p->b->own;
	uint64_t tokens = p->b->tokens / (uint64_t)p->chunks, ranks = (uint64_t)p->ranks;
	const struct fb_nn *nn = p->b->nn;
	uint64_t inner = fb_ceil_div(block % 2 ? own->ffn
				     : nn ? nn->heads * nn->query : own->hidden, ranks);
	uint64_t first = block % 2 ? (nn ? 2 : 1) * inner
			 : nn ? inner + fb_ceil_div(nn->kv, ranks) : 3 * inner;
	bool attends = second && block % 2 == 0;
	int number = block * p->chunks + chunk;

	if (attends)
		fb_dag_compute(p->dag, FB_LANE_COMPUTE, "attention", number,
			       fb_work_product(FB_WORK_ATTENTION, tokens, p->b->tokens, inner));
	return fb_dag_compute(p->dag, FB_LANE_COMPUTE, second ? "rows" : "columns", number,
			      second ? fb_work_product(FB_WORK_GEMM, tokens, own->hidden, inner)
				     : fb_work_product(FB_WORK_GEMM, tokens,
						       first, own->hidden));
}

/* The sums of a block's chunk, from the parts that lie in its place. */
static void sum_up(struct plan *p, int block, int chunk)
{
	struct fb_span all = span_of(p, p->sums, block, chunk, p->chunk);
	struct fb_span share = span_of(p, p->shares, block, chunk, p->part);
	int number = block * p->chunks + chunk;

	if (p->b->schedule == ALL_REDUCE)
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_reduce", number,
				  FB_ALL_REDUCE, p->group, 0, all, all);
	else
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "reduce_scatter", number,
				  FB_REDUCE_SCATTER, p->group, 0, all, share);
}

static void gather(struct plan *p, int block, int chunk)
{
	if (p->b->schedule == SEQUENCE)
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_gather",
				  block * p->chunks + chunk, FB_ALL_GATHER, p->group, 0,
				  span_of(p, p->shares, block, chunk, p->part),
				  span_of(p, p->sums, block, chunk, p->chunk));
}

/* Block `blocks` is the end: it only reads. */
static void build_block(struct plan *p, int block)
{
	bool end = block == p->blocks;

	for (int c = 0; c < p->chunks && block; c++) {
		int number = (block - 1) * p->chunks + c, task;

		gather(p, block - 1, c);
		task = end ? fb_dag_compute(p->dag, FB_LANE_COMPUTE, "end", number,
					    (struct fb_work){.kind = FB_WORK_NONE})
			   : compute(p, block, c, false);
		fb_dag_witness(p->dag, task, p->seen, number,
			       span_of(p, p->sums, block - 1, c, p->chunk),
			       sum_of(p, block - 1, c));
	}
	for (int c = 0; c < p->chunks && !end; c++) {
		const struct fb_span from = {p->found, sum_of(p, block, c).first, p->chunk};

		if (!block)
			compute(p, block, c, false);
		fb_dag_copy(p->dag, compute(p, block, c, true), from,
			    span_of(p, p->sums, block, c, p->chunk));
		sum_up(p, block, c);
	}
}

/* --- one product and its collective, block by block ------------------------------------------ */

/* Moves a block of each rank to the one that is `shift` further in its group. */
static void move(const struct plan *p, int number, int shift, struct fb_span from,
		 struct fb_span to)
{
	int n = p->ranks;
	uint64_t *counts = calloc((size_t)n * (size_t)n, sizeof(*counts));

	for (int r = 0; counts && r < n; r++)
		counts[r * n + (r + shift) % n] = from.count;
	if (counts)
		fb_dag_all_to_all_v(p->dag, FB_LANE_COMMUNICATE, "move", number, p->group, counts,
				    from, to);
	else
		p->dag->err = FB_ENOMEM;
	free(counts);
}

/* A product of the MLP for the tokens of a block, or of a part of one. */
static int multiply(const struct plan *p, const char *name, int number, uint64_t elements)
{
	const struct fb_overlap_settings *own = p->b->own;
	uint64_t inner = fb_ceil_div(own->ffn, (uint64_t)p->ranks), tokens = elements / own->hidden;
	bool first = p->b->schedule == GATHER_GEMM;

	tokens = tokens ? tokens : 1;
	return fb_dag_compute(p->dag, FB_LANE_COMPUTE, name, number,
			      first ? fb_work_product(FB_WORK_GEMM, tokens,
						      (p->b->nn ? 2 : 1) * inner, own->hidden)
				    : fb_work_product(FB_WORK_GEMM, tokens, own->hidden, inner));
}

/* The own block needs no other rank; meanwhile those of the next ranks come. */
static void gather_gemm(const struct plan *p, int layer)
{
	int me = p->b->rank % p->ranks, pieces = (p->ranks - 1) * p->chunks;
	uint64_t first = (uint64_t)layer * FB_WITNESS, block = p->part * (uint64_t)p->chunks;

	multiply(p, "own", layer, block);
	for (int i = 0; i < pieces; i++) {
		int shift = i / p->chunks + 1, number = layer * pieces + i, task;
		uint64_t at = first + (uint64_t)(i % p->chunks) * p->part;
		const struct fb_span from = {p->found, at, p->part};
		const struct fb_span to = span_of(p, p->sums, layer, i, p->part);

		/* From the rank that is `shift` further to this one. */
		move(p, number, p->ranks - shift, from, to);
		task = multiply(p, "remote", number, p->part);
		fb_dag_witness(p->dag, task, p->seen, number, to,
			       (struct fb_content){p->data, (me + shift) % p->ranks, at});
	}
}

/* What others wait for is computed first; the own block's product hides the last transfers. */
static void gemm_scatter(const struct plan *p, int layer)
{
	int me = p->b->rank % p->ranks, pieces = (p->ranks - 1) * p->chunks, task;
	uint64_t first = (uint64_t)layer * FB_WITNESS, block = p->part * (uint64_t)p->chunks;
	const struct fb_content sum = {p->data, FB_ALL_MEMBERS, first + (uint64_t)me * block};
	const struct fb_span own = {p->shares, (uint64_t)(layer % PLACES) * block, block};

	for (int i = 0; i < pieces; i++) {
		int shift = i / p->chunks + 1, number = layer * pieces + i;
		uint64_t at = first + (uint64_t)((me + shift) % p->ranks) * block +
			      (uint64_t)(i % p->chunks) * p->part;
		const struct fb_span from = span_of(p, p->sums, layer, i, p->part);

		fb_dag_copy(p->dag, multiply(p, "remote", number, p->part),
			    (struct fb_span){p->found, at, p->part}, from);
		move(p, number, shift, from, span_of(p, p->arrived, layer, i, p->part));
	}
	fb_dag_copy(p->dag, multiply(p, "own", layer, block),
		    (struct fb_span){p->found, sum.first, block}, own);
	task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "add", layer,
			      (struct fb_work){.kind = FB_WORK_NONE});
	for (int i = 0; i < pieces; i++)
		fb_dag_add(p->dag, task, span_of(p, p->arrived, layer, i, p->part),
			   (struct fb_span){p->shares, own.first +
					    (uint64_t)(i % p->chunks) * p->part, p->part});
	for (int c = 0; c < p->chunks; c++) {
		uint64_t at = (uint64_t)c * p->part;

		fb_dag_witness(p->dag, task, p->seen, layer * p->chunks + c,
			       (struct fb_span){p->shares, own.first + at, p->part},
			       (struct fb_content){sum.data, sum.member, sum.first + at});
	}
}

static void build_products(const struct plan *p)
{
	for (int l = 0; l < (int)p->b->own->layers; l++)
		if (p->b->schedule == GATHER_GEMM)
			gather_gemm(p, l);
		else
			gemm_scatter(p, l);
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {.b = b, .dag = dag, .ranks = ranks_of(b),
			 .chunks = (int)b->value[CHUNKS], .blocks = 2 * (int)b->own->layers};
	uint64_t all = b->tokens * b->own->hidden;

	p.chunk = all / b->value[CHUNKS];
	p.part = p.chunk / (uint64_t)p.ranks;
	p.pieces = b->schedule < GATHER_GEMM ? p.chunks : p.chunks * (p.ranks - 1);
	fb_dag_two_lanes(dag);
	p.group = fb_dag_axis(dag, "tensor", 1, p.ranks);
	p.data = fb_dag_data(dag, p.ranks);
	p.found = fb_dag_buffer(dag, "parts", all + (uint64_t)p.blocks * FB_WITNESS);
	p.sums = fb_dag_buffer(dag, "activations", PLACES * all);
	p.shares = fb_dag_buffer(dag, "shares", PLACES * all / (uint64_t)p.ranks + 1);
	p.arrived = fb_dag_buffer(dag, "arrived", PLACES * all);
	p.seen = fb_dag_buffer(dag, "seen", (uint64_t)(p.blocks * p.chunks * p.ranks) * FB_WITNESS);
	fb_dag_input(dag, fb_dag_whole(dag, p.found),
		     (struct fb_content){p.data, b->rank % p.ranks, 0});
	if (b->schedule >= GATHER_GEMM)
		build_products(&p);
	for (int block = 0; block <= p.blocks && b->schedule < GATHER_GEMM; block++)
		build_block(&p, block);
	dag->tokens = b->tokens * (uint64_t)(b->nranks / p.ranks);
}

const struct fb_schedule_program fb_schedule_tensor_parallel = {
	.name = "tensor_parallel",
	.summary = "layers cut over ranks: products, and the sums of their parts",
	.description =
	"Times forward of some layers whose matrices are cut over ranks: attention and MLP compute "
	"a part of each activation, and the parts are summed up over ranks. In chunks, the product "
	"of one chunk of tokens runs beside the communication of another. gather_gemm and "
	"gemm_scatter are one product of the MLP with its collective; column over_bound is their "
	"time over the longer one of the two.\n\n"
	"BYTES is the size of the activations of all tokens, by --tokens and --hidden. A decode "
	"step has few tokens: column budget_share says which share of --token-budget its "
	"communication takes.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.axes = {{.key = "chunks", .kind = FB_AXIS_NUMBERS,
		  .offset = offsetof(struct fb_overlap_settings, chunks),
		  .schedules = 1 << ALL_REDUCE | 1 << SEQUENCE | 1 << GATHER_GEMM |
			       1 << GEMM_SCATTER,
		  .trials = trials}},
	.attends = true, .bytes = bytes, .can = can, .build = build,
};
