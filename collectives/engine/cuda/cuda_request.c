/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares a request: plans, the memory of its links, and the records of its blocks. What must be
 * equal on all ranks is agreed by one reduction; where peers have their slots is exchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "collectives/engine/cuda/cuda_engine.h"
#include "collectives/engine/plan_proof.h"
#include "common/cuda/cuda_error.h"

/*
 * Up to here exchanges are one kernel of its own, no channels; of ll, of ll128. Records take up
 * to an eighth longer, so the limit is not a size that tables were measured at: their rule for
 * 32 MiB holds for sizes somewhat larger, too.
 */
enum { FUSED_BYTES = 1 << 20, FUSED_LINES = 48 << 20 };

static enum fb_gpu_protocol protocol_of(const struct cuda_request *r, const struct fb_case *c)
{
	if (!strcmp(c->protocol, "ll"))
		return r->tuning.ll_line == 8 ? FB_GPU_LL8 : FB_GPU_LL16;
	return strcmp(c->protocol, "ll128") ? FB_GPU_SIMPLE : FB_GPU_LL128;
}

/* Zero-copy links are those that are not far. */
static bool is_zero_copy(int rank, int peer, const void *arg)
{
	const struct cuda_request *r = arg;
	const int *node_of = r->engine->group->node_of;

	if (r->wires->near == FB_CUDA_NOTHING)
		return false;
	return r->wires->far == FB_CUDA_NOTHING || node_of[rank] == node_of[peer];
}

/* Bytes of the largest buffer of any rank. */
static uint64_t operation_bytes(const struct cuda_request *r)
{
	const struct fb_operation *op = r->op;
	int n = r->engine->group->nranks;
	uint64_t most = 0;

	for (int k = 0; k < 2 * n; k++) {
		uint64_t elements = fb_buffers_elements(op, k % 2, k / 2, n);

		most = elements > most ? elements : most;
	}
	return most * fb_datatype_size(op->datatype);
}

static struct fb_build_options build_options(const struct cuda_request *r)
{
	return (struct fb_build_options){.slots = (int)r->engine->settings->slots, .arg = r,
					 .direct_with = r->direct ? is_zero_copy : NULL};
}

/* Raises *lanes to those that a rank's plan has, as far as the first channel shows. */
static int count_lanes(const struct cuda_request *r, int rank, int *lanes)
{
	const struct fb_build_options options = build_options(r);
	int multiple = r->algorithm->channels ? r->algorithm->channels : 1;
	struct fb_shape shape = fb_cuda_shape(r->engine, r->op, r->stages, 0, multiple);
	struct fb_plan *plan = NULL;
	int err = fb_plan_build(r->algorithm, &shape, rank, &options, &plan);

	if (plan && plan->nlanes > *lanes)
		*lanes = plan->nlanes;
	fb_plan_free(plan);
	return err;
}

/* Most lanes that any rank's plan has. Collective. */
static int find_lanes(const struct cuda_request *r, int *lanes)
{
	int err = fb_group_agree(r->engine->group,
				 count_lanes(r, r->engine->group->rank, lanes));

	if (!err)
		MPI_Allreduce(MPI_IN_PLACE, lanes, 1, MPI_INT, MPI_MAX, r->engine->group->comm);
	return err;
}

/* Most bytes of an operation that a fused kernel carries out, of one channel; 0: none does. */
static uint64_t exchange_limit(const struct cuda_request *r)
{
	static const struct fb_algorithm *const exchanges[] = {
		&fb_all_gather_direct, &fb_reduce_scatter_direct, &fb_all_to_all_direct,
		&fb_all_reduce_one_shot, &fb_all_to_all_v_direct, &fb_all_reduce_two_shot,
	};
	enum { OF_LL = 4 };

	for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++) {
		if (r->algorithm != exchanges[i])
			continue;
		if (r->shape.protocol == FB_GPU_LL128)
			return FUSED_LINES;
		return r->shape.protocol == FB_GPU_LL16 && i < OF_LL ? FUSED_BYTES : 0;
	}
	return 0;
}

static bool is_exchange(const struct cuda_request *r)
{
	return operation_bytes(r) <= exchange_limit(r) && !r->wide &&
	       r->engine->group->nranks <= FB_GPU_MOST_PEERS + 1;
}

