/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of several ranks in one process, for the emulator: plans, tables, memory and launches as
 * the engine makes them, checked by the same code as results of any engine (buffers.h).
 */
#ifndef FB_TESTS_CUDA_JOB_H
#define FB_TESTS_CUDA_JOB_H

#include "collectives/algorithm/algorithm.h"
#include "collectives/buffers.h"
#include "collectives/engine/cuda/build.h"
#include "collectives/engine/cuda/proxy_links.h"
#include "collectives/traffic.h"
#include "common/base/error.h"
#include "tests/cuda/kernels.h"
#include "tests/cuda/scheduler.h"

/* Most tests have up to JOB_RANKS. */
enum { JOB_RANKS = 4, JOB_MOST = 8, JOB_CHANNELS = 4, JOB_THREADS = 16 };

/* Room to shift buffers in, by less than half of it each. */
enum { JOB_SHIFTS = 128 };

/* What is run. */
struct job_case {
	const struct fb_algorithm *algorithm;
	enum fb_gpu_protocol protocol;
	bool direct;
	bool tma; /* direct, by bulk copies */
	bool striped; /* direct, in tuning.slot_bytes where that suits */
	int nranks, channels;
	enum fb_datatype datatype;
	enum fb_redop redop;
	int root;
	bool in_place;
	bool gaps; /* unequal blocks: two of four are empty */
	bool wide; /* --accumulate f32 */
	int nodes; /* 0: one; consecutive ranks, links between them in far memory */
	bool proxied; /* or proxied, and the caller provides the proxy */
	bool placed; /* proxied, with slots apart from counters, as with GPUDirect */
	uint64_t count;
	unsigned in_shift, out_shift; /* bytes that buffers begin late; in place: in_shift */
	struct fb_gpu_tuning tuning;
	uint64_t epoch; /* of the first call */
	uint32_t threads; /* of a block; 0: JOB_THREADS */
};

struct job_rank {
	struct fb_plan *plans[JOB_CHANNELS];
	struct fb_gpu_layout layout;
	struct fb_gpu_table table;
	struct fb_gpu_launch launch;
	struct fb_gpu_exchange fused;
	bool is_fused;
	char *links, *far, *slots, *scratch; /* slots: where placed */
	uint8_t via[JOB_MOST];
	struct fb_gpu_proxy_links proxied;
	const struct job *job;
};

struct job {
	struct job_case c;
	struct fb_operation op;
	struct fb_data data;
	struct fb_segment segment;
	char *parts[JOB_MOST];
	int part_of[JOB_MOST], node_of[JOB_MOST], local_rank_of[JOB_MOST];
	struct fb_topology topology;
	struct fb_counts counts;
	struct fb_gpu_shape shape;
	size_t slots_bytes; /* where placed: as many for each rank, whole pages */
	struct job_rank ranks[JOB_MOST];
	bool whole;             /* all ranks run in this process: barriers can be checked */
	int entered[JOB_MOST];  /* the call that a rank has begun */
	struct fb_mismatch bad; /* of all calls of the last run */
	char why[160];          /* the first wrong element */
};

static bool job_is_zero_copy(int rank, int peer, const void *arg)
{
	const struct job *j = arg;

	return j->node_of[rank] == j->node_of[peer];
}

static uint64_t job_address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t job_buffer(const void *arg, int rank, uint8_t buffer)
{
	const struct job *j = ((const struct job_rank *)arg)->job;

	if (buffer == FB_SCRATCH)
		return job_address(j->ranks[rank].scratch);
	return job_address(j->parts[rank]) +
	       (buffer == FB_IN ? j->op.in_offset : j->op.out_offset);
}

static uint64_t job_links(const void *arg, int rank, int peer)
{
	const struct job_rank *self = arg, *r = &self->job->ranks[rank];

	if (r->via[peer] == FB_GPU_PROXIED)
		return job_address(self->far) + (r == self ? 0 : self->layout.proxied);
	return job_address(r->via[peer] == FB_GPU_NEAR ? r->links : r->far);
}

static uint64_t job_slots(const void *arg, int rank, int peer)
{
	const struct job_rank *self = arg, *r = &self->job->ranks[rank];

	if (!self->slots || r->via[peer] != FB_GPU_PROXIED)
		return job_links(arg, rank, peer);
	return job_address(self->slots) + (r == self ? 0 : self->layout.proxied);
}

static char *job_memory(size_t bytes)
{
	char *p = aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);

	if (!p)
		abort();
	memset(p, 0, (bytes + 4096) / 4096 * 4096);
	return p;
}

