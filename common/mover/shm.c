/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers between ranks of one host. The processor copies, and all bytes have moved when post()
 * returns:
 *
 * shm  copies between the parts of a shared segment, which every rank maps
 * cma  lets the kernel copy to or from the peer's own addresses (process_vm_writev and
 *      process_vm_readv), in calls of many pieces; works where ranks share no memory
 *
 * Notices are counters in shared memory; flags.h has their memory order.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/mover/flags.h"

struct shm_mover {
	struct fb_mover mover;
	struct fb_segment flags;
	int *pid;       /* cma: [nranks] */
	uint64_t *flag_base; /* cma: [nranks] address of each rank's flags in its own process */
};

/* cma: a region, and the address of each rank's part in its own process. */
struct cma_region {
	struct fb_region region;
	uint64_t base[]; /* [nranks] */
};

static void close_mover(struct fb_mover *mover)
{
	struct shm_mover *m = (struct shm_mover *)mover;

	MPI_Barrier(mover->group->comm);
	fb_segment_close(&m->flags);
	free(m->pid);
	free(m->flag_base);
	fb_mover_free(mover);
}

static int open_mover(struct fb_mover **mover, const struct fb_mover_ops *ops,
		      const struct fb_session *session, const struct fb_group *group)
{
	int err = fb_mover_new(mover, ops, sizeof(struct shm_mover), session, group);

	if (err)
		return err;
	err = fb_segment_open(&((struct shm_mover *)*mover)->flags, group, fb_flags_bytes(group),
			      FB_PAGES_NORMAL);
	if (err)
		fb_mover_free(*mover);
	return err;
}

static int shm_open_mover(struct fb_mover **mover, const struct fb_session *session,
			  const struct fb_group *group, char why[FB_REASON_CHARS])
{
	(void)why;
	return open_mover(mover, &fb_mover_shm, session, group);
}

static int shm_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move)
{
	(void)form;
	return fb_move_new(mover, given, sizeof(**move), move);
}

static int shm_post(struct fb_move *move)
{
	const struct shm_mover *m = (const struct shm_mover *)move->mover;
	int rank = move->mover->group->rank;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		uint32_t repeats = t->repeats ? t->repeats : 1;
		char *local = t->pieces ? fb_transfer_local(t, rank) + t->local_at : NULL;
		char *remote = t->pieces ? fb_segment_part(t->remote->segment, t->peer) +
						   t->remote_at
					 : NULL;
		bool put = t->verb == FB_MOVE_PUT;

		for (uint32_t r = 0; r < repeats && t->pieces; r++) {
			for (uint64_t p = 0; p < t->pieces; p++) {
				char *here = local + t->piece[p].local;
				char *there = remote + t->piece[p].remote;

				memcpy(put ? there : here, put ? here : there, t->piece[p].bytes);
			}
			local += t->local_step;
			remote += t->remote_step;
		}
		if (t->notice)
			fb_flag_give(&m->flags, move->mover, t->peer, t->notice);
	}
	return FB_OK;
}

static int test_move(struct fb_move *move, bool *done)
{
	(void)move;
	*done = true;
	return FB_OK;
}

static int count_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	*count = fb_flag_count(&((struct shm_mover *)mover)->flags, mover, from, notice);
	return FB_OK;
}

static void shm_describe(struct fb_move *move, struct fb_traits *traits)
{
	(void)move;
	snprintf(traits->path, sizeof(traits->path), "processors, shared memory");
	traits->channels = 1;
}

enum { ONE_SIDED = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET };

const struct fb_mover_ops fb_mover_shm = {
	.name = "shm",
	.summary = "processors that copy through shared memory",
	.transport = "shm",
	.verbs = ONE_SIDED,
	.one_host = true, .fifo = true, .lands = true,
	.open = shm_open_mover,
	.close = close_mover,
	.add = fb_region_add,
	.remove = fb_region_remove,
	.prepare = shm_prepare,
	.release = fb_move_free,
	.post = shm_post,
	.test = test_move,
	.arrived = count_arrived,
	.describe = shm_describe,
};

/* --- cma -------------------------------------------------------------------------------------- */

/* Moves all bytes of the two lists by repeated calls, as the kernel may stop after any of them. */
static int cross(int pid, struct iovec *local, struct iovec *remote, unsigned long n, bool put)
{
	while (n) {
		ssize_t moved = put ? process_vm_writev(pid, local, n, remote, n, 0)
				    : process_vm_readv(pid, local, n, remote, n, 0);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return fb_error(errno == ESRCH ? FB_EPEER : FB_ESYS, "process_vm_%s with "
					"process %d: %s", put ? "writev" : "readv", pid,
					moved ? strerror(errno) : "nothing was moved");
		for (; n && (size_t)moved >= local->iov_len; n--, local++, remote++)
			moved -= (ssize_t)local->iov_len;
		if (n) {
			local->iov_base = (char *)local->iov_base + moved;
			remote->iov_base = (char *)remote->iov_base + moved;
			local->iov_len -= (size_t)moved;
			remote->iov_len -= (size_t)moved;
		}
	}
	return FB_OK;
}

