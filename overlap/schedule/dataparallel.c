/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data parallelism in one process with all GPUs against a process for each. One process scatters
 * the input, copies the parameters to every replica, gathers the outputs, and GPU 0 adds up the
 * gradients and updates the parameters (PyTorch's DataParallel, torch/nn/parallel/data_parallel.py
 * and replicate.py). With a process for each GPU (DistributedDataParallel) gradients are reduced
 * over all while backward goes on, and nothing else is communicated.
 */
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum schedule { PER_GPU, ONE_PROCESS };
enum { ALIGN = 128 };

static const char *const schedules[] = {"per_gpu", "one_process", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OVERLAP_SCHEDULES("all", schedules,
			     "a process for each GPU, or one that drives all of them; on "
			     "processors its threads are the devices"),
	FB_OVERLAP_U64(input, "input-bytes", "4M", 4, UINT64_C(1) << 34,
		       "input of each replica, and what is gathered of its output"),
	FB_OVERLAP_LAYERS("8", "equal layers of the model, a bucket each"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	int layers, world;
	uint64_t count, share;     /* elements of a layer, of a replica's input */
	int gradients, parameters, inputs; /* sets of data */
	int found, buckets, model, replicas, input, shares, outputs, gathered; /* buffers */
};

static struct fb_span part(int buffer, int number, uint64_t count)
{
	return (struct fb_span){buffer, (uint64_t)number * count, count};
}

static int compute(const struct plan *p, int lane, const char *name, int number,
		   enum fb_work_kind kind)
{
	const struct fb_build *b = p->b;

	return fb_dag_compute(p->dag, lane, name, number,
			      fb_work_product(kind, b->tokens,
					      fb_ceil_div(p->count, b->own->hidden),
					      b->own->hidden));
}

static int copy(const struct plan *p, const char *name, int number, struct fb_span from,
		struct fb_span to)
{
	int task = fb_dag_compute(p->dag, 0, name, number, (struct fb_work){.kind = FB_WORK_NONE});

	fb_dag_copy(p->dag, task, from, to);
	return task;
}

/* Forward and backward of a replica, from layer to layer; gradients lie in its buckets then. */
static int backward(const struct plan *p, int lane, int replica, int layer)
{
	int task = compute(p, lane, "backward", layer, FB_WORK_BACKWARD);

	fb_dag_copy(p->dag, task, part(p->found + replica, layer, p->count),
		    part(p->buckets + replica, layer, p->count));
	return task;
}

static void optimize(const struct plan *p, int replica)
{
	const struct fb_content sum = {p->gradients, FB_ALL_MEMBERS, 0};
	struct fb_span all = fb_dag_whole(p->dag, p->buckets + replica);
	int task = fb_dag_compute(p->dag, 0, "optimizer", 0,
				  fb_work_pass(FB_WORK_ADAM, all.count));

	fb_dag_read(p->dag, task, all, &sum);
	fb_dag_output(p->dag, all, sum);
}

static void build_per_gpu(const struct plan *p)
{
	int rank = p->b->rank;

	fb_dag_two_lanes(p->dag, false);
	fb_dag_input(p->dag, fb_dag_whole(p->dag, p->found + rank),
		     (struct fb_content){p->gradients, rank, 0});
	for (int l = 0; l < p->layers; l++)
		compute(p, FB_LANE_COMPUTE, "forward", l, FB_WORK_GEMM);
	for (int l = p->layers - 1; l >= 0; l--) {
		const struct fb_span bucket = part(p->buckets + rank, l, p->count);

		backward(p, FB_LANE_COMPUTE, rank, l);
		fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_reduce", l, FB_ALL_REDUCE,
				  p->world, 0, bucket, bucket);
	}
	optimize(p, rank);
}

/* Parameters and input to a replica; GPU 0 has both already. */
static void hand_out(const struct plan *p, int replica)
{
	if (!replica)
		return;
	copy(p, "scatter", replica, part(p->input, replica, p->share),
	     fb_dag_whole(p->dag, p->shares + replica));
	copy(p, "replicate", replica, fb_dag_whole(p->dag, p->model),
	     fb_dag_whole(p->dag, p->replicas + replica));
	fb_dag_output(p->dag, fb_dag_whole(p->dag, p->replicas + replica),
		      (struct fb_content){p->parameters, 0, 0});
}

