/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step of data-parallel training: backward computes one tensor after the other, the last layer's
 * first, and copies its gradient into a bucket, as DDP does. A bucket's all_reduce is in place;
 * with ZeRO it is a reduce_scatter, and the optimizer's shard is gathered again.
 *
 * With several micro-batches the gradients are reduced after the last one, but with ZeRO-2 after
 * each one; there a witness (schedule.h) keeps a piece of each micro-batch's sum for the check.
 * Each micro-batch has other test data: they begin FB_WITNESS elements later.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/schedule/ddp.h"

enum { FINISH = FB_LANE_COMMUNICATE + 1 }; /* lane of what is done with a bucket that is reduced */

struct plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	struct fb_gradients g;
	bool zero, topk, overlaps; /* overlaps: the optimizer */
	int batches, world, found, buckets, data;
	int sums, fresh, mine, parameters, updated; /* ZeRO */
	int sent, received;                         /* top-k */
	int seen;                                   /* ZeRO-2 with micro-batches */
	uint64_t *at;      /* [nbuckets + 1]: where a bucket lies; ZeRO's are padded */
	uint64_t *kept;    /* [nbuckets + 1]: elements that top-k sends, of the buckets before */
	int *order;        /* [nbuckets]: of communication */
	int *finished;     /* [nbuckets]: the task behind which forward may use it, or FB_NONE */
};

static uint64_t ranks_of(const struct plan *p)
{
	return (uint64_t)p->b->nranks;
}

static struct fb_span bucket_of(const struct plan *p, int buffer, int k)
{
	return (struct fb_span){buffer, p->at[k], p->at[k + 1] - p->at[k]};
}

/* A rank's block of a bucket, in a buffer of such blocks. */
static struct fb_span block_of(const struct plan *p, int buffer, int k)
{
	return (struct fb_span){buffer, p->at[k] / ranks_of(p),
				(p->at[k + 1] - p->at[k]) / ranks_of(p)};
}

/* A bucket's content in a micro-batch. */
static struct fb_content content_of(const struct plan *p, int k, int batch, int member)
{
	uint64_t shift = p->b->schedule == FB_DDP_ZERO2 ? (uint64_t)batch * FB_WITNESS : 0;

	return (struct fb_content){p->data, member, p->at[k] + shift};
}

static void lay_out(struct plan *p)
{
	uint64_t pad = p->zero ? ranks_of(p) : 1;

	for (size_t k = 0; k < p->g.nbuckets; k++) {
		uint64_t n = p->g.buckets[k].count;
		double kept = (double)n * p->b->own->keep;
		uint64_t values = kept < 1 ? 1 : (uint64_t)kept;
		/* A value and its place, four bytes. */
		uint64_t both = values + fb_ceil_div(4 * values, p->b->element_bytes);

		p->at[k + 1] = p->at[k] + fb_ceil_div(n, pad) * pad;
		p->kept[k + 1] = p->kept[k] + (both < n ? both : n);
		p->order[k] = (int)k;
		p->finished[k] = FB_NONE;
	}
}

static void make_buffers(struct plan *p)
{
	struct fb_dag *d = p->dag;
	size_t n = p->g.nbuckets;
	uint64_t all = p->at[n], shift = (uint64_t)(p->batches - 1) * FB_WITNESS;
	uint64_t shard = all / ranks_of(p);

	p->world = fb_dag_axis(d, "world", 1, p->b->nranks);
	p->data = fb_dag_data(d, p->b->nranks);
	p->found = fb_dag_buffer(d, "gradients", all + shift);
	p->buckets = fb_dag_buffer(d, "buckets", all);
	fb_dag_input(d, fb_dag_whole(d, p->found), (struct fb_content){p->data, p->b->rank, 0});
	if (p->topk) {
		p->sent = fb_dag_buffer(d, "sent", p->kept[n]);
		p->received = fb_dag_buffer(d, "received", p->kept[n] * ranks_of(p));
	}
	if (!p->zero)
		return;
	p->updated = fb_dag_data(d, p->b->nranks);
	p->sums = fb_dag_buffer(d, "reduced gradients", shard);
	p->fresh = fb_dag_buffer(d, "new parameters", shard);
	p->mine = fb_dag_buffer(d, "shard", shard);
	p->parameters = fb_dag_buffer(d, "parameters", all);
	fb_dag_input(d, fb_dag_whole(d, p->fresh),
		     (struct fb_content){p->updated, p->b->rank, 0});
	if (p->b->schedule == FB_DDP_ZERO2 && p->batches > 1)
		p->seen = fb_dag_buffer(d, "seen", (uint64_t)n * shift);
}

