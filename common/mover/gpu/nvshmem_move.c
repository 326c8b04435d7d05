/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves of the mover nvshmem on streams; see ../nvshmem.c. */
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "common/mover/gpu/device.h"
#include "common/mover/nvshmem/kernels.h"

/* The forms of mover nvshmem, then those of nvshmem_device, in the order of nvshmem.c. */
enum form { PUT_SIGNAL, PUT, KERNELS, BLOCK = KERNELS, WARP, THREAD, BLOCK_TMA };

enum { LEAST_BULK_MAJOR = 3, LEAST_BULK_MINOR = 7 };

struct nvshmem_move {
	struct fb_gpu_move move;
	enum form form;
	bool signals; /* each transfer that has a notice is a PUT of one run, which carries it */
	/* Used where kernels move. */
	struct fb_transfer *own; /* as the move's, with this rank as the peer */
	struct fb_gpu_launches launches;
	uint32_t *blocks_done;
};

static bool is_single(const struct fb_transfer *t)
{
	struct fb_runs runs = {.walk = {.transfer = t}};
	uint64_t local, remote;

	return t->verb == FB_MOVE_PUT && fb_runs_next(&runs, &local, &remote) &&
	       !fb_runs_next(&runs, &local, &remote);
}

void fb_nvshmem_release(struct fb_move *move)
{
	struct nvshmem_move *n = (struct nvshmem_move *)move;

	fb_gpu_launches_close(&n->launches, (struct fb_gpu_mover *)move->mover);
	if (n->blocks_done)
		(void)cudaFree(n->blocks_done);
	free(n->own);
	fb_gpu_move_free(move);
}

/* NVSHMEM names a peer's memory by the address of the same offset in this rank's part. */
static int prepare_kernels(struct nvshmem_move *n)
{
	const struct fb_move *move = &n->move.move;
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)move->mover;
	const struct fb_nvshmem *nvshmem = m->nvshmem;
	const int least = 1000 * LEAST_BULK_MAJOR + LEAST_BULK_MINOR;
	int err;

	if (n->form == BLOCK_TMA && (m->kernels->version() < least ||
				     1000 * nvshmem->major + nvshmem->minor < least))
		return FB_EUNSUPPORTED;
	n->own = calloc(move->transfers + 1, sizeof(*n->own));
	if (!n->own)
		return fb_error(FB_ENOMEM, "mover nvshmem: out of memory");
	for (uint32_t i = 0; i < move->transfers; i++) {
		n->own[i] = move->transfer[i];
		n->own[i].peer = m->mover.group->rank;
		n->own[i].notice = 0;
	}
	err = fb_gpu_launches_open(&n->launches, m, n->own, move->transfers, FB_MOVE_ACROSS, NULL);
	if (!err)
		err = FB_CUDA(cudaMalloc((void **)&n->blocks_done, sizeof(*n->blocks_done)));
	return err ? err : FB_CUDA(cudaMemset(n->blocks_done, 0, sizeof(*n->blocks_done)));
}

int fb_nvshmem_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move)
{
	int err = fb_gpu_move_new(mover, given, sizeof(struct nvshmem_move), move);
	struct nvshmem_move *n;

	if (err)
		return err;
	n = (struct nvshmem_move *)*move;
	n->form = (enum form)(fb_mover_form(mover->ops, form) +
			      (mover->ops == &fb_mover_nvshmem_device ? KERNELS : 0));
	n->signals = n->form == PUT_SIGNAL;
	for (uint32_t i = 0; i < given->transfers && n->signals; i++)
		n->signals = !given->transfer[i].notice || is_single(&given->transfer[i]);
	err = n->form >= KERNELS ? prepare_kernels(n) : FB_OK;
	if (err) {
		fb_nvshmem_release(*move);
		*move = NULL;
	}
	return err;
}

void fb_nvshmem_form(const struct fb_move *move, char *text, size_t chars)
{
	enum form form = ((const struct nvshmem_move *)move)->form;

	snprintf(text, chars, "%s%s", form >= KERNELS ? "by " : "on stream",
		 form >= KERNELS ? move->mover->ops->forms[form - KERNELS] : "");
}

/*
 * The word that `writer` sets at a peer, as an address in this rank's part, by which NVSHMEM names
 * a peer's memory.
 */
static uint64_t *word_of(const struct fb_gpu_mover *m, int writer, int notice)
{
	return (uint64_t *)(uintptr_t)fb_move_counters(&m->flags, m->mover.group->rank, writer,
						       notice);
}

int fb_nvshmem_mover_load(struct fb_gpu_mover *m)
{
	uint64_t *word = word_of(m, m->mover.group->rank, 1);

	m->nvshmem->signal_op_on_stream(word, 0, FB_NVSHMEM_SIGNAL_SET, m->nvshmem->my_pe(),
					m->stream);
	m->nvshmem->signal_wait_until_on_stream(word, FB_NVSHMEM_GREATER_EQUAL, 0, m->stream);
	m->nvshmem->quiet_on_stream(m->stream);
	return FB_CUDA(cudaStreamSynchronize(m->stream));
}

int fb_nvshmem_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;
	int err = fb_gpu_look(m, from, notice, sizeof(*m->seen));

	*count = err ? 0 : *m->seen;
	return err;
}

