/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover copy: the GPUs' copy engines, with the pieces of a transfer as
 *
 * auto     strided, where that needs several times fewer copies than there are runs of neighbours;
 *          else batch, where the driver has it and no graph is captured; else a copy for each run
 * loop     cudaMemcpyAsync for each run of neighbours
 * strided  copies of two and three dimensions where pieces are at equal distances; repeats are one
 *          dimension
 * batch    all of a move in one cudaMemcpyBatchAsync (CUDA 12.8; its arguments changed with 13)
 * graph    a graph of copies, made by prepare()
 *
 * Notices are counters in GPU memory, which stream memory operations write and wait for, without
 * work for the processor or a multiprocessor. A GPU that sees the write also sees everything that
 * the writing stream did before.
 */
#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/mover/gpu/copy.h"

enum { MOST_OPERATIONS = 32 };

/* --- notices ---------------------------------------------------------------------------------- */

static CUstreamBatchMemOpParams operation(const struct fb_gpu_mover *m, int reader, int writer,
					  int notice, bool writes, uint64_t value)
{
	CUdeviceptr address = fb_move_counters(&m->flags, reader, writer, notice);

	if (writes)
		return (CUstreamBatchMemOpParams){
			.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
				       .address = address, .value = (uint32_t)value,
				       .flags = CU_STREAM_WRITE_VALUE_DEFAULT}};
	return (CUstreamBatchMemOpParams){
		.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = address,
			      .value = (uint32_t)value, .flags = CU_STREAM_WAIT_VALUE_GEQ}};
}

static int operate(const struct fb_gpu_mover *m, CUstreamBatchMemOpParams *op, unsigned n,
		   cudaStream_t stream)
{
	return fb_cuda_driver_error(m->driver, m->driver->StreamBatchMemOp(stream, n, op, 0),
				    "StreamBatchMemOp");
}

static int await_all(const struct fb_gpu_mover *m, const struct fb_wait *wait, int n,
		     cudaStream_t stream)
{
	CUstreamBatchMemOpParams op[MOST_OPERATIONS];
	int rank = m->mover.group->rank, err = FB_OK;
	unsigned k = 0;

	for (int i = 0; i < n && !err; i++) {
		op[k++] = operation(m, rank, wait[i].from, wait[i].notice, false, wait[i].count);
		if (k < MOST_OPERATIONS && i + 1 < n)
			continue;
		err = operate(m, op, k, stream);
		k = 0;
	}
	return err;
}

static int tell(struct fb_gpu_mover *m, const struct fb_transfer *t, cudaStream_t stream)
{
	CUstreamBatchMemOpParams op;

	if (!t->notice)
		return FB_OK;
	op = operation(m, t->peer, m->mover.group->rank, t->notice, true,
		       ++m->mover.counts[t->peer][t->notice]);
	return operate(m, &op, 1, stream);
}

/* Counters have 32 bits, and fewer than 2^31 notices come between two calls. */
int fb_copy_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;
	int err = fb_gpu_look(m, from, notice, sizeof(uint32_t));
	uint64_t *last = &m->last[from][notice];

	if (!err)
		*last += (uint32_t)*m->seen - (uint32_t)*last;
	*count = *last;
	return err;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* Copies each run of neighbours or, with `apart`, each piece. */
static int copy_pieces(const struct fb_transfer *t, int rank, bool apart, cudaStream_t stream)
{
	struct fb_runs runs = {.walk = {.transfer = t}};
	uint64_t local, remote, bytes;
	int err = FB_OK;

	while (!err && (bytes = apart ? fb_walk_next(&runs.walk, UINT64_MAX, &local, &remote)
				      : fb_runs_next(&runs, &local, &remote))) {
		struct fb_copy_ends e = fb_copy_ends_of(t, rank, local - t->local_at,
							remote - t->remote_at);

		err = FB_CUDA(cudaMemcpyAsync(e.to, e.from, bytes, cudaMemcpyDefault, stream));
	}
	return err;
}

