/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves of the mover nvshmem on streams; see ../nvshmem.c. */
#include "common/cuda/cuda_error.h"
#include "common/mover/gpu/device.h"

struct nvshmem_move {
	struct fb_gpu_move move;
	bool signals; /* each transfer that has a notice is a PUT of one run, which carries it */
};

static bool is_single(const struct fb_transfer *t)
{
	struct fb_runs runs = {.walk = {.transfer = t}};
	uint64_t local, remote;

	return t->verb == FB_MOVE_PUT && fb_runs_next(&runs, &local, &remote) &&
	       !fb_runs_next(&runs, &local, &remote);
}

int fb_nvshmem_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move)
{
	int err = fb_gpu_move_new(mover, given, sizeof(struct nvshmem_move), move);
	struct nvshmem_move *n;

	if (err)
		return err;
	n = (struct nvshmem_move *)*move;
	n->signals = fb_mover_form(mover->ops, form) == 0;
	for (uint32_t i = 0; i < given->transfers && n->signals; i++)
		n->signals = !given->transfer[i].notice || is_single(&given->transfer[i]);
	return FB_OK;
}

void fb_nvshmem_release(struct fb_move *move)
{
	fb_gpu_move_free(move);
}

/*
 * The word that `writer` sets at a peer, by its place in this rank's own part: so NVSHMEM names
 * what lies at a peer.
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
 * All runs of a transfer. A notice is a value that is set, not added, so nothing that came before
 * may be under way any more: hence the quiet, which is free between GPUs that reach each other.
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
	if (!n->signals)
		m->nvshmem->quiet_on_stream(stream);
	for (uint32_t i = 0; i < move->transfers && !n->signals; i++) {
		const struct fb_transfer *t = &move->transfer[i];

		if (t->notice)
			m->nvshmem->signal_op_on_stream(word_of(m, group->rank, t->notice),
							++m->mover.counts[t->peer][t->notice],
							FB_NVSHMEM_SIGNAL_SET,
							group->world_rank_of[t->peer], stream);
	}
}

int fb_nvshmem_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait, int n,
			      struct fb_move *move, void *stream)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;

	for (int i = 0; i < n; i++)
		m->nvshmem->signal_wait_until_on_stream(word_of(m, wait[i].from, wait[i].notice),
							FB_NVSHMEM_GREATER_EQUAL, wait[i].count,
							stream);
	if (move)
		carry_move(m, (struct nvshmem_move *)move, stream);
	return FB_OK;
}
