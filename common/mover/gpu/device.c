/* SPDX-License-Identifier: BSD-3-Clause */
/* What the movers between GPUs share; see device.h. */
#include "common/mover/gpu/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_segment.h"
#include "common/mover/gpu/kernels.h"

/* LOCAL_BLOCKS: blocks per multiprocessor of launches that access this GPU's memory only. */
enum { LOCAL_BLOCKS = 2, WARP = 32 };

static uint32_t at_most(uint64_t value, uint32_t most)
{
	return value < most ? (uint32_t)value : most;
}

/* Sets the sizes of launches, equal on all ranks, because each block has a counter at the peer. */
static void choose_blocks(struct fb_gpu_mover *m)
{
	const struct fb_settings *s = m->mover.session->settings;
	int sms = m->gpu.sms;

	MPI_Allreduce(MPI_IN_PLACE, &sms, 1, MPI_INT, MPI_MIN, m->mover.group->comm);
	m->push_blocks = at_most(s->channels ? s->channels : (uint64_t)sms, FB_MOVE_MOST_BLOCKS);
	m->local_blocks = at_most((uint64_t)sms * LOCAL_BLOCKS, FB_MOVE_MOST_BLOCKS);
	m->counters = m->push_blocks > m->local_blocks ? m->push_blocks : m->local_blocks;
	/* Blocks consist of whole warps, so that teams, which are parts of a warp, fit. */
	m->threads = at_most(s->threads ? (s->threads + 31) / 32 * 32 : FB_MOVE_THREADS,
			     FB_MOVE_THREADS);
}

static int begin_local(struct fb_gpu_mover *m)
{
	struct cudaFuncAttributes attributes;
	int pool = 0, err = FB_CUDA(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));

	if (!err)
		err = FB_CUDA(cudaStreamCreateWithFlags(&m->look, cudaStreamNonBlocking));
	if (!err)
		err = FB_CUDA(cudaHostAlloc((void **)&m->seen, 8 * FB_MOVE_MOST_BLOCKS,
					    cudaHostAllocDefault));
	/* Loads kernels now: later, loading may wait for a kernel that waits for this rank. */
	for (int which = 0; which < FB_MOVE_KERNELS && !err; which++)
		err = FB_CUDA(cudaFuncGetAttributes(
			&attributes, fb_move_kernel((enum fb_move_kernel)which)));
	if (!err)
		err = FB_CUDA(cudaDeviceGetAttribute(
			&pool, cudaDevAttrMaxSharedMemoryPerBlockOptin, m->gpu.device));
	m->has_tma = !err && m->gpu.major >= 9 && attributes.ptxVersion >= 90 &&
		     pool >= FB_MOVE_POOL;
	if (m->has_tma)
		err = FB_CUDA(cudaFuncSetAttribute(fb_move_kernel(FB_MOVE_BULK),
						   cudaFuncAttributeMaxDynamicSharedMemorySize,
						   FB_MOVE_POOL));
	return err;
}

int fb_gpu_mover_begin(struct fb_gpu_mover *m, char why[FB_REASON_CHARS])
{
	const struct fb_group *group = m->mover.group;
	char ignored[FB_REASON_CHARS];
	bool vmm = fb_gpu_segment_can(&m->gpu, FB_GPU_VMM, ignored, sizeof(ignored));
	int err = FB_OK;

	choose_blocks(m);
	if (m->mover.ops->verbs >> FB_MOVE_PUT & 1 && !m->flags.ops)
		err = fb_gpu_segment_open(&m->flags, &m->gpu, vmm ? FB_GPU_VMM : FB_GPU_DEVICE,
					  fb_move_flags_bytes(group));
	if (err)
		return err;
	err = fb_group_agree(group, begin_local(m));
	if (!err && m->mover.ops == &fb_mover_nccl)
		err = fb_nccl_mover_connect(m);
	if (err || m->mover.ops != &fb_mover_copy)
		return err;
	m->driver = calloc(1, sizeof(*m->driver));
	err = fb_group_agree(group, m->driver ? fb_cuda_driver_find(m->driver) : FB_ENOMEM);
	if (err == FB_EUNSUPPORTED)
		snprintf(why, FB_REASON_CHARS, "the driver has no stream memory operations");
	return err;
}