/* --- a bucket -------------------------------------------------------------------------------- */

static int add_pass(struct plan *p, int lane, const char *name, int k, enum fb_work_kind kind,
		    uint64_t elements)
{
	struct fb_work w = fb_work_pass(kind, elements);

	w.k = p->b->element_bytes;
	return fb_dag_compute(p->dag, lane, name, k, w);
}

/* Gradients become smaller before they are sent. */
static void compress(struct plan *p, int k, int batch)
{
	const struct fb_span whole = bucket_of(p, p->buckets, k);
	const struct fb_content own = content_of(p, k, batch, p->b->rank);
	struct fb_span from = whole;
	const struct fb_span to = {p->sent, p->kept[k], p->kept[k + 1] - p->kept[k]};
	int task;

	if (!p->b->value[FB_DDP_COMPRESS])
		return;
	task = add_pass(p, FB_LANE_COMPUTE, "compress", k,
			p->topk ? FB_WORK_SELECT : FB_WORK_CAST, whole.count);
	fb_dag_read(p->dag, task, whole, &own);
	from.count = to.count;
	if (p->topk)
		fb_dag_copy(p->dag, task, from, to);
}

static int communicate(struct plan *p, int k)
{
	const struct fb_span bucket = bucket_of(p, p->buckets, k);
	const struct fb_span sent = {p->sent, p->kept[k], p->kept[k + 1] - p->kept[k]};
	const struct fb_span received = {p->received, sent.first * ranks_of(p),
					 sent.count * ranks_of(p)};

	if (p->topk)
		return fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_gather", k,
					 FB_ALL_GATHER, p->world, 0, sent, received);
	if (p->zero)
		return fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "reduce_scatter", k,
					 FB_REDUCE_SCATTER, p->world, 0, bucket,
					 block_of(p, p->sums, k));
	return fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_reduce", k, FB_ALL_REDUCE,
				 p->world, 0, bucket, bucket);
}

/*
 * The task reads a bucket that has been reduced: all of it, or with ZeRO this rank's block. With
 * `keeps` it copies a piece of it to a witness, as the next micro-batch overwrites it.
 */
static void read_sum(struct plan *p, int task, int k, int batch, bool keeps)
{
	struct fb_content sum = content_of(p, k, batch, FB_ALL_MEMBERS);
	struct fb_span span = p->zero ? block_of(p, p->sums, k) : bucket_of(p, p->buckets, k);

	if (p->topk) {
		span = (struct fb_span){p->received, p->kept[k] * ranks_of(p),
					(p->kept[k + 1] - p->kept[k]) * ranks_of(p)};
		fb_dag_read(p->dag, task, span, NULL);
		return;
	}
	sum.first += p->zero ? (uint64_t)p->b->rank * span.count : 0;
	if (keeps)
		fb_dag_witness(p->dag, task, p->seen, batch * (int)p->g.nbuckets + k, span, sum);
	else
		fb_dag_read(p->dag, task, span, &sum);
}

/* Sums become f32 again, or are added to those of earlier micro-batches. */
static void expand(struct plan *p, int k, int batch)
{
	uint64_t n = p->zero ? block_of(p, p->sums, k).count : p->g.buckets[k].count;
	int task;

	if (p->topk)
		n = (p->kept[k + 1] - p->kept[k]) * ranks_of(p);
	if (p->b->value[FB_DDP_COMPRESS]) {
		task = add_pass(p, FINISH, "expand", k, p->topk ? FB_WORK_MEMORY : FB_WORK_CAST, n);
		read_sum(p, task, k, batch, false);
		p->finished[k] = task;
	}
	if (p->zero && batch < p->batches - 1) {
		task = add_pass(p, FINISH, "add", k, FB_WORK_MEMORY, n);
		read_sum(p, task, k, batch, true);
	}
}

