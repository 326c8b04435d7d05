/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipeline parallelism: each rank has some of the layers, and micro-batches pass through the ranks
 * forward and backward. pipeline_order.c decides the order in which a rank computes passes. Here
 * each pass becomes a task, and each transfer to the next stage a broadcast in a group of two.
 *
 * With --tensor-ranks several ranks share a stage: each computes a part of every layer, and an
 * all_reduce over them sums up the layer's output before the next layer begins. Each of them has a
 * neighbour in the next stage, to which it sends.
 *
 * Forward and backward have separate lanes and groups, and so do sending and receiving. So a rank
 * that waits to send an activation can still receive a gradient.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/options.h"
#include "overlap/schedule/pipeline_order.h"
#include "overlap/schedule/schedule.h"

enum axis { BATCHES, TENSOR, PLACEMENT, BACKGROUND };
enum { SUMS = 2, SHIFTS = 8 }; /* places of sums; starts of parts, so that sums differ */
enum { PARTS = 3, CHUNKS = 2 };
enum lane { COMPUTE, SENDS, RECEIVES = SENDS + 2, TENSOR_SUMS = RECEIVES + 2 };
/* SENDS, RECEIVES: plus 0 forward, 1 backward */

static const char *const schedules[] = {
	[FB_PIPELINE_GPIPE] = "gpipe", [FB_PIPELINE_1F1B] = "1f1b",
	[FB_PIPELINE_INTERLEAVED] = "interleaved", [FB_PIPELINE_ZERO_BUBBLE] = "zero_bubble",
	[FB_PIPELINE_SCHEDULES] = NULL};

