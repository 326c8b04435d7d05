/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tensor parallelism: a layer is two blocks, attention and MLP; in each the first matrix is cut by
 * columns and the second by rows, so that each rank has a part of every sum. The sum over ranks is
 * an all_reduce, or (sequence parallel) a reduce_scatter and, before the next block, an
 * all_gather. In chunks of tokens the product of one chunk runs beside the communication of
 * another.
 *
 * train goes on with backward, whose blocks are those of forward the other way round, and has two
 * kinds of groups at once: ranks that share a layer sum up activations and errors, and ranks that
 * have the same part of it (the replicas) sum up a block's gradient as soon as it is there. With
 * sequence parallelism a rank keeps only its share of each block's input, as Megatron-LM does
 * (Korthikanti et al., 2022): backward gathers it again, for the gradient of the weights.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/tensor.h"

enum { LANE_REPLICATE = FB_LANE_COMMUNICATE + 1 };

static const char *const schedules[] = {"all_reduce", "sequence", "gather_gemm", "gemm_scatter",
					 "train", "train_sequence", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Layers"),
	FB_OVERLAP_SCHEDULES("all_reduce,sequence", schedules,
			     "how parts become sums: an all_reduce behind each block, or a "
			     "reduce_scatter behind it and an all_gather before the next; or the "
			     "MLP's first product with its all_gather, or its second one with its "
			     "reduce_scatter, block by block; train: forward, backward and Adam, "
			     "with gradients reduced over replicas, and train_sequence: the same "
			     "with reduce_scatter and all_gather"),
	FB_OPTION_SIZES(struct fb_overlap_settings, chunks, 0, "chunks", "1,2,4",
			"parts of the tokens, computed and communicated one behind the other; 0: "
			"the quickest of 1, 2, 4 and 8, which column path names"),
	FB_OPTION_SIZES(struct fb_overlap_settings, degree, 0, "degree", "0",
			"ranks that share a layer (tensor parallel), the others are replicas; 0: "
			"all"),
	FB_OVERLAP_U64(ffn, "ffn", "14336", 8, 1 << 20, "columns of the MLP's first matrix"),
	FB_OPTION_TIME(struct fb_overlap_settings, token_budget_s, 0, "token-budget", "33ms", 1e-6,
		       60, "time that a decode step may take: column budget_share"),
	FB_OVERLAP_LAYERS("4", "layers of the step"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_TOKENS("64", "tokens of a step, the same on all ranks that share a layer"),
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "0"}, FB_OVERLAP_DEFAULTS};

/* A decode step of 8 sequences, as a graph too; p99 of the step needs that many samples. */
static const struct fb_default inference[] = {
	{"schedule", "all_reduce"}, {"tokens", "8"}, {"chunks", "1"}, {"datatype", "bf16"},
	{"launch", "nonblocking,graph"}, {"min-samples", "1000"}, {"max-samples", "2000"},
	{"max-time", "10s"}, {NULL, NULL},
};

/* Forward, backward and Adam of one micro-batch of a rank. */
static const struct fb_default training[] = {
	{"schedule", "train,train_sequence"}, {"tokens", "2048"}, {"datatype", "bf16"},
	{NULL, NULL},
};

static const uint64_t trials[] = {1, 2, 4, 8, 0};

static bool trains(const struct fb_build *b)
{
	return b->schedule == FB_TENSOR_TRAIN || b->schedule == FB_TENSOR_TRAIN_SEQUENCE;
}

/* Ranks have shares of activations between blocks. */
static bool has_shares(const struct fb_build *b)
{
	return b->schedule == FB_TENSOR_SEQUENCE || b->schedule == FB_TENSOR_TRAIN_SEQUENCE;
}

static int ranks_of(const struct fb_build *b)
{
	return b->value[FB_TENSOR_DEGREE] ? (int)b->value[FB_TENSOR_DEGREE] : b->nranks;
}

static uint64_t bytes(const struct fb_build *b)
{
	return b->tokens * b->own->hidden * b->element_bytes;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	uint64_t ranks = (uint64_t)ranks_of(b), tokens = b->tokens;
	uint64_t chunks = b->value[FB_TENSOR_CHUNKS];

	if ((uint64_t)b->nranks % ranks)
		snprintf(reason, FB_SCHEDULE_REASON, "--degree %llu does not divide %d ranks",
			 (unsigned long long)ranks, b->nranks);
	else if (!chunks || tokens % chunks)
		snprintf(reason, FB_SCHEDULE_REASON, "%llu tokens are not %llu equal chunks",
			 (unsigned long long)tokens, (unsigned long long)chunks);
	else if (b->schedule != FB_TENSOR_ALL_REDUCE && b->schedule != FB_TENSOR_TRAIN &&
		 tokens / chunks * b->own->hidden % ranks)
		snprintf(reason, FB_SCHEDULE_REASON, "%llu ranks cannot share a chunk equally",
			 (unsigned long long)ranks);
	else
		return true;
	return false;
}