/* Adam for a bucket, or for this rank's block of it, which all ranks then gather. */
static void update(struct plan *p, int k)
{
	const struct fb_span block = block_of(p, p->fresh, k), mine = block_of(p, p->mine, k);
	bool adam = p->b->value[FB_DDP_OPTIMIZER] > 0;
	int before = p->finished[k];

	if (!adam && !p->zero)
		return;
	p->finished[k] = add_pass(p, p->overlaps ? FINISH : FB_LANE_COMPUTE, "update", k,
				  adam ? FB_WORK_ADAM : FB_WORK_NONE,
				  p->zero ? block.count : p->g.buckets[k].count);
	read_sum(p, p->finished[k], k, p->batches - 1, false);
	if (before != FB_NONE)
		fb_dag_after(p->dag, p->finished[k], before);
	if (!p->zero)
		return;
	fb_dag_copy(p->dag, p->finished[k], block, mine);
	p->finished[k] = fb_dag_collective(p->dag, FB_LANE_COMMUNICATE, "all_gather", k,
					   FB_ALL_GATHER, p->world, 0, mine,
					   bucket_of(p, p->parameters, k));
}

static void reduce(struct plan *p, int k, int batch, int last)
{
	int task;

	compress(p, k, batch);
	task = communicate(p, k);
	if (p->b->schedule == FB_DDP_SEQUENTIAL)
		fb_dag_after(p->dag, task, last);
	if (p->b->schedule == FB_DDP_COMMUNICATE)
		return;
	expand(p, k, batch);
	if (p->overlaps && batch == p->batches - 1)
		update(p, k);
}

/* --- the step -------------------------------------------------------------------------------- */

/* The task copies a tensor's gradient, or what a bucket has of it, into the bucket. */
static void pack(struct plan *p, int task, size_t t, size_t k, int batch)
{
	uint64_t first, n = fb_gradients_shared(&p->g, t, k, &first);
	struct fb_span to = {p->buckets, p->at[k] + first, n};

	/* The padding of a bucket lies behind it. */
	if (p->g.buckets[k].last == t)
		to.count = p->at[k + 1] - to.first;
	first += content_of(p, (int)k, batch, 0).first;
	fb_dag_copy(p->dag, task, (struct fb_span){p->found, first, to.count}, to);
}

/* Backward of a tensor; its gradient goes into buckets from `k` on, or is added to earlier ones. */
static int backward(struct plan *p, size_t t, size_t k, int batch)
{
	const struct fb_tensor *tensor = &p->g.tensors[t];
	uint64_t first;
	int task;

	if (tensor->before)
		fb_dag_compute(p->dag, FB_LANE_COMPUTE, "attention", (int)t,
			       fb_nn_work(p->b->nn, tensor->before, p->b->tokens, true));
	if (p->b->value[FB_DDP_CHECKPOINT])
		fb_dag_compute(p->dag, FB_LANE_COMPUTE, "again", (int)t,
			       fb_ddp_work(p->b, tensor, false));
	task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "backward", (int)t,
			      fb_ddp_work(p->b, tensor, true));
	if (batch && p->b->schedule != FB_DDP_ZERO2)
		task = add_pass(p, FB_LANE_COMPUTE, "add", (int)t, FB_WORK_MEMORY,
				fb_ceil_div(3 * tensor->count, 2));
	if (batch < p->batches - 1 && p->b->schedule != FB_DDP_ZERO2)
		return task;
	for (; k < p->g.nbuckets && fb_gradients_shared(&p->g, t, k, &first); k++)
		pack(p, task, t, k, batch);
	return task;
}

static void run_batch(struct plan *p, int batch)
{
	bool sends = p->b->schedule != FB_DDP_COMPUTE &&
		     (batch == p->batches - 1 || p->b->schedule == FB_DDP_ZERO2);
	bool waits = p->b->schedule == FB_DDP_SEQUENTIAL;
	size_t next = 0, n = p->g.nbuckets, k = 0;

	for (size_t t = 0; t < p->g.ntensors; t++) {
		int last;

		while (p->g.buckets[k].last < t)
			k++;
		last = backward(p, t, k, batch);
		for (; sends && next < n && p->g.buckets[p->order[next]].last <= t &&
		     (!waits || t + 1 == p->g.ntensors); next++)
			reduce(p, p->order[next], batch, last);
	}
}

/* Lets the task wait for bucket `k`, which has a part of the task's tensor, and for its Adam. */
static void await(struct plan *p, int task, int k)
{
	if (p->b->schedule != FB_DDP_COMPUTE && !p->zero)
		read_sum(p, task, k, p->batches - 1, false);
	if (p->zero)
		fb_dag_read(p->dag, task, bucket_of(p, p->parameters, k), NULL);
	else if (p->finished[k] != FB_NONE)
		fb_dag_after(p->dag, task, p->finished[k]);
}

