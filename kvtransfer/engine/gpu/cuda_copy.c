/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine copy: the senders' copy engines push into the receivers' memory.
 *
 * direct      cudaMemcpyAsync for every run of every region
 * batch       all of them in one cudaMemcpyBatchAsync
 * strided     runs at an even distance, and all regions, as copies of two and three dimensions
 * pack        a gather kernel, a copy for each receiver, a scatter kernel
 * layerwise   the same layer by layer, on a stream each
 *
 * Ranks tell each other by stream memory operations on counters in GPU memory, which wait without
 * a processor or a multiprocessor: how many steps have come, and how many calls are unpacked. A
 * write is behind all that its stream did before, for whoever reads it on any GPU.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "kvtransfer/engine/gpu/cuda_batch.h"
#include "kvtransfer/engine/gpu/cuda_device.h"

/* More copies than that in a call are no way to move pages, and take minutes to measure. */
static const double most_copies = 1e6;

struct copy_kv {
	struct fb_kv_device base;
	struct fb_cuda_driver driver;
};

struct copy_request {
	struct fb_kv_device_request base;
	struct fb_kv_batch batch; /* mode batch */
};

static int copy_open(struct fb_kv_engine **engine, const struct fb_kv_engine_ops *ops,
		     const struct fb_kv_context *context)
{
	struct copy_kv *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine copy");
	}
	e->base.engine.ops = ops;
	err = fb_kv_device_open(&e->base, context);
	if (context->gpu && fb_group_agree(context->world, fb_cuda_driver_find(&e->driver)))
		snprintf(e->base.why, sizeof(e->base.why),
			 "the driver has no stream memory operations");
	*engine = &e->base.engine;
	return err;
}

static void copy_close(struct fb_kv_engine *engine)
{
	fb_kv_device_close((struct fb_kv_device *)engine);
	free(engine);
}

static bool copy_can(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		     char reason[FB_REASON_CHARS])
{
	const struct fb_kv_shape *s = &job->plan.shape;
	bool hnd = s->layout == FB_KV_HND;
	uint32_t most_tp = s->tp[0] > s->tp[1] ? s->tp[0] : s->tp[1];
	/* Of one sender, before neighbours are merged. */
	double runs = (double)(hnd || s->tp[0] == s->tp[1] ? fb_kv_blocks(s) : s->tokens) *
		      fb_kv_regions(s) * most_tp / s->tp[FB_KV_PREFILL];

	if (!fb_kv_device_can(engine, job, reason))
		return false;
	if ((job->mode == FB_KV_DIRECT || job->mode == FB_KV_BATCH) && runs > most_copies)
		snprintf(reason, FB_REASON_CHARS, "about %.2g copies in a call of a rank, more "
			 "than %.0g", runs, most_copies);
	else if (job->mode == FB_KV_BATCH && !fb_kv_has_batch())
		snprintf(reason, FB_REASON_CHARS, "built with CUDA before 12.8");
	else if (job->mode == FB_KV_STRIDED &&
		 (fb_kv_region_bytes(s, FB_KV_PREFILL) > INT32_MAX ||
		  fb_kv_region_bytes(s, FB_KV_DECODE) > INT32_MAX))
		snprintf(reason, FB_REASON_CHARS, "a region of more than 2 GiB");
	else
		return true;
	return false;
}

/* --- flags ------------------------------------------------------------------------------------ */

static int flag(const struct fb_kv_device_request *r, char *at, bool writes, uint64_t value,
		cudaStream_t stream)
{
	const struct fb_cuda_driver *driver = &((const struct copy_kv *)r->engine)->driver;
	CUdeviceptr address = (CUdeviceptr)(uintptr_t)at;
	CUstreamBatchMemOpParams op = {
		.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = address,
			      .value = (uint32_t)value, .flags = CU_STREAM_WAIT_VALUE_GEQ}};

	if (writes)
		op = (CUstreamBatchMemOpParams){
			.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
				       .address = address, .value = (uint32_t)value,
				       .flags = CU_STREAM_WRITE_VALUE_DEFAULT}};
	return fb_cuda_driver_error(driver, driver->StreamBatchMemOp(stream, 1, &op, 0),
				    "StreamBatchMemOp");
}

/* Says to a receiver that a step of this call has come, or waits for it. */
static int done(const struct fb_kv_device_request *r, const struct fb_kv_pair *pair, uint32_t step,
		bool writes, cudaStream_t stream)
{
	const struct fb_kv_job *job = r->request.job;
	char *at = fb_kv_done_flag(r->view.flags, fb_kv_receiver(job, pair),
				   fb_kv_sender(job, pair));

	return flag(r, at, writes, (r->calls - 1) * job->steps + step + 1, stream);
}

