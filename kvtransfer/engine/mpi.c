/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine mpi: the library's messages between the pages of two ranks.
 *
 * pack and layerwise gather into the sender's staging memory, send one message for each pair (and
 * layer), and scatter at the receiver: what has come is unpacked while the rest is on its way. With
 * datatype there is one message for each pair, whose types describe all runs of all regions on
 * either side; the library does the rest.
 *
 * Messages are counted in rows (a token of a head), so that MPI's counts suffice.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/engine/engine.h"
#include "kvtransfer/engine/stage.h"

struct mpi_kv {
	struct fb_kv_engine engine;
	MPI_Comm comm;
};

struct mpi_request {
	struct fb_kv_request request;
	struct mpi_kv *engine;
	MPI_Datatype row;
	MPI_Datatype *src, *dst; /* [pairs], mode datatype: MPI_DATATYPE_NULL where not own */
	MPI_Request *in, *out;   /* [pairs * steps]: pair by pair */
	MPI_Status *status;      /* as many; MPICH's MPI_STATUSES_IGNORE upsets gcc */
};

static int mpi_open(struct fb_kv_engine **engine, const struct fb_kv_context *context)
{
	struct mpi_kv *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine mpi");
	}
	e->engine = (struct fb_kv_engine){&fb_kv_mpi, context};
	MPI_Comm_dup(context->world->comm, &e->comm);
	*engine = &e->engine;
	return FB_OK;
}

static void mpi_close(struct fb_kv_engine *engine)
{
	struct mpi_kv *e = (struct mpi_kv *)engine;

	MPI_Comm_free(&e->comm);
	free(e);
}

static const char *mpi_missing(const struct fb_kv_engine *engine)
{
	(void)engine;
	return NULL;
}

static bool mpi_can(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		    char reason[FB_REASON_CHARS])
{
	const struct fb_kv_shape *s = &job->plan.shape;
	const uint64_t most = INT32_MAX;
	bool fits = true;

	(void)engine;
	for (uint32_t p = 0; p < job->plan.pairs; p++)
		fits &= fb_kv_message(job, &job->plan.pair[p]) / fb_kv_row(s) <= most;
	/* A datatype's blocks are counted by int, its blocks' bytes as well. */
	if (job->mode == FB_KV_DATATYPE)
		fits &= fb_kv_region_bytes(s, FB_KV_PREFILL) <= most &&
			fb_kv_region_bytes(s, FB_KV_DECODE) <= most;
	if (!fits)
		snprintf(reason, FB_REASON_CHARS, "more than MPI's counts can say");
	return fits;
}

/* All runs of all regions of a side, as one element; to be sent from, or received in, region 0. */
static int describe_side(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
			 enum fb_kv_side side, MPI_Datatype *type)
{
	int *lengths = malloc(pair->runs * sizeof(*lengths));
	MPI_Aint *at = malloc(pair->runs * sizeof(*at));
	MPI_Datatype region;

	*type = MPI_DATATYPE_NULL;
	if (!lengths || !at) {
		free(lengths);
		free(at);
		return FB_ENOMEM;
	}
	for (uint32_t r = 0; r < pair->runs; r++) {
		const struct fb_kv_run *run = &pair->run[r];

		lengths[r] = (int)run->bytes;
		at[r] = (MPI_Aint)(side == FB_KV_PREFILL ? run->src : run->dst);
	}
	MPI_Type_create_hindexed((int)pair->runs, lengths, at, MPI_BYTE, &region);
	MPI_Type_create_hvector((int)fb_kv_regions(&job->plan.shape), 1,
				(MPI_Aint)fb_kv_region_bytes(&job->plan.shape, side), region, type);
	MPI_Type_commit(type);
	MPI_Type_free(&region);
	free(lengths);
	free(at);
	return FB_OK;
}

/* The pages themselves by one message, or the packed bytes of a step. */
static bool by_types(const struct fb_kv_job *job, unsigned phases)
{
	return job->mode == FB_KV_DATATYPE && phases == FB_KV_ALL;
}

static void post_receive(struct mpi_request *r, uint32_t p, unsigned phases, uint32_t step)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_pair *pair = &job->plan.pair[p];
	int from = fb_kv_sender(job, pair);
	MPI_Request *request = &r->in[p * job->steps + step];
	void *in = fb_kv_in(job, pair, step * job->step_regions);

	if (by_types(job, phases))
		MPI_Irecv(fb_kv_region_of(job, job->rank, FB_KV_DECODE, 0), 1, r->dst[p], from,
			  (int)step, r->engine->comm, request);
	else
		MPI_Irecv(in, (int)(fb_kv_message(job, pair) / fb_kv_row(&job->plan.shape)),
			  r->row, from, (int)step, r->engine->comm, request);
}

static void post_send(struct mpi_request *r, uint32_t p, unsigned phases, uint32_t step)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_pair *pair = &job->plan.pair[p];
	int to = fb_kv_receiver(job, pair);
	MPI_Request *request = &r->out[p * job->steps + step];
	const void *out = fb_kv_out(job, pair, step * job->step_regions);

	if (by_types(job, phases))
		MPI_Isend(fb_kv_region_of(job, job->rank, FB_KV_PREFILL, 0), 1, r->src[p], to,
			  (int)step, r->engine->comm, request);
	else
		MPI_Isend(out, (int)(fb_kv_message(job, pair) / fb_kv_row(&job->plan.shape)),
			  r->row, to, (int)step, r->engine->comm, request);
}

