/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover rdma: verbs, straight from and into the ranks' regions, one queue pair to each peer by each
 * rail (--rdma-device).
 *
 * chained  a WRITE or READ for each piece, many of them with one doorbell (--rdma-batch)
 * single   the same with a doorbell for each, to measure what chaining saves
 * sge      pieces that are neighbours in the peer's memory are one request, whose local parts the
 *          device gathers or scatters
 *
 * The last WRITE of a transfer carries its notice as immediate data. Order: the receiver's device
 * completes the receive of immediate data after all earlier requests of the queue pair have been
 * carried out, and a completion covers what they wrote, whatever the order on the bus. After the
 * completion fb_rdma_from_device() orders the processor's later loads. The notice of a GET is an
 * empty WRITE with immediate data and a fence: the device does not begin it before earlier READs
 * are complete, so the owner does not overwrite bytes that are still read.
 *
 * Several rails share the pieces of a transfer of --rdma-stripe bytes or more: each request goes to
 * the rail that carries the fewest bytes of the transfer so far, and long pieces are cut. A smaller
 * transfer goes by one rail. Queue pairs have no order between them, and a completion at the sender
 * does not order the receiver's buses. So each rail carries every notice once, behind that rail's
 * bytes, and the notice counts when it has come by all rails.
 *
 * Requests are posted in the order of moves, as far as the send queue has room, and the others by
 * later calls. The device carries out posted requests without calls.
 */
#include "common/mover/rdma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static const char *const rdma_forms[] = {"chained", "single", "sge", NULL};

#if FB_HAVE_VERBS

enum {
	RECEIVES = 64, /* of a queue, for notices that have not been read yet */
	COMPLETIONS = 16384,
	TAG = 0x6d72,
};

static void rdma_close(struct fb_mover *mover)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)mover;

	/* After it no peer's request is under way to a queue of this rank. */
	MPI_Barrier(mover->group->comm);
	for (int i = 0; m->queue && i < mover->group->nranks * FB_RDMA_RAILS; i++)
		if (m->queue[i]) {
			fb_rdma_queue_close(m->queue[i]);
			free(m->queue[i]);
		}
	if (m->cache.rails)
		fb_rdma_cache_close(&m->cache);
	fb_gpu_view_close(&m->gpu);
	for (int r = 0; r < m->opened; r++) {
		fb_rdma_completions_close(&m->completions[r]);
		free(m->tally[r].arrived);
	}
	fb_rdma_rails_close(m->rail, m->opened);
	fb_verbs_close(&m->verbs);
	free(m->queue);
	fb_mover_free(mover);
}

bool fb_rdma_count_notice(void *arg, uint32_t imm)
{
	struct fb_rdma_tally *tally = arg;
	uint32_t from = imm / FB_RDMA_IMM_RANK, notice = imm % FB_RDMA_IMM_RANK;

	if (from >= (uint32_t)tally->mover->mover.group->nranks || !notice || notice > FB_NOTICES)
		return false;
	tally->arrived[from][notice]++;
	tally->mover->fresh = true;
	return true;
}

static int open_rail(struct fb_rdma_mover *m, int r)
{
	size_t nranks = (size_t)m->mover.group->nranks;
	int err = fb_rdma_completions_open(&m->completions[r], &m->rail[r], &m->settings,
					   COMPLETIONS + RECEIVES * (uint32_t)nranks);

	m->completions[r].arrived = fb_rdma_count_notice;
	m->completions[r].arg = &m->tally[r];
	m->tally[r].mover = m;
	m->tally[r].arrived = calloc(nranks, sizeof(*m->tally[r].arrived));
	return err || m->tally[r].arrived ? err : FB_ENOMEM;
}

static int open_device(struct fb_rdma_mover *m, char why[FB_REASON_CHARS])
{
	int err = fb_verbs_open(&m->verbs, why, FB_REASON_CHARS);

	if (!err && m->settings.connect == FB_RDMA_CONNECT_CM) {
		snprintf(why, FB_REASON_CHARS, "mover rdma has no --rdma-connect cm");
		return FB_EUNSUPPORTED;
	}
	if (!err)
		err = fb_rdma_rails_open(&m->verbs, &m->settings, m->rail, &m->opened, why,
					 FB_REASON_CHARS);
	for (int r = 0; r < m->opened && !err; r++)
		err = open_rail(m, r);
	return err;
}