/*
 * Moves all runs of a transfer. A signal's value k says that the first k transfers are complete, so
 * earlier puts must have arrived: hence the quiet, free between GPUs that reach each other.
 */
static void carry(struct fb_gpu_mover *m, const struct fb_transfer *t, bool signals, void *stream)
{
	const struct fb_group *group = m->mover.group;
	const struct fb_nvshmem *nvshmem = m->nvshmem;
	struct fb_runs runs = {.walk = {.transfer = t}};
	int pe = group->world_rank_of[t->peer];
	uint64_t local, remote, bytes;

	while ((bytes = fb_runs_next(&runs, &local, &remote))) {
		char *here = fb_transfer_local(t, group->rank) + local;
		char *there = fb_segment_part(t->remote->segment, group->rank) + remote;

		if (t->verb == FB_MOVE_GET) {
			nvshmem->getmem_on_stream(here, there, bytes, pe, stream);
		} else if (signals && t->notice) {
			nvshmem->quiet_on_stream(stream);
			nvshmem->putmem_signal_on_stream(there, here, bytes,
							 word_of(m, group->rank, t->notice),
							 ++m->mover.counts[t->peer][t->notice],
							 FB_NVSHMEM_SIGNAL_SET, pe, stream);
		} else {
			nvshmem->putmem_on_stream(there, here, bytes, pe, stream);
		}
	}
}

static void carry_move(struct fb_gpu_mover *m, const struct nvshmem_move *n, void *stream)
{
	const struct fb_move *move = &n->move.move;
	const struct fb_group *group = m->mover.group;

	for (uint32_t i = 0; i < move->transfers; i++)
		carry(m, &move->transfer[i], n->signals, stream);
	if (n->signals)
		return;
	m->nvshmem->quiet_on_stream(stream);
	/* Signals are unordered, so those of the same notice of a peer set the same value. */
	for (uint32_t i = 0; i < move->transfers; i++)
		if (move->transfer[i].notice)
			++m->mover.counts[move->transfer[i].peer][move->transfer[i].notice];
	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];

		if (t->notice)
			m->nvshmem->signal_op_on_stream(word_of(m, group->rank, t->notice),
							m->mover.counts[t->peer][t->notice],
							FB_NVSHMEM_SIGNAL_SET,
							group->world_rank_of[t->peer], stream);
	}
}

/* --- kernels ---------------------------------------------------------------------------------- */

static uint32_t blocks_of(const struct fb_gpu_mover *m, const struct fb_nvshmem_launch *l)
{
	static const uint32_t teams[] = {
		[FB_NVSHMEM_THREAD] = FB_NVSHMEM_THREADS,
		[FB_NVSHMEM_WARP] = FB_NVSHMEM_THREADS / 32,
		[FB_NVSHMEM_BLOCK] = 1};
	uint64_t chunks = l->way.chunk ? l->way.chunks
				       : (l->way.bytes + FB_MOVE_CHUNK - 1) / FB_MOVE_CHUNK;
	uint64_t blocks = (chunks * l->way.repeats + teams[l->team] - 1) / teams[l->team];

	blocks = blocks ? blocks : 1;
	return blocks < m->push_blocks ? (uint32_t)blocks : m->push_blocks;
}

/* One launch per transfer, because a launch has one peer and one notice. */
static int launch_transfer(struct fb_gpu_mover *m, const struct nvshmem_move *n,
			   const struct fb_move_way *way, const struct fb_transfer *t, void *stream)
{
	const struct fb_group *group = m->mover.group;
	struct fb_nvshmem_launch l = {
		.way = *way, .team = n->form == THREAD ? FB_NVSHMEM_THREAD
				     : n->form == WARP ? FB_NVSHMEM_WARP : FB_NVSHMEM_BLOCK,
		.pe = group->world_rank_of[t->peer], .gets = t->verb == FB_MOVE_GET,
		.bulk = n->form == BLOCK_TMA, .blocks_done = n->blocks_done,
	};

	if (t->notice) {
		l.word = word_of(m, group->rank, t->notice);
		l.value = ++m->mover.counts[t->peer][t->notice];
	}
	return FB_CUDA((cudaError_t)m->kernels->launch(&l, blocks_of(m, &l), stream));
}

static int launch_all(struct fb_gpu_mover *m, const struct nvshmem_move *n, void *stream)
{
	int err = FB_OK;

	for (uint32_t i = 0; i < n->launches.count && !err; i++) {
		const struct fb_gpu_launch *launch = &n->launches.launch[i];

		for (uint32_t w = 0; w < launch->kernel.ways && !err; w++)
			err = launch_transfer(m, n, &launch->kernel.way[w],
					      &n->move.move.transfer[launch->transfer[w] - n->own],
					      stream);
	}
	return err;
}

int fb_nvshmem_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait, int n,
			      struct fb_move *move, void *stream)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;

	for (int i = 0; i < n; i++)
		m->nvshmem->signal_wait_until_on_stream(word_of(m, wait[i].from, wait[i].notice),
							FB_NVSHMEM_GREATER_EQUAL, wait[i].count,
							stream);
	if (move && ((struct nvshmem_move *)move)->form >= KERNELS)
		return launch_all(m, (struct nvshmem_move *)move, stream);
	if (move)
		carry_move(m, (struct nvshmem_move *)move, stream);
	return FB_OK;
}