/* What the case and the settings say. */
static void read_case(struct cuda_request *r, const struct fb_case *c)
{
	const struct fb_settings *s = r->engine->settings;
	const struct fb_tuned *tuned = &r->op->tuned;

	r->tuning = (struct fb_gpu_tuning){
		.slots = (uint32_t)s->slots, .ll_line = (uint32_t)s->ll_line,
		.slot_bytes = (uint32_t)(s->slot_bytes ? s->slot_bytes : tuned->slot_bytes),
		.channels = (int)(s->channels ? s->channels : tuned->channels),
		.threads = (int)(s->threads ? s->threads : tuned->threads),
	};
	r->direct = fb_cuda_is_direct(c);
	r->tma = !strcmp(c->protocol, "tma");
	r->striped = !strcmp(c->protocol, "striped");
	r->wires = fb_cuda_wires(c);
	r->shape.protocol = protocol_of(r, c);
	r->wide = s->accumulate == FB_ACCUMULATE_F32 && fb_is_narrow_float(r->op->datatype) &&
		  fb_collective_info(r->op->collective)->reduces;
	r->tuning.striped = r->striped && !r->wide;
	if (is_exchange(r)) {
		r->exchange_blocks = r->tuning.channels;
		if (!s->channels && r->op->together > 1 && r->exchange_blocks > fb_cuda_share(r))
			r->exchange_blocks = fb_cuda_share(r);
		r->tuning.channels = 1;
		r->tuning.slot_bytes = (uint32_t)exchange_limit(r) + FB_GPU_LINE;
	}
	r->shape.nranks = r->engine->group->nranks;
}

int fb_cuda_share(const struct cuda_request *r)
{
	int share = r->engine->gpu.sms / (r->op->together > 1 ? r->op->together : 1);

	return share > 1 ? share : 1;
}

/*
 * Channels and threads of plans of so many lanes. The number of channels that a user or a table
 * gives counts thread blocks, as NCCL's counts CTAs. Each lane of a channel is a block. There are
 * no more blocks than that, unless the algorithm needs more.
 */
static void choose(struct cuda_request *r, int lanes)
{
	uint64_t bytes = operation_bytes(r);
	int multiple = r->algorithm->channels ? r->algorithm->channels : 1;
	int most = fb_cuda_share(r) / lanes / multiple * multiple;

	if (r->tuning.channels) {
		r->tuning.channels = r->tuning.channels / lanes / multiple * multiple;
		if (r->tuning.channels < multiple)
			r->tuning.channels = multiple;
	}
	/* A table's number is for an operation alone; the user's is the user's. */
	if (!r->engine->settings->channels && r->op->together > 1 && r->tuning.channels > most)
		r->tuning.channels = most > multiple ? most : multiple;
	r->shape.nchannels = fb_gpu_choose_channels(&r->tuning, r->shape.protocol, multiple, bytes,
						    fb_cuda_share(r) / lanes);
	r->shape.geometry = (struct fb_geometry){
		.collective = r->op->collective, .nranks = r->shape.nranks,
		.counts = r->op->counts, .count = r->op->count,
		.element_bytes = fb_datatype_size(r->op->datatype),
	};
	r->threads = (unsigned)fb_gpu_choose_threads(&r->tuning, r->shape.protocol,
						     bytes / (uint64_t)r->shape.nchannels);
}

static int build_plans(struct cuda_request *r)
{
	const struct fb_build_options options = build_options(r);
	int n = r->shape.nchannels, err = FB_OK;

	r->plans = calloc((size_t)n, sizeof(*r->plans));
	if (!r->plans || fb_cuda_choose_via(r))
		return FB_ENOMEM;
	for (int i = 0; i < n && !err; i++) {
		struct fb_shape shape = fb_cuda_shape(r->engine, r->op, r->stages, i, n);

		err = fb_plan_build(r->algorithm, &shape, r->engine->group->rank, &options,
				    &r->plans[i]);
	}
	return err;
}

/*
 * Whether all GPUs hold a launch whole, with those that may be under way at once. Said once a run,
 * since the rows say that they were not.
 */
static int check_resident(struct cuda_request *r)
{
	const struct fb_group *w = r->engine->group;
	int most = fb_cuda_resident(r) / (r->op->together > 1 ? r->op->together : 1);
	int channels = r->shape.nchannels;

	channels = r->exchange_blocks > channels ? r->exchange_blocks : channels;
	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MIN, w->comm);
	if (channels * r->shape.nlanes <= most)
		return FB_OK;
	if (w->rank == 0 && !r->engine->said_resident)
		fb_warn("%d channels of %d lanes and %u threads are more than the %d blocks that "
			"the GPU holds at once: rows of these and larger are skipped", channels,
			r->shape.nlanes, r->threads, most);
	r->engine->said_resident = true;
	return FB_EUNSUPPORTED;
}

