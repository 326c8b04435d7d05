/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fully sharded data parallelism: each rank of a group holds a shard of every layer's parameters.
 * A layer is gathered before it is computed, and its gradient is reduced and scattered behind
 * backward. With groups smaller than the world (hybrid shard) the shards' gradients are reduced
 * over the replicas as well, on a lane of their own: the two kinds of groups communicate at once.
 *
 * Gathered layers use 1 + prefetch places in turn. The number of places bounds how far all_gathers
 * run ahead: with --prefetch 0 a layer is gathered only after the layer before it has been
 * computed. Backward begins with the last layer, which is still gathered from forward. Without
 * reshard each layer has a place, and backward gathers nothing.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum axis { PREFETCH, RESHARD, SHARD, BACKGROUND };
enum { LANE_REPLICATE = FB_LANE_COMMUNICATE + 1 };
enum { FREES, KEEPS, GRADIENT_PLACES = 2, ALIGN = 128 };

static const char *const schedules[] = {"overlap", NULL};
static const char *const reshards[] = {"yes", "no", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OVERLAP_SCHEDULES("overlap", schedules, "what a step does"),
	FB_OVERLAP_NUMBERS(prefetch, "prefetch", "0,1,2,3", 0, FB_MOST_LAYERS,
			   "layers that are gathered ahead of the one that is computed"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, reshard, 0, "reshard", "yes", reshards,
			  "whether a gathered layer is freed after forward and gathered again for "
			  "backward"),
	FB_OVERLAP_NUMBERS(shard, "shard", "0", 0, 1 << 20,
			   "ranks that share a model (hybrid shard), the others are replicas; 0: "
			   "all"),
	FB_OVERLAP_LAYERS("8", "equal layers of the model"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_PARTS,
	FB_OVERLAP_STAGES,
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

/* Numbers of buffers, partitions and data, and sizes, of the step that is built. */
struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	int layers, ranks, replicas; /* ranks: of a group that shares a model */
	uint64_t block;              /* elements of the largest shard of a layer */
	uint64_t first[FB_MOST_LAYERS + 1]; /* of a layer's shard; [layers]: elements of all */
	const struct fb_nn_layer *of[FB_MOST_LAYERS]; /* with a model */
	int shard, replica;          /* partitions */
	int shards, gathered, places, found, gradients, sums, seen;
	int weights, gradient;       /* data: weights + layer, and gradient */
	int items;                   /* forward and backward of all layers */
};

/* The elements of a layer of a model. */
static uint64_t elements_of(const struct fb_nn *nn, const struct fb_nn_layer *layer)
{
	uint64_t n = 0;

	for (size_t t = 0; t < layer->tensors; t++)
		n += fb_nn_elements(nn, &nn->tensors[layer->first + t]);
	return n;
}

static uint64_t layers_of(const struct fb_build *b)
{
	uint64_t n = 0;

	for (size_t l = 0; b->nn && l < b->nn->nlayers; l++)
		n += b->nn->layers[l].count;
	return b->nn ? n : b->own->layers;
}

static uint64_t bytes(const struct fb_build *b)
{
	uint64_t n = 0;

	for (size_t l = 0; b->nn && l < b->nn->nlayers; l++)
		n += b->nn->layers[l].count * elements_of(b->nn, &b->nn->layers[l]);
	return n * b->element_bytes;
}

/* Each rank has an equal block of each layer. */
static void make_layers(struct plan *p)
{
	const struct fb_build *b = p->b;
	int l = 0;

	p->layers = (int)layers_of(b);
	for (size_t i = 0; i < (b->nn ? b->nn->nlayers : 1); i++) {
		const struct fb_nn_layer *of = b->nn ? &b->nn->layers[i] : NULL;
		uint64_t n = of ? elements_of(b->nn, of) : b->elements / b->own->layers;
		uint64_t block = fb_ceil_div(n ? n : 1, (uint64_t)p->ranks * ALIGN) * ALIGN;

		p->block = block > p->block ? block : p->block;
		for (uint64_t k = 0; k < (of ? of->count : b->own->layers); k++, l++) {
			p->of[l] = of;
			p->first[l + 1] = p->first[l] + block;
		}
	}
}

static uint64_t block_of(const struct plan *p, int layer)
{
	return p->first[layer + 1] - p->first[layer];
}

static struct fb_span shard_of(const struct plan *p, int buffer, int layer)
{
	return (struct fb_span){buffer, p->first[layer], block_of(p, layer)};
}

static uint64_t ranks_of(const struct fb_build *b)
{
	return b->value[SHARD] ? b->value[SHARD] : (uint64_t)b->nranks;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	uint64_t ranks = ranks_of(b);

	if (layers_of(b) > FB_MOST_LAYERS)
		snprintf(reason, FB_SCHEDULE_REASON, "more than %d layers", FB_MOST_LAYERS);
	else if (!b->nn && b->elements / b->own->layers < 1)
		snprintf(reason, FB_SCHEDULE_REASON, "less than an element for each layer");
	else if ((uint64_t)b->nranks % ranks)
		snprintf(reason, FB_SCHEDULE_REASON, "--shard %llu does not divide %d ranks",
			 (unsigned long long)ranks, b->nranks);
	else if (b->value[RESHARD] == KEEPS && b->value[PREFETCH] != b->own->prefetch.value[0])
		snprintf(reason, FB_SCHEDULE_REASON, "without reshard each layer has a place: see "
			 "the row of the first --prefetch");
	else
		return true;
	return false;
}

/*
 * What a rank needs by theory: shards of all parameters and gradients, rounded up; the gathered
 * layers; the gradient that backward writes; and the gradients that are being reduced.
 */
static uint64_t most(const struct fb_build *b)
{
	uint64_t ranks = ranks_of(b), layers = layers_of(b), all = 0, layer = 0;
	uint64_t places = b->value[RESHARD] == KEEPS ? layers : b->value[PREFETCH] + 1;

	for (size_t l = 0; b->nn && l < b->nn->nlayers; l++) {
		uint64_t n = elements_of(b->nn, &b->nn->layers[l]);

		all += n * b->nn->layers[l].count;
		layer = n > layer ? n : layer;
	}
	if (!b->nn) {
		all = b->elements;
		layer = fb_ceil_div(all, layers);
	}
	return 2 * (all / ranks + layers * ALIGN) +
	       (places + 1 + GRADIENT_PLACES) * (layer + ranks * ALIGN) + 3 * layers * FB_WITNESS;
}

static void make_buffers(struct plan *p)
{
	struct fb_dag *d = p->dag;
	uint64_t layer = p->block * (uint64_t)p->ranks, layers = (uint64_t)p->layers;
	int mine;

	p->shard = fb_dag_axis(d, "shard", 1, p->ranks);
	p->replica = fb_dag_axis(d, "replica", p->ranks, p->replicas);
	mine = p->b->rank % p->ranks;
	p->shards = fb_dag_buffer(d, "shards", p->first[p->layers]);
	p->gathered = fb_dag_buffer(d, "gathered layers", (uint64_t)p->places * layer);
	p->found = fb_dag_buffer(d, "found gradients", layer + layers * FB_WITNESS);
	p->gradients = fb_dag_buffer(d, "gradients", GRADIENT_PLACES * layer);
	p->sums = fb_dag_buffer(d, "reduced gradients", p->first[p->layers]);
	p->seen = fb_dag_buffer(d, "seen", (uint64_t)p->items * FB_WITNESS);
	for (int l = 0; l < p->layers; l++) {
		int data = fb_dag_data(d, p->ranks);

		p->weights = l ? p->weights : data;
		fb_dag_input(d, shard_of(p, p->shards, l), (struct fb_content){data, mine, 0});
	}
	p->gradient = fb_dag_data(d, p->b->nranks);
	fb_dag_input(d, fb_dag_whole(d, p->found),
		     (struct fb_content){p->gradient, p->b->rank, 0});
}

/* Forward of all layers is items 0 to layers - 1, backward of the last one is the next. */
static int layer_of(const struct plan *p, int item)
{
	return item < p->layers ? item : p->items - 1 - item;
}

/* All_gathers are numbered as items are, but for the first one of backward. */
static int gather_of(const struct plan *p, int item)
{
	return item < p->layers ? item : item - 1;
}

static struct fb_span place_of(const struct plan *p, int item)
{
	int place = p->b->value[RESHARD] == KEEPS ? layer_of(p, item)
						  : gather_of(p, item) % p->places;
	uint64_t ranks = (uint64_t)p->ranks;

	return (struct fb_span){p->gathered, (uint64_t)place * p->block * ranks,
				block_of(p, layer_of(p, item)) * ranks};
}

static void gather(struct plan *p, int number)
{
	int item = number < p->layers ? number : number + 1;

	if (item < (p->b->value[RESHARD] == FREES ? p->items : p->layers))
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_gather", layer_of(p, item),
				  FB_ALL_GATHER, p->shard, 0,
				  shard_of(p, p->shards, layer_of(p, item)), place_of(p, item));
}