void fb_gpu_mover_end(struct fb_gpu_mover *m)
{
	struct fb_gpu_peer *peer = m->peer;
	int nranks = peer ? m->mover.group->nranks : 0;

	if (m->stream)
		(void)cudaStreamSynchronize(m->stream);
	for (int r = 0; r < nranks; r++)
		if (peer[r].stream)
			(void)cudaStreamSynchronize(peer[r].stream);
	MPI_Barrier(m->mover.group->comm);
	for (int r = 0; r < nranks; r++) {
		if (peer[r].stream)
			(void)cudaStreamDestroy(peer[r].stream);
		if (peer[r].order)
			(void)cudaEventDestroy(peer[r].order);
	}
	if (m->stream)
		(void)cudaStreamDestroy(m->stream);
	if (m->look)
		(void)cudaStreamDestroy(m->look);
	if (m->seen)
		(void)cudaFreeHost(m->seen);
	free(m->driver);
	(void)cudaGetLastError();
}

/* --- lists of chunks -------------------------------------------------------------------------- */

static int fill_table(struct fb_gpu_table *t, const struct fb_transfer *transfer)
{
	size_t bytes = t->chunks * sizeof(struct fb_move_chunk);
	struct fb_move_chunk *host = malloc(bytes);
	int err = host ? FB_CUDA(cudaMalloc(&t->memory, bytes)) : FB_ENOMEM;

	if (!err) {
		fb_move_cut(transfer, t->leg, host);
		err = FB_CUDA(cudaMemcpy(t->memory, host, bytes, cudaMemcpyHostToDevice));
	}
	free(host);
	return err;
}

static void leave_table(struct fb_gpu_mover *m, struct fb_gpu_table *t)
{
	struct fb_gpu_table **at = &m->tables;

	if (!t || --t->users)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (t->memory)
		(void)cudaFree(t->memory);
	free(t);
}

/* Finds a table by its list's address: a list that a move uses stays where it is. */
static int take_table(struct fb_gpu_mover *m, const struct fb_transfer *transfer,
		      enum fb_move_leg leg, struct fb_gpu_table **table)
{
	bool gets = leg == FB_MOVE_ACROSS && transfer->verb == FB_MOVE_GET;
	struct fb_gpu_table *t = m->tables;

	while (t && (t->piece != transfer->piece || t->pieces != transfer->pieces ||
		     t->leg != leg || t->gets != gets))
		t = t->next;
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return FB_ENOMEM;
		*t = (struct fb_gpu_table){
			.next = m->tables, .piece = transfer->piece, .pieces = transfer->pieces,
			.leg = leg, .gets = gets, .chunks = fb_move_cut(transfer, leg, NULL)};
		m->tables = t;
	}
	t->users++;
	*table = t;
	return t->memory || !t->chunks ? FB_OK : fill_table(t, transfer);
}

/* --- launches --------------------------------------------------------------------------------- */

static int add_transfer(struct fb_gpu_launch *l, struct fb_gpu_mover *m,
			const struct fb_transfer *t, enum fb_move_leg leg, uint64_t buffer,
			uint64_t *mean)
{
	int rank = m->mover.group->rank, err = FB_OK;
	uint32_t w = l->kernel.ways++;
	struct fb_move_way *way = &l->kernel.way[w];
	uint64_t own;

	*way = fb_move_way_of(t, rank, leg, buffer);
	l->transfer[w] = t;
	if (t->notice)
		way->post = fb_move_counters(&m->flags, t->peer, rank, t->notice);
	if (t->pieces > 1)
		err = take_table(m, t, leg, &l->table[w]);
	if (err)
		return err;
	if (l->table[w] && l->table[w]->chunks) {
		way->chunk = (uint64_t)(uintptr_t)l->table[w]->memory;
		way->chunks = (uint32_t)l->table[w]->chunks;
		if (l->table[w]->chunks > UINT32_MAX)
			return FB_EUNSUPPORTED;
	}
	own = way->chunk ? fb_move_mean(t) : way->bytes ? way->bytes : UINT64_MAX;
	*mean = own < *mean ? own : *mean;
	l->odd |= fb_move_is_odd(t, rank, leg, buffer);
	return FB_OK;
}

/* A launch may have more blocks if all of its transfers are with this rank itself. */
static int finish_launch(struct fb_gpu_launch *l, const struct fb_gpu_mover *m, uint64_t mean,
			 enum fb_move_leg leg)
{
	bool local = true;

	for (uint32_t w = 0; w < l->kernel.ways && leg == FB_MOVE_ACROSS; w++)
		local &= !l->transfer[w]->pieces ||
			 l->transfer[w]->peer == m->mover.group->rank;
	if (!fb_move_finish(&l->kernel, mean))
		return FB_EUNSUPPORTED;
	l->kernel.counters = m->counters;
	l->most = local ? m->local_blocks : m->push_blocks;
	l->blocks = fb_move_blocks(&l->kernel, m->threads, l->most);
	return FB_OK;
}