/* Says to a sender that a call is unpacked, or waits for that of the call before. */
static int freed(const struct fb_kv_device_request *r, const struct fb_kv_pair *pair, bool writes,
		 cudaStream_t stream)
{
	const struct fb_kv_job *job = r->request.job;
	char *at = fb_kv_free_flag(r->view.flags, job->nranks, fb_kv_sender(job, pair),
				   fb_kv_receiver(job, pair));

	return flag(r, at, writes, writes ? r->calls : r->calls - 1, stream);
}

static int await_step(struct fb_kv_device_request *r, uint32_t step, cudaStream_t stream)
{
	const struct fb_kv_job *job = r->request.job;
	int err = FB_OK;

	for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
		if (fb_kv_receiver(job, &job->plan.pair[p]) == job->rank)
			err = done(r, &job->plan.pair[p], step, false, stream);
	return err;
}

static int release_senders(struct fb_kv_device_request *r, cudaStream_t stream)
{
	const struct fb_kv_job *job = r->request.job;
	int err = FB_OK;

	for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
		if (fb_kv_receiver(job, &job->plan.pair[p]) == job->rank)
			err = freed(r, &job->plan.pair[p], true, stream);
	return err;
}

/* --- copies ----------------------------------------------------------------------------------- */

static int move_packed(struct fb_kv_device_request *r, uint32_t step, cudaStream_t stream)
{
	const struct fb_kv_job *job = r->request.job;
	uint32_t region = step * job->step_regions;
	int err = FB_OK;

	for (uint32_t p = 0; p < job->plan.pairs && !err; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];

		if (fb_kv_sender(job, pair) != job->rank)
			continue;
		if (step == 0)
			err = freed(r, pair, false, stream);
		if (!err)
			err = FB_CUDA(cudaMemcpyAsync(
				fb_kv_in(job, pair, region), fb_kv_out(job, pair, region),
				pair->region_bytes * job->step_regions, cudaMemcpyDefault,
				stream));
		if (!err)
			err = done(r, pair, step, true, stream);
	}
	return err;
}

static int copy_runs(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
		     cudaStream_t stream)
{
	int to_rank = fb_kv_receiver(job, pair), err = FB_OK;

	for (uint32_t region = 0; region < fb_kv_regions(&job->plan.shape); region++) {
		const char *from = fb_kv_region_of(job, job->rank, FB_KV_PREFILL, region);
		char *to = fb_kv_region_of(job, to_rank, FB_KV_DECODE, region);

		for (uint32_t i = 0; i < pair->runs && !err; i++)
			err = FB_CUDA(cudaMemcpyAsync(to + pair->run[i].dst,
						      from + pair->run[i].src, pair->run[i].bytes,
						      cudaMemcpyDefault, stream));
	}
	return err;
}

/* A strip in all regions at once: they are the second dimension, or the third one. */
static int copy_strip(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
		      const struct fb_kv_strip *strip, cudaStream_t stream)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	size_t from_stride = fb_kv_region_bytes(s, FB_KV_PREFILL);
	size_t to_stride = fb_kv_region_bytes(s, FB_KV_DECODE), regions = fb_kv_regions(s);
	char *from = fb_kv_region_of(job, job->rank, FB_KV_PREFILL, 0) + strip->src;
	char *to = fb_kv_region_of(job, fb_kv_receiver(job, pair), FB_KV_DECODE, 0) + strip->dst;
	struct cudaMemcpy3DParms box = {
		.srcPtr = {from, strip->src_pitch, strip->bytes, from_stride / strip->src_pitch},
		.dstPtr = {to, strip->dst_pitch, strip->bytes, to_stride / strip->dst_pitch},
		.extent = {strip->bytes, strip->rows, regions},
		.kind = cudaMemcpyDefault,
	};

	if (strip->rows == 1)
		return FB_CUDA(cudaMemcpy2DAsync(to, to_stride, from, from_stride, strip->bytes,
						 regions, cudaMemcpyDefault, stream));
	return FB_CUDA(cudaMemcpy3DAsync(&box, stream));
}

static int copy_strips(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
		       cudaStream_t stream)
{
	struct fb_kv_strip strip;
	int err = FB_OK;

	for (uint32_t i = 0; i < pair->runs && !err; i += strip.rows) {
		fb_kv_strip_at(job, pair, i, &strip);
		err = copy_strip(job, pair, &strip, stream);
	}
	return err;
}