/* Reads 8 bytes from every other rank, to find out whether the kernel allows it. */
static int try_peers(const struct shm_mover *m)
{
	const struct fb_group *g = m->mover.group;

	for (int r = 0; r < g->nranks; r++) {
		uint64_t word;
		struct iovec here = {&word, sizeof(word)};
		struct iovec there = {(void *)(uintptr_t)m->flag_base[r], sizeof(word)};

		if (process_vm_readv(m->pid[r], &here, 1, &there, 1, 0) != sizeof(word))
			return errno ? errno : EIO;
	}
	return 0;
}

static int cma_open_mover(struct fb_mover **mover, const struct fb_session *session,
			  const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = open_mover(mover, &fb_mover_cma, session, group), pid = (int)getpid(), bad;
	struct shm_mover *m;
	uint64_t base;

	if (err)
		return err;
	m = (struct shm_mover *)*mover;
	m->pid = calloc((size_t)group->nranks, sizeof(*m->pid));
	m->flag_base = calloc((size_t)group->nranks, sizeof(*m->flag_base));
	err = fb_group_agree(group, m->pid && m->flag_base ? FB_OK : FB_ENOMEM);
	if (err) {
		close_mover(*mover);
		return fb_error(err, "mover cma: out of memory");
	}
	base = (uintptr_t)fb_segment_part(&m->flags, group->rank);
	MPI_Allgather(&pid, 1, MPI_INT, m->pid, 1, MPI_INT, group->comm);
	MPI_Allgather(&base, 1, MPI_UINT64_T, m->flag_base, 1, MPI_UINT64_T, group->comm);
	bad = try_peers(m);
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, group->comm);
	if (!bad)
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "the kernel does not let ranks reach each other's memory: "
		 "process_vm_readv: %s", strerror(bad));
	close_mover(*mover);
	return FB_EUNSUPPORTED;
}

static int cma_add(struct fb_mover *mover, const struct fb_segment *segment,
		   struct fb_region **region)
{
	const struct fb_group *g = mover->group;
	uint64_t base = (uintptr_t)fb_segment_part(segment, g->rank);
	size_t bytes = sizeof(struct cma_region) + (size_t)g->nranks * sizeof(base);
	int err = fb_region_new(mover, segment, bytes, NULL, region);

	if (!err)
		MPI_Allgather(&base, 1, MPI_UINT64_T, ((struct cma_region *)*region)->base, 1,
			      MPI_UINT64_T, g->comm);
	return err;
}

static int cma_cross(const struct shm_mover *m, const struct fb_transfer *t)
{
	struct iovec local[IOV_MAX], remote[IOV_MAX];
	struct fb_walk walk = {.transfer = t};
	char *here = fb_transfer_local(t, m->mover.group->rank);
	uint64_t there = ((const struct cma_region *)t->remote)->base[t->peer], a, b, bytes;
	unsigned long n = 0;
	int err = FB_OK;

	while (!err && (bytes = fb_walk_next(&walk, UINT64_MAX, &a, &b))) {
		local[n] = (struct iovec){here + a, bytes};
		remote[n++] = (struct iovec){(void *)(uintptr_t)(there + b), bytes};
		if (n < IOV_MAX)
			continue;
		err = cross(m->pid[t->peer], local, remote, n, t->verb == FB_MOVE_PUT);
		n = 0;
	}
	return err ? err : cross(m->pid[t->peer], local, remote, n, t->verb == FB_MOVE_PUT);
}

static int cma_post(struct fb_move *move)
{
	const struct shm_mover *m = (const struct shm_mover *)move->mover;
	int err = FB_OK;

	for (uint32_t i = 0; i < move->transfers && !err; i++) {
		const struct fb_transfer *t = &move->transfer[i];

		if (t->pieces)
			err = cma_cross(m, t);
		if (!err && t->notice)
			fb_flag_give(&m->flags, move->mover, t->peer, t->notice);
	}
	return err;
}

static void cma_describe(struct fb_move *move, struct fb_traits *traits)
{
	(void)move;
	snprintf(traits->path, sizeof(traits->path), "kernel, process_vm_writev and readv");
	traits->channels = 1;
}

const struct fb_mover_ops fb_mover_cma = {
	.name = "cma",
	.summary = "the kernel copies between the ranks' memories",
	.transport = "shm",
	.verbs = ONE_SIDED,
	.one_host = true, .fifo = true, .lands = true,
	.open = cma_open_mover,
	.close = close_mover,
	.add = cma_add,
	.remove = fb_region_remove,
	.prepare = shm_prepare,
	.release = fb_move_free,
	.post = cma_post,
	.test = test_move,
	.arrived = count_arrived,
	.describe = cma_describe,
};