/* Copies a strip in all repeats at once: repeats are the second or the third dimension. */
static int copy_strip(const struct fb_transfer *t, const struct fb_move_strip *s, int rank,
		      cudaStream_t stream)
{
	bool gets = t->verb == FB_MOVE_GET;
	struct fb_copy_ends e = fb_copy_ends_of(t, rank, s->local, s->remote);
	size_t repeats = t->repeats ? t->repeats : 1;
	size_t from_step = gets ? t->remote_step : t->local_step;
	size_t to_step = gets ? t->local_step : t->remote_step;
	size_t from_pitch = gets ? s->remote_pitch : s->local_pitch;
	size_t to_pitch = gets ? s->local_pitch : s->remote_pitch;
	union {
		const char *read;
		char *any;
	} from = {.read = e.from};
	struct cudaMemcpy3DParms box = {
		.srcPtr = {from.any, from_pitch, s->bytes, from_step / from_pitch},
		.dstPtr = {e.to, to_pitch, s->bytes, to_step / to_pitch},
		.extent = {s->bytes, s->rows, repeats},
		.kind = cudaMemcpyDefault,
	};

	if (s->rows > 1 && repeats > 1)
		return FB_CUDA(cudaMemcpy3DAsync(&box, stream));
	if (repeats == 1 && s->rows == 1)
		return FB_CUDA(cudaMemcpyAsync(e.to, e.from, s->bytes, cudaMemcpyDefault, stream));
	return FB_CUDA(cudaMemcpy2DAsync(e.to, s->rows > 1 ? to_pitch : to_step, e.from,
					 s->rows > 1 ? from_pitch : from_step, s->bytes,
					 s->rows > 1 ? s->rows : repeats, cudaMemcpyDefault,
					 stream));
}

static int copy_strips(const struct fb_copy_move *c, cudaStream_t stream)
{
	int rank = c->move.move.mover->group->rank, err = FB_OK;

	for (size_t i = 0; i < c->count && !err; i++) {
		const struct fb_copy_strip *s = &c->strip[i];

		err = s->strip.rows ? copy_strip(s->transfer, &s->strip, rank, stream)
				    : copy_pieces(s->transfer, rank, false, stream);
	}
	return err;
}

#if CUDART_VERSION >= 12080
static int copy_batch(const struct fb_copy_move *c, cudaStream_t stream)
{
	struct cudaMemcpyAttributes how = {
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
		.flags = cudaMemcpyFlagPreferOverlapWithCompute,
	};
	size_t first = 0;
#if CUDART_VERSION < 13000
	size_t failed;
#endif

	if (!c->count)
		return FB_OK;
#if CUDART_VERSION >= 13000
	return FB_CUDA(cudaMemcpyBatchAsync((void *const *)c->to, c->from, c->bytes, c->count,
					    &how, &first, 1, stream));
#else
	return FB_CUDA(cudaMemcpyBatchAsync(c->to, (void **)(uintptr_t)c->from, c->bytes, c->count,
					    &how, &first, 1, &failed, stream));
#endif
}
#else
static int copy_batch(const struct fb_copy_move *c, cudaStream_t stream)
{
	(void)c;
	(void)stream;
	return FB_EUNSUPPORTED;
}
#endif

/* A graph is made of a batch's copies one by one: a capture refuses the batch itself. */
static int copy_listed(const struct fb_copy_move *c, cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	int err = c->chosen ? FB_CUDA(cudaStreamIsCapturing(stream, &status)) : FB_OK;

	if (!err && status == cudaStreamCaptureStatusNone)
		return copy_batch(c, stream);
	for (size_t i = 0; i < c->count && !err; i++)
		err = FB_CUDA(cudaMemcpyAsync(c->to[i], c->from[i], c->bytes[i], cudaMemcpyDefault,
					      stream));
	return err;
}

int fb_copy_all(const struct fb_copy_move *c, cudaStream_t stream)
{
	const struct fb_move *move = &c->move.move;
	int err = FB_OK;

	if (c->form == FB_COPY_STRIDED)
		return copy_strips(c, stream);
	if (c->form == FB_COPY_BATCH)
		return copy_listed(c, stream);
	if (c->form == FB_COPY_GRAPH && c->graph)
		return FB_CUDA(cudaGraphLaunch(c->graph, stream));
	for (uint32_t i = 0; i < move->transfers && !err; i++)
		err = copy_pieces(&move->transfer[i], move->mover->group->rank, true, stream);
	return err;
}

int fb_copy_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait, int n,
		    struct fb_move *move, void *stream)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;
	int err = await_all(m, wait, n, stream);

	if (!err && move)
		err = fb_copy_all((const struct fb_copy_move *)move, stream);
	for (uint32_t i = 0; move && i < move->transfers && !err; i++)
		err = tell(m, &move->transfer[i], stream);
	return err;
}
