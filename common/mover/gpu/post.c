/* SPDX-License-Identifier: BSD-3-Clause */
/* Posted moves of the movers between GPUs, and how the host reads counters; see device.h. */
#include "common/cuda/cuda_error.h"
#include "common/mover/gpu/device.h"

/* The peer of all transfers of the move; -1: it has several, or none. */
static int only_peer(const struct fb_move *move)
{
	int peer = move->transfers ? move->transfer[0].peer : -1;

	for (uint32_t i = 1; i < move->transfers; i++)
		if (move->transfer[i].peer != peer)
			return -1;
	return peer;
}

/* Later work of stream `later` waits for all work that `earlier` has now. */
static int put_behind(cudaStream_t later, cudaStream_t earlier, cudaEvent_t order)
{
	int err = FB_CUDA(cudaEventRecord(order, earlier));

	return err ? err : FB_CUDA(cudaStreamWaitEvent(later, order, 0));
}

/* Opens the peer's stream at its first move alone; earlier moves had several peers. */
static int open_peer_stream(struct fb_gpu_peer *peer, cudaStream_t of_several)
{
	struct fb_gpu_peer opened = *peer;
	int err = FB_CUDA(cudaStreamCreateWithFlags(&opened.stream, cudaStreamNonBlocking));

	if (err)
		return err;
	err = FB_CUDA(cudaEventCreateWithFlags(&opened.order, cudaEventDisableTiming));
	if (!err) {
		err = put_behind(opened.stream, of_several, opened.order);
		if (err)
			(void)cudaEventDestroy(opened.order);
	}
	if (err)
		(void)cudaStreamDestroy(opened.stream);
	else
		*peer = opened;
	return err;
}

int fb_gpu_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		    struct fb_move **move)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;
	int err = fb_move_new(mover, given, bytes, move), peer;

	if (err)
		return err;
	peer = only_peer(given);
	if (peer >= 0 && !m->peer[peer].stream && mover->ops->post == fb_gpu_move_post)
		err = open_peer_stream(&m->peer[peer], m->stream);
	if (!err)
		err = FB_CUDA(cudaEventCreateWithFlags(&((struct fb_gpu_move *)*move)->posted,
						       cudaEventDisableTiming));
	if (err)
		fb_move_free(*move);
	return err;
}

void fb_gpu_move_free(struct fb_move *move)
{
	(void)cudaEventDestroy(((struct fb_gpu_move *)move)->posted);
	fb_move_free(move);
}

/*
 * Notices of a peer are counted in the order of posting, so a move with several peers waits for the
 * earlier work on these peers' streams, and their later work waits for the move.
 */
int fb_gpu_move_post(struct fb_move *move)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)move->mover;
	cudaEvent_t posted = ((struct fb_gpu_move *)move)->posted;
	int only = only_peer(move), err = FB_OK;
	cudaStream_t stream = only >= 0 ? m->peer[only].stream : m->stream;

	for (uint32_t i = 0; only < 0 && i < move->transfers && !err; i++) {
		const struct fb_gpu_peer *peer = &m->peer[move->transfer[i].peer];

		if (peer->stream)
			err = put_behind(stream, peer->stream, peer->order);
	}
	if (!err)
		err = m->mover.ops->enqueue_behind(&m->mover, NULL, 0, move, stream);
	if (!err)
		err = FB_CUDA(cudaEventRecord(posted, stream));
	for (uint32_t i = 0; only < 0 && i < move->transfers && !err; i++) {
		cudaStream_t later = m->peer[move->transfer[i].peer].stream;

		if (later)
			err = FB_CUDA(cudaStreamWaitEvent(later, posted, 0));
	}
	return err;
}

int fb_gpu_move_test(struct fb_move *move, bool *done)
{
	cudaError_t code = cudaEventQuery(((struct fb_gpu_move *)move)->posted);

	*done = code == cudaSuccess;
	return *done || code == cudaErrorNotReady ? FB_OK : FB_CUDA(code);
}

int fb_gpu_look(struct fb_gpu_mover *m, int from, int notice, size_t bytes)
{
	uint64_t at = fb_move_counters(&m->flags, m->mover.group->rank, from, notice);
	const void *counters = (const void *)(uintptr_t)at;
	int err = FB_CUDA(cudaMemcpyAsync(m->seen, counters, bytes, cudaMemcpyDeviceToHost,
					  m->look));

	return err ? err : FB_CUDA(cudaStreamSynchronize(m->look));
}