static struct fb_content sum_of(const struct fb_tensor_plan *p, int block, int chunk)
{
	return (struct fb_content){p->data, FB_ALL_MEMBERS,
				   (uint64_t)block * FB_WITNESS + (uint64_t)chunk * p->chunk};
}

static bool is_backward(const struct fb_tensor_plan *p, int block)
{
	return block >= p->forward;
}

/* A rank's part of a block's matrices: rows of the first one, columns of the second. */
struct part {
	bool attends;
	uint64_t first, inner;
};

static struct part part_of(const struct fb_tensor_plan *p, int block)
{
	const struct fb_overlap_settings *own = p->b->own;
	const struct fb_nn *nn = p->b->nn;
	uint64_t ranks = (uint64_t)p->ranks;
	/* The last block of forward is the first one of backward. */
	bool attends = block % 2 == is_backward(p, block);
	uint64_t inner = fb_ceil_div(!attends ? own->ffn
				     : nn ? nn->heads * nn->query : own->hidden, ranks);

	return (struct part){attends, !attends ? (nn ? 2 : 1) * inner
			     : nn ? inner + fb_ceil_div(nn->kv, ranks) : 3 * inner, inner};
}

/* The computing of a block for a chunk: both products, and attention between them. */
static int compute(struct fb_tensor_plan *p, int block, int chunk, bool second)
{
	const struct part part = part_of(p, block);
	bool backward = is_backward(p, block), rows = second != backward;
	uint64_t tokens = p->b->tokens / (uint64_t)p->chunks, hidden = p->b->own->hidden;
	enum fb_work_kind kind = backward ? FB_WORK_BACKWARD : FB_WORK_GEMM;
	struct fb_work attention = fb_work_product(FB_WORK_ATTENTION, tokens, p->b->tokens,
						   part.inner);
	int number = block * p->chunks + chunk;

	attention.times = backward ? 2 : 1;
	if (second && part.attends)
		fb_dag_compute(p->dag, FB_LANE_COMPUTE, "attention", number, attention);
	return fb_dag_compute(p->dag, FB_LANE_COMPUTE, rows ? "rows" : "columns", number,
			      rows ? fb_work_product(kind, tokens, hidden, part.inner)
				   : fb_work_product(kind, tokens, part.first, hidden));
}

/* A rank's share of the sums of a block's chunk; backward needs those of forward again. */
static struct fb_span share_of(const struct fb_tensor_plan *p, int block, int chunk)
{
	struct fb_span share = fb_tensor_span(p, p->shares, block, chunk, p->part);
	int place = is_backward(p, block) ? p->forward + block % FB_TENSOR_PLACES : block;

	if (p->b->schedule == FB_TENSOR_TRAIN_SEQUENCE)
		share.first = (uint64_t)(place * p->chunks + chunk) * p->part;
	return share;
}

/* The sums of a block's chunk, from the parts that lie in its place. */
static void sum_up(struct fb_tensor_plan *p, int block, int chunk)
{
	struct fb_span all = fb_tensor_span(p, p->sums, block, chunk, p->chunk);
	int number = block * p->chunks + chunk;

	if (!has_shares(p->b))
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_reduce", number,
				  FB_ALL_REDUCE, p->group, 0, all, all);
	else
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "reduce_scatter", number,
				  FB_REDUCE_SCATTER, p->group, 0, all, share_of(p, block, chunk));
}

/* All shares of a block's chunk, in `to`. */
static void gather(struct fb_tensor_plan *p, const char *name, int block, int chunk,
		   struct fb_span to)
{
	if (has_shares(p->b))
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, name, block * p->chunks + chunk,
				  FB_ALL_GATHER, p->group, 0, share_of(p, block, chunk), to);
}

/* The block of forward whose output is the input of a block of backward; -1: the model's input. */
static int input_of(const struct fb_tensor_plan *p, int block)
{
	return has_shares(p->b) && is_backward(p, block) ? p->blocks - 2 - block : -1;
}