static void job_operation(struct job *j)
{
	const struct job_case *c = &j->c;
	size_t n = (size_t)c->nranks;

	j->op = (struct fb_operation){
		.collective = c->algorithm->collective, .datatype = c->datatype,
		.redop = c->redop, .root = c->root, .in_place = c->in_place, .count = c->count,
		.segment = &j->segment,
	};
	j->data = (struct fb_data){
		.seed = 5, .type = c->datatype, .op = c->redop, .nranks = c->nranks,
		.reduces = fb_collective_info(c->algorithm->collective)->reduces};
	j->segment = (struct fb_segment){.nparts = c->nranks, .part_of = j->part_of,
					 .parts = j->parts, .ops = &fb_memory_host};
	if (fb_collective_info(c->algorithm->collective)->unequal) {
		j->counts = (struct fb_counts){.nranks = c->nranks,
					       .elements = calloc(n * n, sizeof(uint64_t))};
		for (size_t i = 0; j->counts.elements && i < n * n; i++)
			j->counts.elements[i] = c->gaps ? c->count * ((i + 1) % 4 / 2 == 0)
							: c->count * (i % 3) / 2;
		fb_traffic_spread(c->algorithm->collective, n, j->counts.elements);
		fb_traffic_sizes(&j->counts);
		j->op.counts = &j->counts;
		j->op.count = j->counts.max;
	}
	j->segment.part_bytes = fb_buffers_layout(&j->op, c->nranks) + JOB_SHIFTS;
	j->op.in_offset += c->in_shift;
	j->op.out_offset += c->in_place ? c->in_shift : JOB_SHIFTS / 2 + c->out_shift;
	for (int r = 0; r < c->nranks; r++) {
		j->part_of[r] = r;
		j->parts[r] = job_memory(j->segment.part_bytes);
	}
}

/* Which ranks are on a node together. */
static void job_nodes(struct job *j)
{
	const struct job_case *c = &j->c;
	int each = c->nodes ? c->nranks / c->nodes : c->nranks;

	for (int r = 0; r < c->nranks; r++) {
		j->node_of[r] = r / each;
		j->local_rank_of[r] = r % each;
		for (int p = 0; p < c->nranks; p++)
			j->ranks[r].via[p] = r / each == p / each ? FB_GPU_NEAR
					  : c->proxied		 ? FB_GPU_PROXIED
								 : FB_GPU_FAR;
	}
	j->topology = (struct fb_topology){.nranks = c->nranks, .nnodes = c->nranks / each,
					   .node_of = j->node_of,
					   .local_rank_of = j->local_rank_of};
}

static int job_plans(struct job *j)
{
	const struct job_case *c = &j->c;
	const struct fb_build_options options = {
		.slots = c->tuning.slots ? (int)c->tuning.slots : 8,
		.direct_with = c->direct ? job_is_zero_copy : NULL, .arg = j};
	struct fb_gpu_tuning tuning = c->tuning;
	struct fb_gpu_facts facts = {0};
	int err = FB_OK;

	for (int r = 0; r < c->nranks && !err; r++)
		for (int i = 0; i < c->channels && !err; i++) {
			struct fb_shape shape = {
				.collective = j->op.collective, .nranks = c->nranks,
				.root = c->root, .in_place = c->in_place, .channel = i,
				.nchannels = c->channels,
				.topology = c->nodes ? &j->topology : NULL};

			err = fb_plan_build(c->algorithm, &shape, r, &options,
					    &j->ranks[r].plans[i]);
		}
	if (err)
		return err;
	for (int r = 0; r < c->nranks; r++)
		fb_gpu_plan_facts(j->ranks[r].plans, c->channels, &facts);
	j->shape = (struct fb_gpu_shape){
		.protocol = c->protocol, .nranks = c->nranks, .nchannels = c->channels,
		.geometry = {.collective = j->op.collective, .nranks = c->nranks,
			     .split = j->ranks[0].plans[0]->split, .counts = j->op.counts,
			     .count = j->op.count,
			     .element_bytes = fb_datatype_size(c->datatype)}};
	tuning.striped = c->striped && !c->wide;
	fb_gpu_choose_slices(&tuning, &facts, c->direct, &j->shape);
	for (int r = 0; r < c->nranks; r++)
		j->ranks[r].scratch = job_memory(facts.scratch * j->op.count *
							 j->shape.geometry.element_bytes + 64);
	return FB_OK;
}

/* What the rank waits for on a link of its own. */
static uint64_t *job_counter(const struct fb_gpu_shape *s, const struct job_rank *r, int channel,
			     const struct fb_link *l, enum fb_gpu_counter_kind kind)
{
	return (void *)((r->via[l->peer] == FB_GPU_NEAR ? r->links : r->far) +
			fb_gpu_counter_offset(s, &r->layout, channel, l->lane, l->peer, kind));
}

