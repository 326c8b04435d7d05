/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover copy: the GPUs' copy engines, with the pieces of a transfer as
 *
 * loop     cudaMemcpyAsync for each
 * strided  copies of two and three dimensions where pieces are at even distances; repeats are one
 *          dimension
 * batch    all of a move in one cudaMemcpyBatchAsync (CUDA 12.8; its arguments changed with 13)
 * graph    a graph of copies, made by prepare()
 *
 * Notices are stream memory operations on counters in GPU memory, which are written, and waited
 * for, without a processor or a multiprocessor. A write is behind all that its stream did before,
 * for whoever reads it on any GPU.
 */
#include <stdlib.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/mover/gpu/device.h"

enum form { LOOP, STRIDED, BATCH, GRAPH };

enum { MOST_OPERATIONS = 32 };

struct copy_move {
	struct fb_gpu_move move;
	enum form form;
	const void **from; /* batch: [count] */
	void **to;
	size_t *bytes, count;
	cudaGraphExec_t graph;
};

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

/* Counters are 32 bits; what has come since the last look is less than half of that. */
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

struct ends {
	const char *from;
	char *to;
};

/* Where offsets of the two sides, without local_at and remote_at, lie. */
static struct ends ends_of(const struct fb_transfer *t, int rank, uint64_t local, uint64_t remote)
{
	char *here = fb_transfer_local(t, rank) + t->local_at + local;
	char *there = fb_segment_part(t->remote->segment, t->peer) + t->remote_at + remote;

	return t->verb == FB_MOVE_GET ? (struct ends){there, here} : (struct ends){here, there};
}

static int copy_pieces(const struct fb_transfer *t, int rank, cudaStream_t stream)
{
	struct fb_walk walk = {.transfer = t};
	uint64_t local, remote, bytes;
	int err = FB_OK;

	while (!err && (bytes = fb_walk_next(&walk, UINT64_MAX, &local, &remote))) {
		struct ends e = ends_of(t, rank, local - t->local_at, remote - t->remote_at);

		err = FB_CUDA(cudaMemcpyAsync(e.to, e.from, bytes, cudaMemcpyDefault, stream));
	}
	return err;
}

/* A strip in all repeats at once: they are the second dimension, or the third one. */
static int copy_strip(const struct fb_transfer *t, const struct fb_move_strip *s, int rank,
		      cudaStream_t stream)
{
	bool gets = t->verb == FB_MOVE_GET;
	struct ends e = ends_of(t, rank, s->local, s->remote);
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

/* Whether repeats can be a dimension of a copy: its lines do not overlap, nor lie too far apart. */
static bool has_lines(const struct fb_transfer *t, uint64_t step)
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < t->pieces; i++)
		most = t->piece[i].bytes > most ? t->piece[i].bytes : most;
	return t->repeats <= 1 || (step >= most && step <= INT32_MAX);
}

static int copy_strips(const struct fb_transfer *t, int rank, cudaStream_t stream)
{
	struct fb_move_strip strip;
	int err = FB_OK;

	if (!has_lines(t, t->local_step) || !has_lines(t, t->remote_step))
		return copy_pieces(t, rank, stream);
	for (uint64_t i = 0; i < t->pieces && !err; i += strip.rows) {
		fb_move_strip_at(t, i, &strip);
		if (strip.bytes)
			err = copy_strip(t, &strip, rank, stream);
	}
	return err;
}

static int copy_transfer(const struct copy_move *c, const struct fb_transfer *t,
			 cudaStream_t stream)
{
	int rank = c->move.move.mover->group->rank;

	return c->form == STRIDED ? copy_strips(t, rank, stream) : copy_pieces(t, rank, stream);
}

#if CUDART_VERSION >= 12080
static int copy_batch(const struct copy_move *c, cudaStream_t stream)
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
static int copy_batch(const struct copy_move *c, cudaStream_t stream)
{
	(void)c;
	(void)stream;
	return FB_EUNSUPPORTED;
}
#endif

int fb_copy_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait, int n,
		    struct fb_move *move, void *stream)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;
	const struct copy_move *c = (const struct copy_move *)move;
	int err = await_all(m, wait, n, stream);

	if (!err && c && c->form == BATCH)
		err = copy_batch(c, stream);
	if (!err && c && c->graph)
		err = FB_CUDA(cudaGraphLaunch(c->graph, stream));
	for (uint32_t i = 0; c && i < move->transfers && !err; i++) {
		if (c->form == LOOP || c->form == STRIDED)
			err = copy_transfer(c, &move->transfer[i], stream);
		if (!err)
			err = tell(m, &move->transfer[i], stream);
	}
	return err;
}

/* --- preparing -------------------------------------------------------------------------------- */

void fb_copy_release(struct fb_move *move)
{
	struct copy_move *c = (struct copy_move *)move;

	if (c->graph)
		(void)cudaGraphExecDestroy(c->graph);
	free((void *)c->from);
	free((void *)c->to);
	free(c->bytes);
	fb_gpu_move_free(move);
}

static int make_batch(struct copy_move *c)
{
	const struct fb_move *move = &c->move.move;
	size_t n = 1;

	for (uint32_t i = 0; i < move->transfers; i++)
		n += move->transfer[i].pieces *
		     (move->transfer[i].repeats ? move->transfer[i].repeats : 1);
	c->from = calloc(n, sizeof(*c->from));
	c->to = calloc(n, sizeof(*c->to));
	c->bytes = calloc(n, sizeof(*c->bytes));
	if (!c->from || !c->to || !c->bytes)
		return fb_error(FB_ENOMEM, "out of memory for %zu copies", n);
	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_walk walk = {.transfer = t};
		uint64_t local, remote, bytes;

		while ((bytes = fb_walk_next(&walk, UINT64_MAX, &local, &remote))) {
			struct ends e = ends_of(t, move->mover->group->rank,
						local - t->local_at, remote - t->remote_at);

			c->from[c->count] = e.from;
			c->to[c->count] = e.to;
			c->bytes[c->count++] = bytes;
		}
	}
	return FB_OK;
}

/* Copies alone: what notices count up to is another number in each post. */
static int make_graph(struct copy_move *c)
{
	const struct fb_move *move = &c->move.move;
	cudaStream_t stream = ((const struct fb_gpu_mover *)move->mover)->look;
	cudaGraph_t graph = NULL;
	uint64_t bytes = 0;
	int err, other;

	for (uint32_t i = 0; i < move->transfers; i++)
		bytes += fb_transfer_bytes(&move->transfer[i]);
	if (!bytes)
		return FB_OK;
	err = FB_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	if (err)
		return err;
	for (uint32_t i = 0; i < move->transfers && !err; i++)
		err = copy_transfer(c, &move->transfer[i], stream);
	other = FB_CUDA(cudaStreamEndCapture(stream, &graph));
	err = err ? err : other;
	if (!err)
		err = FB_CUDA(cudaGraphInstantiate(&c->graph, graph, 0));
	if (graph)
		(void)cudaGraphDestroy(graph);
	return err;
}

int fb_copy_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		    struct fb_move **move)
{
	int err = fb_gpu_move_new(mover, given, sizeof(struct copy_move), move);
	struct copy_move *c;

	if (err)
		return err;
	c = (struct copy_move *)*move;
	c->form = (enum form)fb_mover_form(mover->ops, form);
	if (c->form == BATCH)
		err = CUDART_VERSION >= 12080 ? make_batch(c) : FB_EUNSUPPORTED;
	if (c->form == GRAPH)
		err = make_graph(c);
	if (err)
		fb_copy_release(*move);
	return err;
}