/* The task computes the gradient of weights, from the block's input that has been gathered. */
static void read_input(struct fb_tensor_plan *p, int block, int chunk, int task)
{
	int before = input_of(p, block), number = (p->blocks + block) * p->chunks + chunk;

	if (before >= 0)
		fb_dag_witness(p->dag, task, p->seen, number,
			       fb_tensor_span(p, p->arrived, block, chunk, p->chunk),
			       sum_of(p, before, chunk));
}

/* Elements of a rank's part of a block's weights. */
static uint64_t weights_of(const struct fb_tensor_plan *p, int block)
{
	const struct part part = part_of(p, block);

	return (part.first + part.inner) * p->b->own->hidden;
}

/* The gradient of a block that `task` of backward completes, which replicas sum up meanwhile. */
static void replicate(struct fb_tensor_plan *p, int block, int task)
{
	/* Blocks, and the parts of ranks, have other test data. */
	int tensor_rank = p->b->rank % p->ranks;
	const struct fb_content sum = {p->gradient, FB_ALL_MEMBERS, FB_WITNESS *
				       (uint64_t)((block - p->forward) * p->ranks + tensor_rank)};
	struct fb_span from = {p->found, (uint64_t)p->blocks * FB_WITNESS, weights_of(p, block)};
	struct fb_span to = {p->gradients, 0, from.count};

	from.first += p->b->tokens * p->b->own->hidden + sum.first;
	for (int b = p->forward; b < block; b++)
		to.first += weights_of(p, b);
	fb_dag_copy(p->dag, task, from, to);
	fb_dag_collective(p->dag, LANE_REPLICATE, "replicate", block, FB_ALL_REDUCE, p->replicas,
			  0, to, to);
	fb_dag_output(p->dag, to, sum);
}

/* Adam of all blocks, behind backward. */
static void update(struct fb_tensor_plan *p)
{
	uint64_t at = 0;

	for (int block = p->forward; block < p->blocks; block++) {
		uint64_t n = weights_of(p, block);
		int task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "adam", block,
					  fb_work_pass(FB_WORK_ADAM, n));

		fb_dag_read(p->dag, task, (struct fb_span){p->gradients, at, n}, NULL);
		at += n;
	}
}

/* Block `blocks` is the end: it only reads. */
static void build_block(struct fb_tensor_plan *p, int block)
{
	bool end = block == p->blocks;
	int task = FB_NONE;

	for (int c = 0; c < p->chunks && block; c++) {
		int number = (block - 1) * p->chunks + c;

		gather(p, "all_gather", block - 1, c,
		       fb_tensor_span(p, p->sums, block - 1, c, p->chunk));
		task = end ? fb_dag_compute(p->dag, FB_LANE_COMPUTE, "end", number,
					    (struct fb_work){.kind = FB_WORK_NONE})
			   : compute(p, block, c, false);
		fb_dag_witness(p->dag, task, p->seen, number,
			       fb_tensor_span(p, p->sums, block - 1, c, p->chunk),
			       sum_of(p, block - 1, c));
	}
	for (int c = 0; c < p->chunks && !end && input_of(p, block) >= 0; c++)
		gather(p, "gather again", input_of(p, block), c,
		       fb_tensor_span(p, p->arrived, block, c, p->chunk));
	for (int c = 0; c < p->chunks && !end; c++) {
		const struct fb_span from = {p->found, sum_of(p, block, c).first, p->chunk};

		if (!block)
			compute(p, block, c, false);
		task = compute(p, block, c, true);
		read_input(p, block, c, task);
		fb_dag_copy(p->dag, task, from, fb_tensor_span(p, p->sums, block, c, p->chunk));
		sum_up(p, block, c);
	}
	if (!end && is_backward(p, block))
		replicate(p, block, task);
}

