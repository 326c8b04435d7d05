/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes a rank's list: copies by the copy engines, flags by stream memory operations.
 *
 * Neighbouring flags of a stream go as one cuStreamBatchMemOp, which does them in order. Its
 * writes are without CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, so that each is behind all that the
 * stream did before, for whoever reads it on any GPU. cudaMemcpyBatchAsync changed its arguments
 * in CUDA 13; the runtime is linked in, so the header tells which it is. It cannot be captured,
 * so graphs hold single copies.
 */
#include <stdlib.h>

#include "collectives/engine/copy/cuda_copy.h"
#include "common/cuda/cuda_error.h"

enum { FLAG_BYTES = 128, MOST_MEMORY_OPS = 64, BATCH_VERSION = 12080 };

bool fb_copy_has_batch(const struct copy_engine *e)
{
	return CUDART_VERSION >= BATCH_VERSION && e->driver_version >= BATCH_VERSION;
}

static int make_stream(struct copy_request *r, int i)
{
	int err = FB_CUDA(cudaStreamCreateWithFlags(&r->streams[i], cudaStreamNonBlocking));

	if (!err)
		err = FB_CUDA(cudaEventCreateWithFlags(&r->forks[i], cudaEventDisableTiming));
	return err ? err : FB_CUDA(cudaEventCreateWithFlags(&r->joins[i], cudaEventDisableTiming));
}

int fb_copy_streams_open(struct copy_request *r)
{
	size_t n = r->list.count ? r->list.count : 1;
	int err = FB_OK;

	r->sources = calloc(n, sizeof(*r->sources));
	r->destinations = calloc(n, sizeof(*r->destinations));
	r->sizes = calloc(n, sizeof(*r->sizes));
	if (!r->sources || !r->destinations || !r->sizes)
		return fb_error(FB_ENOMEM, "out of memory for a batch of copies");
	for (int i = 1; i <= r->list.streams && !err; i++)
		err = make_stream(r, i);
	return err;
}

void fb_copy_streams_close(struct copy_request *r)
{
	for (int i = 1; i <= FB_COPY_MOST_STREAMS; i++) {
		if (r->streams[i])
			(void)cudaStreamDestroy(r->streams[i]);
		if (r->forks[i])
			(void)cudaEventDestroy(r->forks[i]);
		if (r->joins[i])
			(void)cudaEventDestroy(r->joins[i]);
	}
	free(r->sources);
	free(r->destinations);
	free(r->sizes);
}

static CUdeviceptr address_of(const struct copy_request *r, const struct fb_copy_op *op)
{
	const char *part = fb_segment_part(&r->engine->flags, op->peer);

	return (CUdeviceptr)(uintptr_t)(part + (size_t)op->flag * FLAG_BYTES);
}

static CUstreamBatchMemOpParams write_flag(CUdeviceptr at, uint32_t value)
{
	return (CUstreamBatchMemOpParams){.writeValue = {
		.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at, .value = value,
		.flags = CU_STREAM_WRITE_VALUE_DEFAULT,
	}};
}

static CUstreamBatchMemOpParams wait_flag(CUdeviceptr at)
{
	return (CUstreamBatchMemOpParams){.waitValue = {
		.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = at, .value = 1,
		.flags = CU_STREAM_WAIT_VALUE_EQ,
	}};
}

/* Flags from op[0] on that are the same stream's; *used of them. */
static int flags(const struct copy_request *r, const struct fb_copy_op *op, size_t n,
		 size_t *used)
{
	CUstreamBatchMemOpParams params[MOST_MEMORY_OPS];
	unsigned count = 0;
	size_t i = 0;

	for (; i < n && op[i].stream == op[0].stream && count + 2 <= MOST_MEMORY_OPS; i++) {
		CUdeviceptr at = address_of(r, &op[i]);

		if (op[i].kind == FB_COPY_SIGNAL) {
			params[count++] = write_flag(at, 1);
		} else if (op[i].kind == FB_COPY_AWAIT) {
			params[count++] = wait_flag(at);
			params[count++] = write_flag(at, 0);
		} else {
			break;
		}
	}
	*used = i;
	return fb_cuda_driver_error(&r->engine->driver,
				    r->engine->driver.StreamBatchMemOp(r->streams[op->stream],
								       count, params, 0),
				    "StreamBatchMemOp");
}

#if CUDART_VERSION >= 12080
static int copy_batch(const struct copy_request *r, size_t count, cudaStream_t stream)
{
	struct cudaMemcpyAttributes how = {
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
		.flags = cudaMemcpyFlagPreferOverlapWithCompute,
	};
	size_t first = 0;
#if CUDART_VERSION >= 13000
	return FB_CUDA(cudaMemcpyBatchAsync((void *const *)r->destinations,
					    (const void *const *)r->sources, r->sizes, count,
					    &how, &first, 1, stream));
#else
	size_t failed;

	return FB_CUDA(cudaMemcpyBatchAsync(r->destinations, (void **)r->sources, r->sizes,
					    count, &how, &first, 1, &failed, stream));
#endif
}
#else
static int copy_batch(const struct copy_request *r, size_t count, cudaStream_t stream)
{
	(void)r;
	(void)count;
	(void)stream;
	return FB_EUNSUPPORTED;
}
#endif

/* Copies from op[0] on that are the same stream's; *used of them. */
static int moves(const struct copy_request *r, const struct fb_copy_op *op, size_t n,
		 size_t *used)
{
	cudaStream_t stream = r->streams[op->stream];
	size_t i = 0;

	*used = 1;
	if (!r->batch)
		return FB_CUDA(cudaMemcpyAsync(fb_copy_destination(r->op, op),
					       fb_copy_source(r->op, op), op->bytes,
					       cudaMemcpyDefault, stream));
	for (; i < n && op[i].kind == FB_COPY_MOVE && op[i].stream == op[0].stream; i++) {
		r->sources[i] = fb_copy_source(r->op, &op[i]);
		r->destinations[i] = fb_copy_destination(r->op, &op[i]);
		r->sizes[i] = op[i].bytes;
	}
	*used = i;
	return copy_batch(r, i, stream);
}

static int after(cudaEvent_t event, cudaStream_t first, cudaStream_t then)
{
	int err = FB_CUDA(cudaEventRecord(event, first));

	return err ? err : FB_CUDA(cudaStreamWaitEvent(then, event, 0));
}

int fb_copy_enqueue(void *request, void *stream)
{
	struct copy_request *r = request;
	const struct fb_copy_list *l = &r->list;
	int err = FB_OK;
	size_t used;

	r->streams[0] = stream;
	for (size_t i = 0; i < l->count && !err; i += used) {
		const struct fb_copy_op *op = &l->op[i];

		used = 1;
		if (op->kind == FB_COPY_FORK)
			err = after(r->forks[op->stream], stream, r->streams[op->stream]);
		else if (op->kind == FB_COPY_JOIN)
			err = after(r->joins[op->stream], r->streams[op->stream], stream);
		else if (op->kind == FB_COPY_MOVE)
			err = moves(r, op, l->count - i, &used);
		else
			err = flags(r, op, l->count - i, &used);
	}
	return err;
}