/* Counters of an operation that has been called `epoch` times before. */
static void job_age(struct job *j, int rank)
{
	const struct fb_gpu_shape *s = &j->shape;
	struct job_rank *r = &j->ranks[rank];
	uint64_t epoch = j->c.epoch;

	for (uint64_t b = 0; b < r->layout.progress; b += FB_GPU_LINE)
		*(uint64_t *)(void *)(r->links + b) = epoch;
	for (int c = 0; c < s->nchannels; c++) {
		const struct fb_plan *p = r->plans[c];

		for (int l = 0; l < p->nlanes; l++)
			*(uint64_t *)(void *)(r->links + r->layout.progress +
					      (size_t)(c * s->nlanes + l) * FB_GPU_LINE) =
				epoch * p->lanes[l].nsteps * s->slices;
		for (int k = 0; k < p->n_in_links; k++) {
			const struct fb_link *l = &p->in_links[k];

			*job_counter(s, r, c, l, FB_GPU_AVAILABLE) =
				epoch * l->messages * s->slices;
		}
		for (int k = 0; k < p->n_out_links; k++) {
			const struct fb_link *l = &p->out_links[k];
			uint64_t freed = l->mode == FB_LINK_FIFO ? l->messages : l->pulls;

			*job_counter(s, r, c, l, FB_GPU_FREED) = epoch * freed * s->slices;
			*job_counter(s, r, c, l, FB_GPU_CREDITS) = epoch * l->pushes * s->slices;
		}
	}
}

static int job_tables(struct job *j)
{
	const struct job_case *c = &j->c;
	size_t places = (size_t)c->channels * FB_MAX_LANES;
	int err = FB_OK;

	for (int r = 0; r < c->nranks && !err; r++) {
		err = fb_gpu_lay_out(&j->shape, j->ranks[r].plans, j->ranks[r].via,
				     &j->ranks[r].layout);
		j->ranks[r].links = job_memory(j->ranks[r].layout.bytes);
		j->ranks[r].far = job_memory(j->ranks[r].layout.far_bytes);
		if (!err && c->epoch)
			job_age(j, r);
	}
	for (int r = 0; r < c->nranks && !err && c->placed; r++)
		j->slots_bytes += (j->ranks[r].layout.far_bytes + 4096) / 4096 * 4096;
	for (int r = 0; r < c->nranks && !err && c->placed; r++)
		j->ranks[r].slots = job_memory(j->slots_bytes);
	for (int r = 0; r < c->nranks && !err; r++)
		for (int p = 0; p < c->nranks; p++)
			memcpy(j->ranks[r].layout.out_slots + (size_t)p * places,
			       j->ranks[p].layout.in_slots + (size_t)r * places,
			       places * sizeof(uint64_t));
	for (int r = 0; r < c->nranks && !err; r++) {
		struct job_rank *k = &j->ranks[r];
		const struct fb_gpu_view view = {.shape = &j->shape, .plans = k->plans, .rank = r,
						 .average = c->redop == FB_AVG,
						 .wide = c->wide &&
							 fb_is_narrow_float(c->datatype),
						 .threads = (int)c->threads / FB_WARP * 32,
						 .layout = &k->layout, .buffer = job_buffer,
						 .links = job_links, .slots = job_slots, .arg = k,
						 .via = k->via, .proxied = &k->proxied};

		k->job = j;
		err = fb_gpu_proxy_links_open(&k->proxied, &view);
		if (!err)
			err = fb_gpu_build(&view, &k->table);
		if (err)
			break;
		k->is_fused = fb_gpu_is_exchange(&view, &k->table, &k->fused);
		k->fused.epochs = k->launch.epochs = job_address(k->links);
		k->fused.op = k->launch.op = (uint32_t)c->redop;
		k->launch.nranks = (uint32_t)c->nranks;
		k->launch.blocks = job_address(k->table.blocks);
		for (int b = 0; b < k->table.nblocks; b++)
			k->table.blocks[b].records += job_address(k->table.bytes);
	}
	return err;
}

/* As if it had never been called. */
static inline void job_reset(struct job *j)
{
	for (int r = 0; r < j->c.nranks; r++) {
		memset(j->ranks[r].links, 0, j->ranks[r].layout.bytes);
		memset(j->ranks[r].far, 0, j->ranks[r].layout.far_bytes);
		if (j->c.epoch)
			job_age(j, r);
	}
}

static void job_close(struct job *j)
{
	for (int r = 0; r < j->c.nranks; r++) {
		struct job_rank *k = &j->ranks[r];

		for (int i = 0; i < j->c.channels; i++)
			fb_plan_free(k->plans[i]);
		fb_gpu_layout_free(&k->layout);
		fb_gpu_table_free(&k->table);
		fb_gpu_proxy_links_close(&k->proxied);
		free(k->links);
		free(k->far);
		free(k->slots);
		free(k->scratch);
		free(j->parts[r]);
	}
	free(j->counts.elements);
	memset(j, 0, sizeof(*j));
}

/* 0 or an error, after which it is to be closed all the same. */
static int job_open(struct job *j, const struct job_case *c)
{
	int err;

	memset(j, 0, sizeof(*j));
	j->c = *c;
	if (!j->c.threads)
		j->c.threads = JOB_THREADS;
	job_operation(j);
	job_nodes(j);
	err = job_plans(j);
	return err ? err : job_tables(j);
}

#endif