static const char *const placements[] = {"inside", "across", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Pipeline"),
	FB_OVERLAP_SCHEDULES("gpipe,1f1b,interleaved,zero_bubble", schedules,
			     "in which order a rank computes its passes"),
	FB_OPTION_SIZES(struct fb_overlap_settings, microbatches, 0, "microbatches", "4,8",
			"micro-batches of a step"),
	FB_OVERLAP_NUMBERS(tensor_ranks, "tensor-ranks", "1", 1, 1 << 20,
			   "ranks that share a stage and sum up the output of each layer"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, placement, 0, "placement", "inside",
			  placements, "ranks that are next to each other share a stage, so that "
			  "sums stay inside a node; or are stages, so that sums go across nodes"),
	FB_OVERLAP_LAYERS("8", "equal layers of the model"),
	FB_OVERLAP_HIDDEN("1024"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_PARTS,
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64K"}, FB_OVERLAP_DEFAULTS};

struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	struct fb_pipeline order;
	int ranks, stages, batches, places, seen; /* ranks: of a pipeline */
	int width, me, part; /* ranks of a stage; this rank's place in the pipeline, in the stage */
	int group, parts, sums, summed, done; /* partition, buffers, data, and sums so far */
	int partition[2][PARTS], slots[2][PARTS]; /* of forward, of backward */
	int source[2], data[2];                   /* activations, gradients of the loss */
	int sent[2], received[2];                 /* so far */
};

static int width_of(const struct fb_build *b)
{
	return b->value[TENSOR] ? (int)b->value[TENSOR] : 1;
}

static struct fb_pipeline_shape shape_of(const struct fb_build *b)
{
	enum fb_pipeline_schedule schedule = (enum fb_pipeline_schedule)b->schedule;

	return (struct fb_pipeline_shape){schedule, b->nranks / width_of(b), (int)b->value[BATCHES],
					  schedule == FB_PIPELINE_INTERLEAVED ? CHUNKS : 1,
					  NULL};
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	struct fb_pipeline_shape s = shape_of(b);

	if (b->value[TENSOR] > (uint64_t)b->nranks || b->nranks % width_of(b))
		snprintf(reason, FB_SCHEDULE_REASON, "--tensor-ranks %d does not divide %d ranks",
			 width_of(b), b->nranks);
	else if (s.ranks < 2)
		snprintf(reason, FB_SCHEDULE_REASON, "a pipeline needs two ranks or more for each "
			 "of --tensor-ranks");
	else if (width_of(b) > 1 && b->nn)
		snprintf(reason, FB_SCHEDULE_REASON, "--tensor-ranks has equal layers, no --model");
	else if (width_of(b) == 1 && b->value[PLACEMENT])
		snprintf(reason, FB_SCHEDULE_REASON, "one rank a stage: no other placement");
	else if (b->value[BATCHES] < 1 || b->value[BATCHES] > FB_MOST_LAYERS)
		snprintf(reason, FB_SCHEDULE_REASON, "--microbatches is from 1 to %d",
			 FB_MOST_LAYERS);
	else if (s.chunks > 1 && s.batches % s.ranks)
		snprintf(reason, FB_SCHEDULE_REASON, "interleaved: %d micro-batches are not a "
			 "multiple of %d ranks", s.batches, s.ranks);
	else if (b->nn && fb_pipeline_layers(b->nn) < (uint64_t)s.ranks * (uint64_t)s.chunks)
		snprintf(reason, FB_SCHEDULE_REASON, "the model has fewer layers than %d stages",
			 s.ranks * s.chunks);
	else if (b->elements < FB_WITNESS)
		snprintf(reason, FB_SCHEDULE_REASON, "--bytes is less than %d elements",
			 FB_WITNESS);
	else
		return true;
	return false;
}

/* Edge e leads from rank e to the next. Edges of one part have no rank in common. */
static int part_of(const struct plan *p, int edge)
{
	return edge == p->ranks - 1 && p->ranks % 2 ? 2 : edge % 2;
}

/* The rank of a place in the pipeline and in the stage. */
static int rank_of(const struct plan *p, int place, int part)
{
	return p->b->value[PLACEMENT] ? part * p->ranks + place : place * p->width + part;
}

static void make_groups(struct plan *p)
{
	static const char *const names[] = {"forward", "backward"};
	int *colour = malloc((size_t)p->b->nranks * sizeof(*colour));

	for (int part = 0; part < PARTS && colour; part++) {
		int edges = p->stages > p->ranks ? p->ranks : p->ranks - 1;

		for (int r = 0; r < p->b->nranks; r++)
			colour[r] = FB_NONE;
		for (int e = 0; e < edges * p->width; e++) {
			int from = e / p->width, within = e % p->width;

			if (part_of(p, from) == part)
				colour[rank_of(p, from, within)] = colour[rank_of(
					p, (from + 1) % p->ranks, within)] = e;
		}
		for (int way = 0; way < 2; way++) {
			p->partition[way][part] = fb_dag_partition(p->dag, names[way], colour);
			p->slots[way][part] = fb_dag_buffer(p->dag, names[way],
							    (uint64_t)p->places * p->b->elements);
		}
	}
	if (!colour)
		p->dag->err = FB_ENOMEM;
	free(colour);
}

/* Hands the next slot of an edge over; returns it. Forward goes along the edge, backward not. */
static struct fb_span hand_over(struct plan *p, int way, int edge, bool send, int number)
{
	int part = part_of(p, edge), *count = send ? &p->sent[way] : &p->received[way];
	uint64_t place = (uint64_t)(*count)++ % (uint64_t)p->places;
	const struct fb_span span = {p->slots[way][part], place * p->b->elements, p->b->elements};
	bool wraps = edge == p->ranks - 1;

	fb_dag_collective(p->dag, (send ? SENDS : RECEIVES) + way, send ? "send" : "receive",
			  number, FB_BROADCAST, p->partition[way][part], wraps ^ way, span, span);
	return span;
}

/* The slot that the next send of an edge will use: the pass fills it first. */
static struct fb_span next_slot(const struct plan *p, int way, int edge)
{
	uint64_t place = (uint64_t)p->sent[way] % (uint64_t)p->places;

	return (struct fb_span){p->slots[way][part_of(p, edge)], place * p->b->elements,
				p->b->elements};
}

static struct fb_work work_of(const struct plan *p, enum fb_pass pass)
{
	uint64_t hidden = p->b->own->hidden, tokens = p->b->tokens / (uint64_t)p->batches;
	uint64_t layers = p->width > 1 ? 1 : p->b->own->layers / (uint64_t)p->stages;
	bool both = pass == FB_BACKWARD &&
		    p->order.shape.schedule != FB_PIPELINE_ZERO_BUBBLE;
	struct fb_work w = fb_work_product(both ? FB_WORK_BACKWARD : FB_WORK_GEMM,
					   tokens ? tokens : 1,
					   fb_ceil_div(hidden, (uint64_t)p->width), hidden);

	w.times = layers ? (uint32_t)layers : 1;
	return w;
}

/*
 * A pass of a stage; with a model a task for each tensor, of which the first one waits for what the
 * pass reads (NULL: nothing). Returns the last one.
 */
static int add_work(struct plan *p, struct fb_pass_of pass, const struct fb_span *from)
{
	static const char *const names[] = {
		[FB_FORWARD] = "forward", [FB_BACKWARD] = "backward", [FB_WEIGHTS] = "weights"};
	const char *name = names[pass.pass];
	const struct fb_nn *nn = p->b->nn;
	uint64_t tokens = fb_ceil_div(p->b->tokens, (uint64_t)p->batches);
	bool backward = pass.pass != FB_FORWARD;
	bool splits = p->order.shape.schedule == FB_PIPELINE_ZERO_BUBBLE;
	int task = FB_NONE;

	for (size_t k = 0; nn && k < nn->nlayers; k++) {
		const struct fb_nn_layer *l = &nn->layers[backward ? nn->nlayers - 1 - k : k];
		uint64_t times = fb_pipeline_layers_of(nn, (size_t)(l - nn->layers),
					   pass.chunk * p->ranks + p->me, p->stages);

		for (size_t t = 0; t < l->tensors && times; t++) {
			size_t at = l->first + (backward ? l->tensors - 1 - t : t);
			struct fb_work w = fb_nn_work(nn, &nn->tensors[at], tokens,
						      backward && !splits);

			w.times *= (uint32_t)times;
			task = fb_dag_compute(p->dag, COMPUTE, name, pass.batch, w);
			if (from)
				fb_dag_read(p->dag, task, *from, NULL);
			from = NULL;
		}
	}
	return nn ? task : fb_dag_compute(p->dag, COMPUTE, name, pass.batch,
					  work_of(p, pass.pass));
}

/* The content of the newest sum of layers' parts. */
static struct fb_content sum_of(const struct plan *p)
{
	return (struct fb_content){p->summed, FB_ALL_MEMBERS,
				   (uint64_t)(p->done % SHIFTS) * FB_WITNESS};
}

static struct fb_span place_of(const struct plan *p)
{
	return (struct fb_span){p->sums, (uint64_t)(p->done % SUMS) * p->b->elements,
				p->b->elements};
}

/*
 * The same for a stage that several ranks share: after each layer, its output is summed up over
 * them. Returns a task that has all sums.
 */
static int add_shared(struct plan *p, struct fb_pass_of pass, const struct fb_span *from)
{
	uint64_t layers = p->b->own->layers / (uint64_t)p->stages;
	struct fb_span sum;
	int task = FB_NONE;

	for (uint64_t l = 0; l < (layers ? layers : 1); l++) {
		struct fb_content before = sum_of(p);

		task = add_work(p, pass, NULL);
		if (l)
			fb_dag_read(p->dag, task, place_of(p), &before);
		else if (from)
			fb_dag_read(p->dag, task, *from, NULL);
		p->done++;
		sum = place_of(p);
		fb_dag_copy(p->dag, task, (struct fb_span){p->parts, sum_of(p).first, sum.count},
			    sum);
		fb_dag_collective(p->dag, TENSOR_SUMS, "sum", pass.batch, FB_ALL_REDUCE, p->group,
				  0, sum, sum);
	}
	task = fb_dag_compute(p->dag, COMPUTE, "summed", pass.batch,
			      (struct fb_work){.kind = FB_WORK_NONE});
	fb_dag_witness(p->dag, task, p->seen, ((pass.pass == FB_BACKWARD) * CHUNKS + pass.chunk +
					       2 * CHUNKS) * p->batches + pass.batch, place_of(p),
		       sum_of(p));
	return task;
}

/* Forward or backward of a micro-batch through a virtual stage: receive, compute, send. */
static void add_pass(struct plan *p, struct fb_pass_of pass)
{
	int rank = p->me, way = pass.pass == FB_BACKWARD;
	int stage = pass.chunk * p->ranks + rank, last = p->stages - 1;
	int before = (rank + p->ranks - 1) % p->ranks, number = pass.batch, task;
	int in = way ? rank : before, out = way ? before : rank;
	bool receives = way ? stage < last : stage > 0, sends = way ? stage > 0 : stage < last;
	uint64_t at = (uint64_t)pass.batch * FB_WITNESS;
	struct fb_span from = {p->source[way], at, p->b->elements};

	if (receives)
		from = hand_over(p, way, in, false, number);
	task = p->width > 1 ? add_shared(p, pass, receives ? &from : NULL)
			    : add_work(p, pass, receives ? &from : NULL);
	if (receives)
		fb_dag_witness(p->dag, task, p->seen,
			       (way * CHUNKS + pass.chunk) * p->batches + pass.batch, from,
			       (struct fb_content){p->data[way], 0, at});
	if (!sends)
		return;
	fb_dag_copy(p->dag, task, from, next_slot(p, way, out));
	hand_over(p, way, out, true, number);
}

/* The lane, the group and the buffers of ranks that share a stage. */
static void share_stages(struct plan *p)
{
	bool across = p->b->value[PLACEMENT];
	uint64_t n = p->b->elements;

	fb_dag_lane(p->dag, "sum", true);
	p->group = fb_dag_axis(p->dag, "tensor", across ? p->ranks : 1, p->width);
	p->summed = fb_dag_data(p->dag, p->width);
	p->parts = fb_dag_buffer(p->dag, "parts", n + SHIFTS * FB_WITNESS);
	p->sums = fb_dag_buffer(p->dag, "sums", SUMS * n);
	fb_dag_input(p->dag, fb_dag_whole(p->dag, p->parts),
		     (struct fb_content){p->summed, p->part, 0});
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	static const char *const lanes[] = {"send activations", "send gradients",
					    "receive activations", "receive gradients"};
	static const char *const sources[] = {"inputs", "loss"};
	struct fb_pipeline_shape shape = shape_of(b);
	struct plan p = {.b = b, .dag = dag, .ranks = shape.ranks, .width = width_of(b)};
	double *weight = calloc((size_t)shape.ranks * (size_t)shape.chunks, sizeof(*weight));
	uint64_t length = b->elements + (uint64_t)shape.batches * FB_WITNESS;

	if (b->nn && weight) {
		fb_pipeline_weigh(b, shape.ranks * shape.chunks, weight);
		shape.weight = weight;
	}
	dag->err = weight ? fb_pipeline_open(&p.order, &shape) : FB_ENOMEM;
	if (dag->err) {
		free(weight);
		return;
	}
	p.batches = shape.batches;
	p.stages = shape.ranks * shape.chunks;
	p.places = shape.chunks > 1 ? 2 * shape.ranks : 2;
	fb_dag_lane(dag, "compute", false);
	for (int i = 0; i < 4; i++)
		fb_dag_lane(dag, lanes[i], true);
	p.me = b->value[PLACEMENT] ? b->rank % p.ranks : b->rank / p.width;
	p.part = b->value[PLACEMENT] ? b->rank / p.ranks : b->rank % p.width;
	make_groups(&p);
	if (p.width > 1)
		share_stages(&p);
	p.seen = fb_dag_buffer(dag, "seen", (uint64_t)(4 * CHUNKS * p.batches) * FB_WITNESS);
	for (int way = 0; way < 2; way++) {
		p.source[way] = fb_dag_buffer(dag, sources[way], length);
		p.data[way] = fb_dag_data(dag, 1);
		fb_dag_input(dag, fb_dag_whole(dag, p.source[way]),
			     (struct fb_content){p.data[way], 0, 0});
	}
	fb_dag_background(dag, b, b->value[BACKGROUND]);
	for (int i = 0; i < p.order.per_rank; i++) {
		struct fb_pass_of pass = p.order.passes[p.me * p.order.per_rank + i];

		if (pass.pass == FB_WEIGHTS)
			add_work(&p, pass, NULL);
		else
			add_pass(&p, pass);
	}
	dag->tokens = b->tokens;
	dag->ideal = p.order.bubble;
	fb_pipeline_close(&p.order);
	free(weight);
}

const struct fb_schedule_program fb_schedule_pipeline = {
	.name = "pipeline",
	.summary = "micro-batches through stages: GPipe, 1F1B, interleaved, zero-bubble",
	.description =
	"Times a step of pipeline-parallel training: each rank has some of the layers, and "
	"micro-batches go through all ranks forward and back. Column bubble_share is the share of "
	"the step in which a rank does not compute, bubble_theory what it is where communication "
	"takes no time.\n\n"
	"BYTES is the size of a micro-batch's activations between two stages.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.axes = {{"microbatches", FB_AXIS_NUMBERS,
		  offsetof(struct fb_overlap_settings, microbatches), NULL,
		  (1 << FB_PIPELINE_SCHEDULES) - 1},
		 [TENSOR] = {.key = "tensor_ranks", .kind = FB_AXIS_NUMBERS,
			     .offset = offsetof(struct fb_overlap_settings, tensor_ranks),
			     .schedules = (1 << FB_PIPELINE_SCHEDULES) - 1, .silent = 2},
		 [PLACEMENT] = {"placement", FB_AXIS_CHOICES,
				offsetof(struct fb_overlap_settings, placement), placements,
				(1 << FB_PIPELINE_SCHEDULES) - 1, 1},
		 [BACKGROUND] = FB_BACKGROUND_AXIS((1 << FB_PIPELINE_SCHEDULES) - 1)},
	.can = can, .build = build,
};