/* Shape and memory, as the ranks' plans together need them. Collective. */
static int open_memory(struct cuda_request *r, const struct fb_case *c)
{
	const struct fb_group *w = r->engine->group;
	size_t places = (size_t)r->shape.nchannels * FB_MAX_LANES;
	struct fb_gpu_facts facts = {0};
	size_t scratch;
	int err;

	fb_gpu_plan_facts(r->plans, r->shape.nchannels, &facts);
	MPI_Allreduce(MPI_IN_PLACE, &facts, sizeof(facts) / sizeof(uint64_t), MPI_UINT64_T, MPI_MAX,
		      w->comm);
	r->shape.geometry.split = r->plans[0]->split;
	fb_gpu_choose_slices(&r->tuning, &facts, r->direct, &r->shape);
	err = check_resident(r);
	if (err)
		return err;
	err = fb_group_agree(w, fb_gpu_lay_out(&r->shape, r->plans, r->via, &r->layout));
	if (err)
		return err;
	MPI_Alltoall(r->layout.in_slots, (int)places, MPI_UINT64_T, r->layout.out_slots,
		     (int)places, MPI_UINT64_T, w->comm);
	scratch = facts.scratch * r->op->count * r->shape.geometry.element_bytes;
	return fb_cuda_open_links(r, c, scratch ? scratch + FB_GPU_LINE : 0);
}

static uint64_t buffer_address(const void *arg, int rank, uint8_t buffer)
{
	const struct cuda_request *r = arg;
	size_t offset = buffer == FB_IN ? r->op->in_offset : r->op->out_offset;

	/* An operation of no elements has no scratch memory. */
	if (buffer == FB_SCRATCH && !r->scratch.ops)
		return 0;
	if (buffer == FB_SCRATCH)
		return (uint64_t)(uintptr_t)fb_segment_part(&r->scratch, rank);
	/* A barrier has no bytes, and its segment may be host memory. */
	return (uint64_t)(uintptr_t)fb_segment_part(r->op->segment, rank) + offset;
}

static int build_table(struct cuda_request *r)
{
	const struct fb_gpu_view view = {
		.shape = &r->shape, .plans = r->plans, .rank = r->engine->group->rank,
		.threads = (int)r->threads, .wide = r->wide,
		.average = r->op->redop == FB_AVG &&
			   fb_collective_info(r->op->collective)->reduces,
		.layout = &r->layout, .buffer = buffer_address,
		.links = fb_cuda_links_address, .slots = fb_cuda_slots_address, .arg = r,
		.via = r->via,
		.proxied = &r->proxied,
	};
	int err = fb_gpu_proxy_links_open(&r->proxied, &view);

	if (!err)
		err = fb_gpu_build(&view, &r->table);
	if (!err)
		r->fused = fb_gpu_is_exchange(&view, &r->table, &r->exchange);
	return err;
}

int fb_cuda_setup(struct cuda_request *r, const struct fb_case *c)
{
	const struct fb_group *w = r->engine->group;
	int lanes = 1, err;

	r->algorithm = fb_algorithm_of_text(r->op->collective, c->algorithm, &r->stages);
	read_case(r, c);
	err = find_lanes(r, &lanes);
	if (err)
		return err;
	choose(r, lanes);
	err = fb_group_agree(w, build_plans(r));
	if (!err)
		err = open_memory(r, c);
	if (!err)
		err = fb_group_agree(w, build_table(r));
	if (!err)
		err = fb_group_agree(w, fb_cuda_upload(r, c));
	if (!err)
		err = fb_cuda_connect(r);
	return err;
}

int fb_cuda_check_plan(struct fb_engine *engine, const struct fb_case *c,
		       const struct fb_operation *op, FILE *report)
{
	struct cuda_request r = {.engine = (struct cuda_engine *)engine, .op = op};
	enum fb_direct_links direct;
	struct fb_shape shape;
	int lanes = 1, err = FB_OK;

	r.algorithm = fb_algorithm_of_text(op->collective, c->algorithm, &r.stages);
	read_case(&r, c);
	for (int i = 0; i < r.shape.nranks && !err; i++)
		err = count_lanes(&r, i, &lanes);
	if (err)
		return err;
	choose(&r, lanes);
	direct = !r.direct ? FB_NO_DIRECT_LINKS
		 : r.wires->far == FB_CUDA_NOTHING ? FB_ALL_DIRECT_LINKS
						   : FB_NODE_DIRECT_LINKS;
	shape = fb_cuda_shape(r.engine, op, r.stages, 0, r.shape.nchannels);
	return fb_prove_plans(c, r.algorithm, &shape, direct, (int)r.engine->settings->slots,
			      report);
}

void fb_cuda_teardown(struct fb_request *request)
{
	struct cuda_request *r = (struct cuda_request *)request;

	fb_gpu_stream_close(r->on.stream);
	fb_cuda_disconnect(r);
	fb_cuda_close_slots(r);
	/* Nobody's kernels use this rank's memory any more. */
	MPI_Barrier(r->engine->group->comm);
	(void)cudaFree(r->uploaded);
	(void)cudaFree(r->times);
	fb_segment_close(&r->links);
	fb_segment_close(&r->far_links);
	fb_segment_close(&r->scratch);
	fb_gpu_layout_free(&r->layout);
	fb_gpu_table_free(&r->table);
	for (int i = 0; r->plans && i < r->shape.nchannels; i++)
		fb_plan_free(r->plans[i]);
	free(r->plans);
	free(r->via);
}