/* The last task of a layer: what is computed in front of it waits for the layer as well. */
static int add_work(struct plan *p, int item)
{
	bool backward = item >= p->layers;
	const char *name = backward ? "backward" : "forward";
	const struct fb_nn_layer *of = p->of[layer_of(p, item)];
	uint64_t rows = fb_ceil_div(p->block * (uint64_t)p->ranks, p->b->own->hidden);
	int task = FB_NONE;

	if (!of)
		return fb_dag_compute(p->dag, FB_LANE_COMPUTE, name, layer_of(p, item),
				      fb_work_product(backward ? FB_WORK_BACKWARD : FB_WORK_GEMM,
						      p->b->tokens, rows, p->b->own->hidden));
	for (size_t t = 0; t < of->tensors; t++) {
		size_t at = of->first + (backward ? of->tensors - 1 - t : t);

		if (t == 1) /* the first one waits, and the others are behind it */
			fb_dag_read(p->dag, task, place_of(p, item), NULL);
		task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, name, layer_of(p, item),
				      fb_nn_work(p->b->nn, &p->b->nn->tensors[at], p->b->tokens,
						 backward));
	}
	return task;
}

/* Reads all blocks of a gathered layer, and keeps a piece of another rank's. */
static int compute(struct plan *p, int item)
{
	int l = layer_of(p, item), keeps = (p->b->rank + 1 + item) % p->ranks;
	int task = add_work(p, item);

	for (int r = 0; r < p->ranks; r++) {
		struct fb_span block = place_of(p, item);
		const struct fb_content right = {p->weights + l, r, 0};

		block.count = block_of(p, l);
		block.first += (uint64_t)r * block.count;
		if (r == keeps)
			fb_dag_witness(p->dag, task, p->seen, item, block, right);
		else
			fb_dag_read(p->dag, task, block, &right);
	}
	return task;
}