static void unpack_as_it_comes(struct mpi_request *r, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;
	uint32_t steps = job->steps > 1 ? job->steps : 1;
	int n = (int)(job->plan.pairs * steps), at;

	do {
		MPI_Waitany(n, r->in, &at, MPI_STATUS_IGNORE);
		if (at != MPI_UNDEFINED && (phases & FB_KV_SCATTER) && !by_types(job, phases))
			fb_kv_scatter(job, &job->plan.pair[(uint32_t)at / steps],
				      (uint32_t)at % steps);
	} while (at != MPI_UNDEFINED);
}

static void call_moving(struct mpi_request *r, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;

	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs; p++)
			if (fb_kv_receiver(job, &job->plan.pair[p]) == job->rank)
				post_receive(r, p, phases, step);
	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs; p++) {
			const struct fb_kv_pair *pair = &job->plan.pair[p];

			if (fb_kv_sender(job, pair) != job->rank)
				continue;
			if ((phases & FB_KV_GATHER) && !by_types(job, phases))
				fb_kv_gather(job, pair, step);
			post_send(r, p, phases, step);
		}
	unpack_as_it_comes(r, phases);
	MPI_Waitall((int)(job->plan.pairs * job->steps), r->out, r->status);
}

/* Packing or unpacking alone. */
static void call_local(const struct mpi_request *r, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;

	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs; p++) {
			const struct fb_kv_pair *pair = &job->plan.pair[p];

			if ((phases & FB_KV_GATHER) && fb_kv_sender(job, pair) == job->rank)
				fb_kv_gather(job, pair, step);
			if ((phases & FB_KV_SCATTER) && fb_kv_receiver(job, pair) == job->rank)
				fb_kv_scatter(job, pair, step);
		}
}

static int mpi_run(struct fb_kv_request *request, unsigned phases, int calls)
{
	struct mpi_request *r = (struct mpi_request *)request;

	for (int i = 0; i < calls; i++) {
		if (phases & FB_KV_MOVE)
			call_moving(r, phases);
		else
			call_local(r, phases);
	}
	return FB_OK;
}

static void free_request(struct mpi_request *r)
{
	for (uint32_t p = 0; p < r->request.job->plan.pairs && r->src && r->dst; p++) {
		if (r->src[p] != MPI_DATATYPE_NULL)
			MPI_Type_free(&r->src[p]);
		if (r->dst[p] != MPI_DATATYPE_NULL)
			MPI_Type_free(&r->dst[p]);
	}
	if (r->row != MPI_DATATYPE_NULL)
		MPI_Type_free(&r->row);
	free(r->src);
	free(r->dst);
	free(r->in);
	free(r->out);
	free(r->status);
	free(r);
}

static int fill_in(struct mpi_request *r)
{
	const struct fb_kv_job *job = r->request.job;
	uint32_t pairs = job->plan.pairs, n = pairs * job->steps;
	int err = FB_OK;

	r->src = malloc(pairs * sizeof(*r->src));
	r->dst = malloc(pairs * sizeof(*r->dst));
	r->in = malloc(n * sizeof(*r->in));
	r->out = malloc(n * sizeof(*r->out));
	r->status = malloc(n * sizeof(*r->status));
	for (uint32_t p = 0; p < pairs && r->src && r->dst; p++)
		r->src[p] = r->dst[p] = MPI_DATATYPE_NULL;
	if (!r->src || !r->dst || !r->in || !r->out || !r->status)
		return FB_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		r->in[i] = r->out[i] = MPI_REQUEST_NULL;
	MPI_Type_contiguous((int)fb_kv_row(&job->plan.shape), MPI_BYTE, &r->row);
	MPI_Type_commit(&r->row);
	for (uint32_t p = 0; p < pairs && job->mode == FB_KV_DATATYPE && !err; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];

		if (fb_kv_sender(job, pair) == job->rank)
			err = describe_side(job, pair, FB_KV_PREFILL, &r->src[p]);
		if (!err && fb_kv_receiver(job, pair) == job->rank)
			err = describe_side(job, pair, FB_KV_DECODE, &r->dst[p]);
	}
	return err;
}

static int mpi_prepare(struct fb_kv_engine *engine, const struct fb_kv_job *job,
		       struct fb_kv_request **request)
{
	const struct fb_group *w = engine->context->world;
	struct mpi_request *r = calloc(1, sizeof(*r));
	int err = fb_group_agree(w, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return err;
	}
	r->request = (struct fb_kv_request){engine, job};
	r->engine = (struct mpi_kv *)engine;
	r->row = MPI_DATATYPE_NULL;
	err = fb_group_agree(w, fill_in(r));
	if (err) {
		free_request(r);
		return err;
	}
	*request = &r->request;
	return FB_OK;
}

static void mpi_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	snprintf(traits->path, sizeof(traits->path), "%.120s",
		 request->engine->context->world->library);
}

static void mpi_release(struct fb_kv_request *request)
{
	MPI_Barrier(request->engine->context->world->comm);
	free_request((struct mpi_request *)request);
}

const struct fb_kv_engine_ops fb_kv_mpi = {
	.name = "mpi",
	.summary = "the MPI library's messages",
	.transport = "library",
	.modes = 1u << FB_KV_DATATYPE | 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE,
	.open = mpi_open,
	.close = mpi_close,
	.missing = mpi_missing,
	.can = mpi_can,
	.prepare = mpi_prepare,
	.run = mpi_run,
	.describe = mpi_describe,
	.release = mpi_release,
};