uint32_t fb_gpu_launches_bulk(struct fb_gpu_launches *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct fb_gpu_launch *launch = &l->launch[i];

		if (launch->odd)
			continue;
		launch->bulk = true;
		launch->kernel.team = WARP;
		launch->blocks = fb_move_blocks(&launch->kernel, FB_MOVE_BULK_THREADS,
						launch->most);
		n++;
	}
	return n;
}

int fb_gpu_launches_open(struct fb_gpu_launches *l, struct fb_gpu_mover *m,
			 const struct fb_transfer *transfer, uint32_t n, enum fb_move_leg leg,
			 const uint64_t *buffer)
{
	uint64_t mean = UINT64_MAX;
	int err = FB_OK;

	l->launch = calloc(n / FB_MOVE_MOST_WAYS + 1, sizeof(*l->launch));
	if (!l->launch)
		return fb_error(FB_ENOMEM, "out of memory for launches");
	for (uint32_t i = 0; i < n && !err; i++) {
		struct fb_gpu_launch *last = l->count ? &l->launch[l->count - 1] : NULL;

		if (buffer && !buffer[i])
			continue;
		if (!last || last->kernel.ways == FB_MOVE_MOST_WAYS) {
			err = last ? finish_launch(last, m, mean, leg) : FB_OK;
			last = &l->launch[l->count++];
			mean = UINT64_MAX;
		}
		if (!err)
			err = add_transfer(last, m, &transfer[i], leg, buffer ? buffer[i] : 0,
					   &mean);
	}
	if (!err && l->count)
		err = finish_launch(&l->launch[l->count - 1], m, mean, leg);
	return err;
}

void fb_gpu_launches_close(struct fb_gpu_launches *l, struct fb_gpu_mover *m)
{
	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t w = 0; w < l->launch[i].kernel.ways; w++)
			leave_table(m, l->launch[i].table[w]);
	free(l->launch);
	*l = (struct fb_gpu_launches){.count = 0};
}

/* Fills in the values of notices and the waits, and launches. */
static int launch(const struct fb_gpu_launch *l, struct fb_gpu_mover *m,
		  const struct fb_wait *wait, int n, cudaStream_t stream)
{
	const struct fb_group *group = m->mover.group;
	struct fb_move_launch kernel = l->kernel;
	void *args[] = {&kernel};

	/*
	 * Transfers that give a peer the same notice all post the final value, since threads store
	 * it in any order, after their block has moved all of its chunks.
	 */
	for (uint32_t w = 0; w < kernel.ways; w++)
		if (l->transfer[w]->notice)
			++m->mover.counts[l->transfer[w]->peer][l->transfer[w]->notice];
	for (uint32_t w = 0; w < kernel.ways; w++)
		if (l->transfer[w]->notice)
			kernel.way[w].post_value =
				m->mover.counts[l->transfer[w]->peer][l->transfer[w]->notice];
	for (; wait && kernel.waits < (uint32_t)n; kernel.waits++)
		kernel.wait[kernel.waits] = (struct fb_move_wait){
			fb_move_counters(&m->flags, group->rank, wait[kernel.waits].from,
					 wait[kernel.waits].notice),
			wait[kernel.waits].count};
	if (l->bulk)
		return FB_CUDA(cudaLaunchKernel(fb_move_kernel(FB_MOVE_BULK),
						(dim3){l->blocks, 1, 1},
						(dim3){FB_MOVE_BULK_THREADS, 1, 1}, args,
						FB_MOVE_POOL, stream));
	return FB_CUDA(cudaLaunchKernel(fb_move_kernel(l->odd ? FB_MOVE_ANY : FB_MOVE_ALIGNED),
					(dim3){l->blocks, 1, 1}, (dim3){m->threads, 1, 1}, args, 0,
					stream));
}

int fb_gpu_launches_enqueue(const struct fb_gpu_launches *l, struct fb_gpu_mover *m,
			    const struct fb_wait *wait, int n, cudaStream_t stream)
{
	const struct fb_gpu_launch waits = {
		.kernel = {.team = 1, .chunks = 1, .repeats = 1, .counters = m->counters},
		.blocks = 1};
	uint32_t first = 0;
	int err = FB_OK;

	/* Waits that do not fit in the launch get launches before it, of one block. */
	while (n > FB_MOVE_MOST_WAYS && !err) {
		err = launch(&waits, m, wait, FB_MOVE_MOST_WAYS, stream);
		wait += FB_MOVE_MOST_WAYS;
		n -= FB_MOVE_MOST_WAYS;
	}
	if (n && !err) {
		err = launch(l && l->count ? &l->launch[0] : &waits, m, wait, n, stream);
		first = l && l->count ? 1 : 0;
	}
	for (uint32_t i = first; l && i < l->count && !err; i++)
		err = launch(&l->launch[i], m, NULL, 0, stream);
	return err;
}