/* Found gradients lie behind found activations, with room for those of each block and rank. */
static uint64_t train_buffers(struct fb_tensor_plan *p)
{
	uint64_t sum = 0, most = 0;

	p->replicas = fb_dag_axis(p->dag, "data", p->ranks, p->b->nranks / p->ranks);
	p->gradient = fb_dag_data(p->dag, p->b->nranks / p->ranks);
	for (int block = p->forward; block < p->blocks; block++) {
		uint64_t n = weights_of(p, block);

		sum += n;
		most = n > most ? n : most;
	}
	p->gradients = fb_dag_buffer(p->dag, "gradients", sum);
	return most + (uint64_t)(p->forward * p->ranks) * FB_WITNESS;
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct fb_tensor_plan p = {.b = b, .dag = dag, .ranks = ranks_of(b),
				   .chunks = (int)b->value[FB_TENSOR_CHUNKS],
				   .forward = 2 * (int)b->own->layers};
	bool products = b->schedule == FB_TENSOR_GATHER_GEMM ||
			b->schedule == FB_TENSOR_GEMM_SCATTER;
	uint64_t all = b->tokens * b->own->hidden, parts, gradients = 0;
	bool keeps = b->schedule == FB_TENSOR_TRAIN_SEQUENCE; /* its shares, for backward */
	uint64_t places = FB_TENSOR_PLACES + (keeps ? (uint64_t)p.forward : 0);

	p.blocks = (trains(b) ? 2 : 1) * p.forward;
	p.chunk = all / b->value[FB_TENSOR_CHUNKS];
	p.part = p.chunk / (uint64_t)p.ranks;
	p.pieces = products ? p.chunks * (p.ranks - 1) : p.chunks;
	parts = all + (uint64_t)p.blocks * FB_WITNESS;
	fb_dag_two_lanes(dag, p.chunks == 1 && !trains(b) && !products);
	p.group = fb_dag_axis(dag, "tensor", 1, p.ranks);
	p.data = fb_dag_data(dag, p.ranks);
	if (trains(b)) {
		fb_dag_lane(dag, "replicate", true);
		gradients = train_buffers(&p);
	}
	p.found = fb_dag_buffer(dag, "parts", parts + gradients);
	p.sums = fb_dag_buffer(dag, "activations", FB_TENSOR_PLACES * all);
	p.shares = fb_dag_buffer(dag, "shares", places * all / (uint64_t)p.ranks + 1);
	p.arrived = fb_dag_buffer(dag, "arrived", FB_TENSOR_PLACES * all);
	p.seen = fb_dag_buffer(dag, "seen", (uint64_t)(p.blocks * p.chunks * (p.ranks + 1)) *
					    FB_WITNESS);
	fb_dag_input(dag, (struct fb_span){p.found, 0, parts},
		     (struct fb_content){p.data, b->rank % p.ranks, 0});
	if (trains(b))
		fb_dag_input(dag, (struct fb_span){p.found, parts, gradients},
			     (struct fb_content){p.gradient, b->rank / p.ranks, 0});
	fb_dag_background(dag, b, b->value[FB_TENSOR_BACKGROUND]);
	if (products)
		fb_tensor_products(&p);
	for (int block = 0; block <= p.blocks && !products; block++)
		build_block(&p, block);
	if (trains(b))
		update(&p);
	dag->tokens = b->tokens * (uint64_t)(b->nranks / p.ranks);
}

#define ALL ((1U << (FB_TENSOR_TRAIN_SEQUENCE + 1)) - 1)

const struct fb_schedule_program fb_schedule_tensor_parallel = {
	.name = "tensor_parallel",
	.summary = "layers cut over ranks: products, and the sums of their parts",
	.description =
	"Times forward of some layers whose matrices are cut over ranks: attention and MLP compute "
	"a part of each activation, and the parts are summed up over ranks. In chunks, the product "
	"of one chunk of tokens runs beside the communication of another. gather_gemm and "
	"gemm_scatter are one product of the MLP with its collective; column over_bound is their "
	"time over the longer one of the two. train has backward as well, and groups of two kinds "
	"at once: each --degree ranks share a layer, and the replicas sum up gradients. "
	"train_sequence is the same with sequence parallelism.\n\n"
	"BYTES is the size of the activations of all tokens, by --tokens and --hidden. A decode "
	"step has few tokens: column budget_share says which share of --token-budget its "
	"communication takes.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.presets = (const struct fb_default *const[FB_PRESETS]){
		[FB_PRESET_INFERENCE] = inference, [FB_PRESET_TRAINING] = training},
	.axes = {{.key = "chunks", .kind = FB_AXIS_NUMBERS,
		  .offset = offsetof(struct fb_overlap_settings, chunks),
		  .schedules = ALL, .trials = trials},
		 {.key = "degree", .kind = FB_AXIS_NUMBERS,
		  .offset = offsetof(struct fb_overlap_settings, degree), .schedules = ALL,
		  .silent = 1},
		 FB_BACKGROUND_AXIS(ALL)},
	.attends = true, .bytes = bytes, .can = can, .build = build,
};