static void forward(const struct plan *p, int replica)
{
	const struct fb_span in = replica ? fb_dag_whole(p->dag, p->shares + replica)
					  : part(p->input, 0, p->share);

	fb_dag_host(p->dag, replica, "spread", FB_HOST_SPREAD, 0);
	for (int l = 0; l < p->layers; l++) {
		int task = compute(p, replica, "forward", l, FB_WORK_GEMM);
		struct fb_content weights = {p->parameters, 0, (uint64_t)l * p->count};

		fb_dag_read(p->dag, task,
			    part(replica ? p->replicas + replica : p->model, l, p->count),
			    &weights);
		if (l == p->layers - 1)
			fb_dag_copy(p->dag, task, in,
				    fb_dag_whole(p->dag, p->outputs + replica));
	}
}

/* GPU 0 adds up what lies in the others' memory. */
static void reduce(const struct plan *p, int layer)
{
	int task = fb_dag_compute(p->dag, 0, "reduce", layer,
				  (struct fb_work){.kind = FB_WORK_NONE});

	for (int d = 1; d < p->b->nranks; d++)
		fb_dag_add(p->dag, task, part(p->buckets + d, layer, p->count),
			   part(p->buckets, layer, p->count));
}

static void build_one_process(const struct plan *p)
{
	const struct fb_content inputs = {p->inputs, 0, 0}, weights = {p->parameters, 0, 0};
	int n = p->b->nranks, rank = p->b->rank;

	for (int d = 0; d < n; d++)
		fb_dag_device_lane(p->dag, "device", rank ? rank : d);
	p->dag->alone = true;
	if (rank)
		return;
	fb_dag_input(p->dag, fb_dag_whole(p->dag, p->input), inputs);
	fb_dag_input(p->dag, fb_dag_whole(p->dag, p->model), weights);
	for (int d = 0; d < n; d++)
		fb_dag_input(p->dag, fb_dag_whole(p->dag, p->found + d),
			     (struct fb_content){p->gradients, d, 0});
	for (int d = 0; d < n; d++)
		hand_out(p, d);
	for (int d = 0; d < n; d++)
		forward(p, d);
	for (int d = 0; d < n; d++)
		copy(p, "gather", d, fb_dag_whole(p->dag, p->outputs + d),
		     part(p->gathered, d, p->share));
	fb_dag_output(p->dag, fb_dag_whole(p->dag, p->gathered), inputs);
	for (int d = 0; d < n; d++)
		for (int l = p->layers - 1; l >= 0; l--)
			backward(p, d, d, l);
	for (int l = p->layers - 1; l >= 0 && n > 1; l--)
		reduce(p, l);
	optimize(p, 0);
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {.b = b, .dag = dag, .layers = (int)b->own->layers};
	uint64_t all;

	p.count = fb_ceil_div(b->elements ? b->elements : 1, b->own->layers * ALIGN) * ALIGN;
	p.share = fb_ceil_div(b->own->input, b->element_bytes);
	all = p.count * b->own->layers;
	p.world = fb_dag_axis(dag, "world", 1, b->nranks);
	p.gradients = fb_dag_data(dag, b->nranks);
	p.parameters = fb_dag_data(dag, 1);
	p.inputs = fb_dag_data(dag, 1);
	p.model = fb_dag_buffer(dag, "parameters", all);
	p.input = fb_dag_buffer(dag, "input", p.share * (uint64_t)b->nranks);
	p.gathered = fb_dag_buffer(dag, "gathered", p.share * (uint64_t)b->nranks);
	p.found = fb_dag_spread(dag, "gradients", all);
	p.buckets = fb_dag_spread(dag, "buckets", all);
	p.replicas = fb_dag_spread(dag, "replica", all);
	p.shares = fb_dag_spread(dag, "share", p.share);
	p.outputs = fb_dag_spread(dag, "output", p.share);
	if (dag->err)
		return;
	if (b->schedule == PER_GPU)
		build_per_gpu(&p);
	else
		build_one_process(&p);
	dag->tokens = b->tokens * (uint64_t)b->nranks;
}

const struct fb_schedule_program fb_schedule_dataparallel = {
	.name = "dataparallel",
	.summary = "one process that drives all GPUs against a process for each",
	.description =
	"Times a step of data-parallel training in one process with all GPUs: it scatters input, "
	"copies parameters to replicas, gathers outputs, and GPU 0 adds up gradients. Behind each "
	"such step the one with a process for each GPU is measured; column cost_us is the median "
	"of the differences.\n\n"
	"BYTES is the size of all gradients of a rank, a bucket for each layer.",
	.options = options, .defaults = defaults, .schedules = schedules,
	.has_base = true, .build = build,
};