static int copy_pair(const struct copy_request *c, const struct fb_kv_pair *pair,
		     cudaStream_t stream)
{
	const struct fb_kv_job *job = c->base.request.job;

	if (job->mode == FB_KV_BATCH)
		return FB_OK; /* of all pairs at once */
	return job->mode == FB_KV_STRIDED ? copy_strips(job, pair, stream)
					  : copy_runs(job, pair, stream);
}

/*
 * Outside of timing, and without telling anybody: what a driver does not do between these two
 * memories costs the rows of this mode, not the job.
 */
static int try_copies(const struct copy_request *c)
{
	const struct fb_kv_job *job = c->base.request.job;
	cudaStream_t stream = NULL;
	int err = FB_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

	if (!err && job->mode == FB_KV_BATCH)
		err = fb_kv_batch_enqueue(&c->batch, stream);
	for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
		if (fb_kv_sender(job, &job->plan.pair[p]) == job->rank)
			err = copy_pair(c, &job->plan.pair[p], stream);
	if (!err)
		err = FB_CUDA(cudaStreamSynchronize(stream));
	if (stream)
		(void)cudaStreamDestroy(stream);
	(void)cudaGetLastError();
	return err ? FB_EUNSUPPORTED : FB_OK;
}

/* All own pairs' pages to their places. */
static int enqueue_pages(struct copy_request *c, cudaStream_t stream)
{
	struct fb_kv_device_request *r = &c->base;
	const struct fb_kv_job *job = r->request.job;
	int err = FB_OK;

	r->calls++;
	if (job->mode == FB_KV_BATCH)
		err = fb_kv_batch_enqueue(&c->batch, stream);
	for (uint32_t p = 0; p < job->plan.pairs && !err; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];

		if (fb_kv_sender(job, pair) != job->rank)
			continue;
		err = copy_pair(c, pair, stream);
		if (!err)
			err = done(r, pair, 0, true, stream);
	}
	if (!err)
		err = await_step(r, 0, stream);
	return err ? err : release_senders(r, stream);
}

static int enqueue(void *request, void *stream)
{
	static const struct fb_kv_mover mover = {move_packed, await_step, release_senders};
	struct copy_request *c = request;
	enum fb_kv_mode mode = c->base.request.job->mode;

	if (c->base.phases == FB_KV_ALL && mode != FB_KV_PACK && mode != FB_KV_LAYERWISE)
		return enqueue_pages(c, stream);
	return fb_kv_staged_enqueue(&c->base, &mover, stream);
}

static void copy_release(struct fb_kv_request *request)
{
	struct copy_request *c = (struct copy_request *)request;

	fb_kv_device_end(&c->base);
	fb_kv_batch_close(&c->batch);
	free(c);
}

static int copy_prepare(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			struct fb_kv_request **request)
{
	struct copy_request *c = calloc(1, sizeof(*c));
	int err = fb_group_agree(engine->context->world, c ? FB_OK : FB_ENOMEM);

	if (err || !c) {
		free(c);
		return err;
	}
	err = fb_kv_device_prepare(&c->base, (struct fb_kv_device *)engine, job, enqueue);
	if (!err && job->mode == FB_KV_BATCH)
		err = fb_group_agree(engine->context->world, fb_kv_batch_open(&c->batch, job));
	if (!err && (job->mode == FB_KV_BATCH || job->mode == FB_KV_STRIDED))
		err = fb_group_agree(engine->context->world, try_copies(c));
	if (err) {
		copy_release(&c->base.request);
		return err;
	}
	*request = &c->base.request;
	return FB_OK;
}

static void copy_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	fb_kv_device_path((const struct fb_kv_device_request *)request, "copy engine", traits);
	traits->channels = 1;
}

const struct fb_kv_engine_ops fb_kv_copy = {
	.name = "copy",
	.summary = "the GPUs' copy engines, and kernels that pack",
	.transport = "p2p",
	.device = true,
	.modes = 1u << FB_KV_DIRECT | 1u << FB_KV_BATCH | 1u << FB_KV_STRIDED | 1u << FB_KV_PACK |
		 1u << FB_KV_LAYERWISE,
	.open = copy_open,
	.close = copy_close,
	.missing = fb_kv_device_missing,
	.can = copy_can,
	.prepare = copy_prepare,
	.run = fb_kv_device_run,
	.describe = copy_describe,
	.release = copy_release,
};