/* All ranks use as many rails as the rank that has the fewest. */
static void agree_on_rails(struct fb_rdma_mover *m)
{
	m->rails = m->opened;
	MPI_Allreduce(MPI_IN_PLACE, &m->rails, 1, MPI_INT, MPI_MIN, m->mover.group->comm);
	/* The number of gathered pieces: the least of all devices. */
	m->settings.sges = FB_RDMA_GATHERED;
	m->most = UINT64_MAX;
	for (int r = 0; r < m->rails; r++) {
		uint64_t pieces = (uint64_t)fb_rdma_rail_pieces(&m->rail[r]);

		if (m->settings.sges > pieces)
			m->settings.sges = pieces;
		if (m->most > m->rail[r].max_message)
			m->most = m->rail[r].max_message;
	}
	fb_rdma_cache_open(&m->cache, m->rail, m->rails, fb_rdma_access(&m->settings));
}

static int open_as(struct fb_mover **mover, const struct fb_mover_ops *ops,
		   const struct fb_session *session, const struct fb_group *group,
		   char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, ops, sizeof(struct fb_rdma_mover), session, group);
	struct fb_rdma_mover *m;

	if (err)
		return err;
	m = (struct fb_rdma_mover *)*mover;
	m->settings = session->settings->rdma;
	m->mover.wait = fb_rdma_wait_of(&m->settings);
	m->queue = calloc((size_t)group->nranks * FB_RDMA_RAILS, sizeof(struct fb_rdma_queue *));
	err = m->queue ? open_device(m, why) : FB_ENOMEM;
	err = fb_group_agree_why(group, err, why, FB_REASON_CHARS);
	if (!err)
		agree_on_rails(m);
	if (!err && ops->device)
		err = fb_rdma_gpu_begin(m, why);
	if (err)
		rdma_close(*mover);
	return err;
}

static int rdma_open(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return open_as(mover, &fb_mover_rdma, session, group, why);
}

static int rdma_gpu_open(struct fb_mover **mover, const struct fb_session *session,
			 const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return open_as(mover, &fb_mover_rdma_gpu, session, group, why);
}

/* --- regions ---------------------------------------------------------------------------------- */

static int rdma_add(struct fb_mover *mover, const struct fb_segment *segment,
		    struct fb_region **region)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)mover;
	const struct fb_group *g = mover->group;
	struct fb_rdma_memory *r = calloc(1, sizeof(*r) + (size_t)g->nranks * sizeof(r->reach[0]));
	char *base = fb_segment_part(segment, g->rank);
	const struct fb_rdma_region *known = NULL;
	struct fb_rdma_target own = {.base = (uintptr_t)base};
	int err = FB_ENOMEM;

	if (r && mover->ops->device)
		err = fb_rdma_gpu_register(m, base, segment->part_bytes, &known);
	else if (r)
		err = fb_rdma_register(&m->cache, base, segment->part_bytes, &known);

	err = fb_group_agree(g, err);
	if (err || !r || !known) {
		/* Another rank has failed. Other memory may be at this address later. */
		if (known)
			fb_rdma_forget(&m->cache, base, segment->part_bytes);
		free(r);
		return err;
	}
	r->region = (struct fb_region){mover, segment};
	for (int i = 0; i < m->rails; i++) {
		r->lkey[i] = known->mr[i]->lkey;
		own.rkey[i] = known->mr[i]->rkey;
	}
	m->how = known->how;
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, r->reach, sizeof(own), MPI_BYTE, g->comm);
	*region = &r->region;
	return FB_OK;
}

static void rdma_remove(struct fb_region *region)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)region->mover;
	const struct fb_segment *segment = region->segment;
	int rank = m->mover.group->rank;

	MPI_Barrier(m->mover.group->comm);
	fb_rdma_forget(&m->cache, fb_segment_part(segment, rank), segment->part_bytes);
	free(region);
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Opens the queues to a peer, one for each rail. */
static int make_queues(struct fb_rdma_mover *m, int peer, struct fb_rdma_address *address)
{
	int err = FB_OK;

	for (int r = 0; r < m->rails && !err; r++) {
		struct fb_rdma_queue *queue = calloc(1, sizeof(*queue));

		err = queue ? fb_rdma_queue_open(&m->completions[r], &m->settings, RECEIVES, queue)
			    : FB_ENOMEM;
		if (err || !queue) {
			free(queue);
			break;
		}
		queue->peer = peer;
		fb_rdma_queue_address(queue, &address[r]);
		m->queue[peer * FB_RDMA_RAILS + r] = queue;
	}
	return err;
}