/* The next forward. */
static void forward(struct plan *p)
{
	int last = (int)p->g.nbuckets - 1;
	uint64_t first;

	for (size_t t = p->g.ntensors; t-- > 0;) {
		int task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "forward", (int)t,
					  fb_ddp_work(p->b, &p->g.tensors[t], false));

		while (!fb_gradients_shared(&p->g, t, (size_t)last, &first))
			last--;
		for (int k = last; k >= 0 && fb_gradients_shared(&p->g, t, (size_t)k, &first); k--)
			await(p, task, k);
	}
}

static void say_outputs(struct plan *p)
{
	bool sums = p->b->schedule != FB_DDP_COMPUTE && !p->topk && !p->zero;
	struct fb_dag *d = p->dag;

	for (int k = 0; k < (int)p->g.nbuckets; k++) {
		const struct fb_span block = block_of(p, p->mine, k);
		uint64_t kept = p->kept[k + 1] - p->kept[k];

		fb_dag_output(d, bucket_of(p, p->buckets, k),
			      content_of(p, k, p->batches - 1, sums ? FB_ALL_MEMBERS : p->b->rank));
		for (int r = 0; r < p->b->nranks && p->topk; r++)
			fb_dag_output(d, (struct fb_span){p->received, p->kept[k] * ranks_of(p) +
							  (uint64_t)r * kept, kept},
				      content_of(p, k, p->batches - 1, r));
		if (p->zero) {
			struct fb_content sum = content_of(p, k, p->batches - 1, FB_ALL_MEMBERS);

			sum.first += (uint64_t)p->b->rank * block.count;
			fb_dag_output(d, block_of(p, p->sums, k), sum);
		}
		for (int r = 0; r < p->b->nranks && p->zero; r++)
			fb_dag_output(d, (struct fb_span){p->parameters, p->at[k] +
							  (uint64_t)r * block.count, block.count},
				      (struct fb_content){p->updated, r, block.first});
	}
}

static bool open_plan(struct plan *p)
{
	size_t n;

	if (!fb_ddp_gradients(p->b, &p->g))
		return false;
	n = p->g.nbuckets + 1;
	p->at = calloc(2 * n, sizeof(*p->at));
	p->order = calloc(2 * n, sizeof(*p->order));
	if (!p->at || !p->order)
		return false;
	p->kept = p->at + n;
	p->finished = p->order + n;
	return true;
}

void fb_ddp_build(struct fb_dag *dag, const struct fb_build *b)
{
	struct plan p = {
		.b = b, .dag = dag, .zero = b->schedule >= FB_DDP_ZERO1,
		.topk = b->value[FB_DDP_COMPRESS] == FB_DDP_TOPK,
		.overlaps = b->value[FB_DDP_OPTIMIZER] == FB_DDP_BESIDE &&
			    b->schedule != FB_DDP_COMPUTE,
		.batches = (int)b->value[FB_DDP_MICROBATCHES]};

	if (!open_plan(&p)) {
		dag->err = FB_ENOMEM;
		goto free_plan;
	}
	lay_out(&p);
	if (b->value[FB_DDP_ORDER] == FB_DDP_PRIORITY)
		fb_gradients_order(&p.g, p.order);
	fb_dag_two_lanes(dag, fb_ddp_is_serial(b));
	if (p.overlaps || b->value[FB_DDP_COMPRESS] || (p.zero && p.batches > 1))
		fb_dag_lane(dag, "finish", false);
	make_buffers(&p);
	fb_dag_background(dag, b, b->value[FB_DDP_BACKGROUND]);
	for (int batch = 0; batch < p.batches; batch++)
		run_batch(&p, batch);
	for (int k = 0; k < (int)p.g.nbuckets && !p.overlaps; k++)
		if (b->schedule == FB_DDP_COMPUTE && b->value[FB_DDP_OPTIMIZER])
			add_pass(&p, FB_LANE_COMPUTE, "update", k, FB_WORK_ADAM,
				 p.g.buckets[k].count);
		else if (b->schedule >= FB_DDP_SEQUENTIAL)
			update(&p, k);
	if (b->value[FB_DDP_FORWARD])
		forward(&p);
	say_outputs(&p);
	dag->tokens = b->tokens * (uint64_t)b->nranks * (uint64_t)p.batches;
free_plan:
	free(p.at);
	free(p.order);
	fb_gradients_free(&p.g);
}