/* A layer's gradient: copied behind backward, reduced, and used by the optimizer. */
static void reduce(struct plan *p, int task, int layer)
{
	uint64_t all = block_of(p, layer) * (uint64_t)p->ranks;
	const struct fb_span from = {p->found, (uint64_t)layer * FB_WITNESS, all};
	const struct fb_span to = {p->gradients, (uint64_t)(layer % GRADIENT_PLACES) * p->block *
				   (uint64_t)p->ranks, all};
	const struct fb_span sum = shard_of(p, p->sums, layer);
	const uint64_t mine = (uint64_t)(p->b->rank % p->ranks) * sum.count;

	fb_dag_copy(p->dag, task, from, to);
	fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "reduce_scatter", layer, FB_REDUCE_SCATTER,
			  p->shard, 0, to, sum);
	if (p->replicas > 1)
		fb_dag_collective(p->dag, LANE_REPLICATE, "all_reduce", layer, FB_ALL_REDUCE,
				  p->replica, 0, sum, sum);
	fb_dag_output(p->dag, sum, (struct fb_content){p->gradient, FB_ALL_MEMBERS,
						       from.first + mine});
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {.b = b, .dag = dag};
	struct fb_content sum = {.member = FB_ALL_MEMBERS};
	int ahead;

	p.ranks = (int)ranks_of(b);
	p.replicas = b->nranks / p.ranks;
	make_layers(&p);
	p.items = 2 * p.layers;
	ahead = b->value[RESHARD] == KEEPS ? p.layers - 1 : (int)b->value[PREFETCH];
	p.places = ahead + 1;
	fb_dag_two_lanes(dag, false);
	if (p.replicas > 1)
		fb_dag_lane(dag, "replicate", true);
	make_buffers(&p);
	fb_dag_background(dag, b, b->value[BACKGROUND]);
	for (int number = 0; number <= ahead; number++)
		gather(&p, number);
	for (int item = 0; item < p.items; item++) {
		int task = compute(&p, item);

		/* The next layer is gathered before gradients move: computing waits for it. */
		if (b->value[RESHARD] == FREES && item != p.layers - 1)
			gather(&p, gather_of(&p, item) + p.places);
		if (item >= p.layers)
			reduce(&p, task, layer_of(&p, item));
	}
	sum.data = p.gradient;
	for (int l = 0; l < p.layers; l++) {
		const struct fb_span span = shard_of(&p, p.sums, l);
		int task = fb_dag_compute(dag, FB_LANE_COMPUTE, "adam", l,
					  fb_work_pass(FB_WORK_ADAM, span.count));

		sum.first = (uint64_t)l * FB_WITNESS + (uint64_t)(b->rank % p.ranks) * span.count;
		fb_dag_read(dag, task, span, &sum);
	}
	dag->tokens = b->tokens * (uint64_t)b->nranks;
}

const struct fb_schedule_program fb_schedule_fsdp = {
	.name = "fsdp",
	.summary = "a step of fully sharded training: all_gather, compute, reduce_scatter",
	.description =
	"Times a step of training in which each rank holds a shard of every layer: forward and "
	"backward gather a layer before they compute it, backward reduces and scatters its "
	"gradient, and the optimizer updates the shard. With --shard N groups of N ranks share a "
	"model, and gradients are reduced over the groups as well.\n\n"
	"BYTES is the size of all parameters of the model.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.axes = {{"prefetch", FB_AXIS_NUMBERS, offsetof(struct fb_overlap_settings, prefetch),
		  NULL, 1},
		 {"reshard", FB_AXIS_CHOICES, offsetof(struct fb_overlap_settings, reshard),
		  reshards, 1},
		 [SHARD] = {.key = "shard", .kind = FB_AXIS_NUMBERS,
			    .offset = offsetof(struct fb_overlap_settings, shard),
			    .schedules = 1, .silent = 1},
		 [BACKGROUND] = FB_BACKGROUND_AXIS(1)},
	.bytes = bytes, .can = can, .build = build, .most = most,
};