/* Both ends exchange addresses and connect. Takes part also after an error of this rank. */
static int connect_peer(struct fb_rdma_mover *m, int peer, const struct fb_rdma_address *own,
			int err)
{
	struct fb_rdma_address other[FB_RDMA_RAILS];
	int bytes = m->rails * (int)sizeof(*own);

	MPI_Sendrecv(own, bytes, MPI_BYTE, peer, TAG, other, bytes, MPI_BYTE, peer, TAG,
		     m->mover.group->comm, MPI_STATUS_IGNORE);
	for (int r = 0; r < m->rails && !err; r++)
		err = fb_rdma_queue_connect(fb_rdma_queue_to(m, peer, r), &m->settings, &own[r],
					    &other[r]);
	return err;
}

static int rdma_connect(struct fb_mover *mover, const int *peers, int n)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)mover;
	int nranks = mover->group->nranks, rank = mover->group->rank, err, made;
	struct fb_rdma_address (*own)[FB_RDMA_RAILS] = calloc((size_t)nranks, sizeof(*own));
	bool *met = calloc((size_t)nranks, sizeof(*met));

	err = own && met ? FB_OK : FB_ENOMEM;
	for (int i = 0; own && met && i < n && !err; i++) {
		/* The processor cannot copy GPU memory, so a rank has a queue to itself there. */
		if ((peers[i] == rank && !mover->ops->device) || fb_rdma_queue_to(m, peers[i], 0))
			continue;
		met[peers[i]] = true;
		err = make_queues(m, peers[i], own[peers[i]]);
	}
	made = fb_group_agree(mover->group, err);
	/* In round k a rank connects to rank k - rank: both ends of a pair in the same round. */
	for (int k = 0; own && met && k < nranks && !made; k++) {
		int peer = (k - rank + nranks) % nranks;

		if (met[peer])
			err = connect_peer(m, peer, own[peer], err);
	}
	free(met);
	free(own);
	/* Also a barrier: no rank sends before its peer's queue is ready to receive. */
	return made ? made : fb_group_agree(mover->group, err);
}

static void rdma_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_rdma_mover *m = (const struct fb_rdma_mover *)move->mover;
	const struct fb_rdma_part *part = ((const struct fb_rdma_move *)move)->part;
	unsigned rails = 0;
	size_t used;

	/* The rails that have carried bytes; before the first post, those that may. */
	for (uint32_t i = 0; i < move->transfers; i++)
		for (int r = 0; r < m->rails; r++)
			rails |= part[i].dealt[r] ? 1u << r : 0;
	for (uint32_t i = 0; i < move->transfers && !rails; i++)
		rails |= part[i].rails;
	fb_rdma_rails_text(m->rail, rails, traits->path, sizeof(traits->path));
	used = strlen(traits->path);
	if (m->how)
		snprintf(traits->path + used, sizeof(traits->path) - used, ", GPUDirect %s",
			 fb_rdma_how_names[m->how]);
	traits->channels = __builtin_popcount(rails);
}

#else

static int rdma_open(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	(void)mover;
	(void)session;
	(void)group;
	snprintf(why, FB_REASON_CHARS, "built without libibverbs headers");
	return FB_EUNSUPPORTED;
}

#endif

#if FB_HAVE_VERBS
#define OPERATIONS                                                                                 \
	.close = rdma_close, .add = rdma_add, .remove = rdma_remove, .connect = rdma_connect,      \
	.prepare = fb_rdma_move_prepare, .release = fb_move_free, .post = fb_rdma_move_post,       \
	.test = fb_rdma_move_test, .arrived = fb_rdma_move_arrived, .describe = rdma_describe,     \
	.rest = fb_rdma_move_rest, .fifo = true
#else
#define OPERATIONS .close = NULL
#define rdma_gpu_open rdma_open
#endif

const struct fb_mover_ops fb_mover_rdma = {
	.name = "rdma", .summary = "verbs from and into the ranks' memory", .transport = "rdma",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .forms = rdma_forms, .open = rdma_open,
	OPERATIONS,
};

const struct fb_mover_ops fb_mover_rdma_gpu = {
	.name = "rdma_gpu", .summary = "verbs from and into GPU memory (GPUDirect RDMA)",
	.transport = "rdma", .verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .device = true,
	.forms = rdma_forms, .open = rdma_gpu_open,
	OPERATIONS,
};
