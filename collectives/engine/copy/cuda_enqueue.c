/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes a rank's list: copies by the copy engines, flags by stream memory operations.
 *
 * Neighbouring flags of a stream go as one cuStreamBatchMemOp, which does them in order. Its writes
 * are without CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, so that each is behind all that the stream
 * did before, for whoever reads it on any GPU. cudaMemcpyBatchAsync changed its arguments in CUDA
 * 13; the runtime is linked in, so the header's version says which it is. It cannot be captured, so
 * graphs hold single copies.
 */
#include <stdlib.h>

#include "collectives/engine/copy/cuda_copy.h"
#include "collectives/engine/cuda/cuda_kernels.h"
#include "common/cuda/cuda_error.h"

enum {
	FLAG_BYTES = 128,
	MOST_MEMORY_OPS = 64,
	BATCH_VERSION = 12080,
	SUM_BYTES = 32 << 10, /* worth a block of the kernel */
	SUM_BLOCKS = 64,      /* half of an H200's: sums are faster than links by then */
	SUM_THREADS = 512,
};

bool fb_copy_has_batch(const struct copy_engine *e)
{
	return CUDART_VERSION >= BATCH_VERSION && e->driver_version >= BATCH_VERSION;
}

static int make_stream(struct copy_request *r, int i)
{
	int err = FB_OK;

	if (i)
		err = FB_CUDA(cudaStreamCreateWithFlags(&r->streams[i], cudaStreamNonBlocking));
	return err ? err
		   : FB_CUDA(cudaEventCreateWithFlags(&r->events[i], cudaEventDisableTiming));
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
	for (int i = 0; i <= r->list.streams && !err; i++)
		err = make_stream(r, i);
	return err;
}

void fb_copy_streams_close(struct copy_request *r)
{
	for (int i = 0; i <= FB_COPY_MOST_STREAMS; i++) {
		if (i && r->streams[i])
			(void)cudaStreamDestroy(r->streams[i]);
		if (r->events[i])
			(void)cudaEventDestroy(r->events[i]);
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
		return FB_CUDA(cudaMemcpyAsync(fb_copy_destination(r->op, r->scratch_of, op),
					       fb_copy_source(r->op, r->scratch_of, op), op->bytes,
					       cudaMemcpyDefault, stream));
	for (; i < n && op[i].kind == FB_COPY_MOVE && op[i].stream == op[0].stream; i++) {
		r->sources[i] = fb_copy_source(r->op, r->scratch_of, &op[i]);
		r->destinations[i] = fb_copy_destination(r->op, r->scratch_of, &op[i]);
		r->sizes[i] = op[i].bytes;
	}
	*used = i;
	return copy_batch(r, i, stream);
}

static int after(const struct copy_request *r, const struct fb_copy_op *op)
{
	int err = FB_CUDA(cudaEventRecord(r->events[op->after], r->streams[op->after]));

	return err ? err
		   : FB_CUDA(cudaStreamWaitEvent(r->streams[op->stream], r->events[op->after], 0));
}

static int sum(const struct copy_request *r, const struct fb_copy_op *op)
{
	const struct copy_engine *e = r->engine;
	int ranks = e->group->nranks, n = fb_copy_summands(op, ranks);
	bool whole = !op->chained || op->to_area == FB_COPY_OUT;
	uint64_t blocks = e->settings->channels ? e->settings->channels
						: (op->bytes + SUM_BYTES - 1) / SUM_BYTES, all;
	struct fb_gpu_sum s = {
		.to = (uint64_t)(uintptr_t)fb_copy_destination(r->op, r->scratch_of, op),
		.bytes = op->bytes, .nsrc = (uint32_t)n, .nranks = (uint32_t)ranks,
		.op = (uint32_t)r->op->redop,
		.flags = whole && r->op->redop == FB_AVG ? FB_GPU_FINISH : 0,
	};
	void *args[] = {&s};

	all = s.to;
	for (int k = 0; k < n; k++) {
		s.from[k] = (uint64_t)(uintptr_t)fb_copy_summand(r->op, r->scratch_of, op,
								      ranks, k);
		all |= s.from[k];
	}
	if (all % 16 == 0)
		s.flags |= FB_GPU_ALIGNED;
	if (e->settings->accumulate == FB_ACCUMULATE_F32 && fb_is_narrow_float(r->op->datatype))
		s.flags |= FB_GPU_WIDE;
	if (!e->settings->channels && blocks > SUM_BLOCKS)
		blocks = SUM_BLOCKS;
	return FB_CUDA(cudaLaunchKernel(r->sum, (dim3){(unsigned)blocks, 1, 1},
					(dim3){SUM_THREADS, 1, 1}, args, 0,
					r->streams[op->stream]));
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
		if (op->kind == FB_COPY_AFTER)
			err = after(r, op);
		else if (op->kind == FB_COPY_SUM)
			err = sum(r, op);
		else if (op->kind == FB_COPY_MOVE)
			err = moves(r, op, l->count - i, &used);
		else
			err = flags(r, op, l->count - i, &used);
	}
	return err;
}
