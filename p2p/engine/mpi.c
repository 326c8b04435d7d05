/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI engine: the library's own messages (MPI_Send and its kin) and one-sided calls, as the
 * yardstick for the project's transports, on the same buffers. It has loops of its own beside
 * engines mover-mpi and mover-mpi_window (over.c), because movers take longer. On two EPYC cores
 * with Open MPI 4.1.4, half a round trip of 8 bytes takes 0.110 us by MPI_Send and MPI_Recv, and
 * 0.145 by MPI_Isend, MPI_Irecv and MPI_Test, which a mover needs. A put of 8 bytes takes 1.24 us
 * in a window of 64 with one flush, and 1.41 by mover-mpi_window, which gives a notice with each;
 * a get 1.30 and 1.43. Each figure is the least of the medians of 12 starts, taken in turn.
 *
 * One-sided calls use a window over the rank's part of the segment, which is locked for all ranks
 * from setup on. Puts and gets are complete when MPI_Win_flush returns. Some libraries move bytes
 * only while the target calls MPI too. So a target probes for messages until it learns that the
 * last operation is complete: by a counter in shared memory, or between hosts by an empty message.
 *
 * GPU memory is given only to a library that says that it accepts it (common/library/mpi_gpu.h).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/library/mpi_gpu.h"
#include "common/memory/mpi_window.h"
#include "p2p/engine/engine.h"
#include "p2p/program.h"

enum { TAG = 7, TAG_COMPLETE = 8, LOOKS_PER_PROBE = 16 };

struct mpi_p2p {
	struct fb_p2p_engine engine;
	const struct fb_group *world;
	MPI_Comm comm;
	/* Why messages, and one-sided calls, cannot have GPU memory; empty: they can. */
	char no_gpu[FB_REASON_CHARS], no_gpu_window[FB_REASON_CHARS];
	char no_window[FB_REASON_CHARS]; /* why it has no one-sided calls here; empty: it has */
};

struct mpi_p2p_request {
	struct fb_p2p_request request;
	struct mpi_p2p *engine;
	const struct fb_job *job;
	MPI_Request *pending; /* [npending] */
	MPI_Status *status;   /* as many; MPICH's MPI_STATUSES_IGNORE upsets gcc */
	int npending;
	MPI_Win window; /* one-sided verbs */
	uint64_t operations; /* one-sided: calls that were started, on all ranks alike */
};

static int mpi_open(struct fb_p2p_engine *engine)
{
	struct mpi_p2p *e = (struct mpi_p2p *)engine;

	e->world = engine->group;
	MPI_Comm_dup(e->world->comm, &e->comm);
	(void)fb_mpi_has_windows(e->world, e->comm, e->no_window, FB_REASON_CHARS);
	if (!fb_mpi_takes_gpu(e->world, e->no_gpu, FB_REASON_CHARS))
		snprintf(e->no_gpu_window, FB_REASON_CHARS, "%s", e->no_gpu);
	else
		(void)fb_mpi_windows_take_gpu(e->world, e->no_gpu_window, FB_REASON_CHARS);
	return FB_OK;
}

static void mpi_close(struct fb_p2p_engine *engine)
{
	struct mpi_p2p *e = (struct mpi_p2p *)engine;

	MPI_Comm_free(&e->comm);
}

static bool mpi_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		    const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct mpi_p2p *e = (const struct mpi_p2p *)engine;
	const char *why = job->verb == FB_SEND ? e->no_gpu : e->no_gpu_window;

	if (job->bytes > INT_MAX)
		snprintf(reason, FB_REASON_CHARS, "MPI counts bytes with an int");
	else if (fb_memory_on_gpu(c) && *why)
		snprintf(reason, FB_REASON_CHARS, "%s", why);
	else if (job->verb != FB_SEND && *e->no_window)
		snprintf(reason, FB_REASON_CHARS, "%s", e->no_window);
	else
		return true;
	return false;
}

static void free_request(struct mpi_p2p_request *r)
{
	if (!r)
		return;
	free(r->pending);
	free(r->status);
	free(r);
}

static void mpi_release(struct fb_p2p_request *request)
{
	struct mpi_p2p_request *r = (struct mpi_p2p_request *)request;

	if (r->window != MPI_WIN_NULL) {
		MPI_Win_unlock_all(r->window);
		MPI_Win_free(&r->window);
	}
	free_request(r);
}

/* Collective, equal on all ranks. */
static int open_window(struct mpi_p2p_request *r)
{
	const struct fb_segment *segment = r->job->segment;
	int rank = r->engine->world->rank, err;

	if (!segment->ops->device)
		atomic_store(fb_job_completed(r->job, rank), 0);
	err = fb_mpi_window(r->engine->world, r->engine->comm, fb_segment_part(segment, rank),
			    segment->part_bytes, &r->window);
	if (err)
		return err;
	MPI_Win_lock_all(MPI_MODE_NOCHECK, r->window);
	MPI_Barrier(r->engine->comm);
	return FB_OK;
}

static int mpi_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, struct fb_p2p_request **request)
{
	struct mpi_p2p *e = (struct mpi_p2p *)engine;
	struct mpi_p2p_request *r = calloc(1, sizeof(*r));
	size_t most = (size_t)job->nflows * (size_t)job->window;
	int err;

	(void)c;
	if (r) {
		r->pending = calloc(most + 1, sizeof(*r->pending));
		r->status = calloc(most + 1, sizeof(*r->status));
	}
	err = fb_group_agree(e->world, r && r->pending && r->status ? FB_OK : FB_ENOMEM);
	if (err || !r) {
		free_request(r);
		return err;
	}
	r->request.engine = engine;
	r->engine = e;
	r->job = job;
	r->window = MPI_WIN_NULL;
	err = job->verb == FB_SEND ? FB_OK : open_window(r);
	if (err) {
		mpi_release(&r->request);
		return err;
	}
	*request = &r->request;
	return FB_OK;
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): what is waited for began elsewhere. */

static int ping_pong(struct mpi_p2p_request *r)
{
	const struct fb_job *job = r->job;
	const struct fb_flow *there = &job->flows[0], *back = &job->flows[1];
	int rank = r->engine->world->rank, bytes = (int)job->bytes, err = MPI_SUCCESS;
	MPI_Comm comm = r->engine->comm;

	if (rank == there->src) {
		err = MPI_Send(fb_job_source(job, there, 0), bytes, MPI_BYTE, there->dst, TAG,
			       comm);
		if (err == MPI_SUCCESS)
			err = MPI_Recv(fb_job_target(job, back, 0), bytes, MPI_BYTE, back->src, TAG,
				       comm, MPI_STATUS_IGNORE);
	} else if (rank == there->dst) {
		err = MPI_Recv(fb_job_target(job, there, 0), bytes, MPI_BYTE, there->src, TAG, comm,
			       MPI_STATUS_IGNORE);
		if (err == MPI_SUCCESS)
			err = MPI_Send(fb_job_source(job, back, 0), bytes, MPI_BYTE, back->dst, TAG,
				       comm);
	}
	return err;
}

/* All messages of all flows under way at once; receives first, so that none comes unexpected. */
static int stream(struct mpi_p2p_request *r)
{
	const struct fb_job *job = r->job;
	int rank = r->engine->world->rank, bytes = (int)job->bytes, err = MPI_SUCCESS;

	r->npending = 0;
	for (int sends = 0; sends < 2; sends++)
		for (int k = 0; k < job->window; k++)
			for (int f = 0; f < job->nflows && err == MPI_SUCCESS; f++) {
				const struct fb_flow *flow = &job->flows[f];
				MPI_Request *pending = &r->pending[r->npending];

				if ((sends ? flow->src : flow->dst) != rank)
					continue;
				r->npending++;
				err = sends ? MPI_Isend(fb_job_source(job, flow, (uint64_t)k),
							bytes, MPI_BYTE, flow->dst, TAG,
							r->engine->comm, pending)
					    : MPI_Irecv(fb_job_target(job, flow, (uint64_t)k),
							bytes, MPI_BYTE, flow->src, TAG,
							r->engine->comm, pending);
			}
	if (err == MPI_SUCCESS)
		err = MPI_Waitall(r->npending, r->pending, r->status);
	return err;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* The counter of the passive end of a flow, where the active one reaches it; else NULL. */
static _Atomic uint64_t *counter_of(const struct fb_job *job, const struct fb_flow *flow)
{
	int origin = fb_job_origin(job, flow), target = fb_job_passive(job, flow);

	if (job->segment->ops->device || !fb_segment_part(job->segment, origin))
		return NULL;
	return fb_job_completed(job, target);
}

/* The flows that this rank carries out: those it puts, or those it gets. */
static int origins(struct mpi_p2p_request *r)
{
	const struct fb_job *job = r->job;
	int rank = r->engine->world->rank, bytes = (int)job->bytes, err = MPI_SUCCESS;
	bool put = job->verb == FB_PUT;

	for (int k = 0; k < job->window; k++)
		for (int f = 0; f < job->nflows && err == MPI_SUCCESS; f++) {
			const struct fb_flow *flow = &job->flows[f];
			size_t at = (size_t)(k % job->regions) * job->stride;

			if (fb_job_origin(job, flow) != rank)
				continue;
			err = put ? MPI_Put(fb_job_source(job, flow, (uint64_t)k), bytes, MPI_BYTE,
					    flow->dst, (MPI_Aint)(flow->receive_offset + at), bytes,
					    MPI_BYTE, r->window)
				  : MPI_Get(fb_job_target(job, flow, (uint64_t)k), bytes, MPI_BYTE,
					    flow->src, (MPI_Aint)(flow->send_offset + at), bytes,
					    MPI_BYTE, r->window);
		}
	for (int f = 0; f < job->nflows && err == MPI_SUCCESS; f++) {
		const struct fb_flow *flow = &job->flows[f];
		int peer = fb_job_passive(job, flow);
		_Atomic uint64_t *counter = counter_of(job, flow);

		if (fb_job_origin(job, flow) != rank)
			continue;
		err = MPI_Win_flush(peer, r->window);
		if (err != MPI_SUCCESS)
			break;
		if (counter)
			atomic_fetch_add_explicit(counter, 1, memory_order_release);
		else
			err = MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_COMPLETE, r->engine->comm);
	}
	return err;
}

/* Stays in MPI until the origins of all flows that concern this rank have completed. */
static int targets(struct mpi_p2p_request *r)
{
	const struct fb_job *job = r->job;
	struct fb_spin spin = {.yields = r->engine->world->oversubscribed};
	int rank = r->engine->world->rank, near = 0, err = MPI_SUCCESS;
	_Atomic uint64_t *own = NULL, *counter;

	for (int f = 0; f < job->nflows && err == MPI_SUCCESS; f++) {
		int origin = fb_job_origin(job, &job->flows[f]);

		if (fb_job_passive(job, &job->flows[f]) != rank)
			continue;
		counter = counter_of(job, &job->flows[f]);
		if (counter) {
			own = counter;
			near++;
			continue;
		}
		err = MPI_Recv(NULL, 0, MPI_BYTE, origin, TAG_COMPLETE, r->engine->comm,
			       MPI_STATUS_IGNORE);
	}
	while (own && err == MPI_SUCCESS &&
	       atomic_load_explicit(own, memory_order_acquire) < r->operations * (uint64_t)near) {
		int flag;

		if (spin.looks % LOOKS_PER_PROBE == 0)
			err = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, r->engine->comm, &flag,
					 MPI_STATUS_IGNORE);
		if (fb_spin_again(&spin) &&
		    fb_alive(r->request.engine->session, "waiting for one-sided operations"))
			return MPI_ERR_OTHER;
	}
	if (own && err == MPI_SUCCESS)
		err = MPI_Win_sync(r->window);
	return err;
}

static int mpi_run(struct fb_p2p_request *request, int calls)
{
	struct mpi_p2p_request *r = (struct mpi_p2p_request *)request;
	int err = MPI_SUCCESS;

	for (int call = 0; call < calls && err == MPI_SUCCESS; call++) {
		if (r->job->verb == FB_SEND) {
			err = r->job->pattern == FB_PING_PONG ? ping_pong(r) : stream(r);
			continue;
		}
		r->operations++;
		err = origins(r);
		if (err == MPI_SUCCESS)
			err = targets(r);
	}
	return err == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

static void mpi_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	const struct mpi_p2p_request *r = (const struct mpi_p2p_request *)request;
	const struct mpi_p2p *e = r->engine;

	/* Which of its transports carried the bytes MPI has no call to ask. */
	snprintf(traits->path, sizeof(traits->path), "%.*s%s", fb_mpi_name_chars(e->world),
		 e->world->library, r->job->segment->ops->device ? ", CUDA-aware" : "");
}

const struct fb_p2p_engine_ops fb_p2p_mpi = {
	.name = "mpi",
	.gpu_memory = 1 << FB_GPU_DEVICE | 1 << FB_GPU_PINNED | 1 << FB_GPU_MANAGED,
	.bytes = sizeof(struct mpi_p2p),
	.open = mpi_open,
	.close = mpi_close,
	.can = mpi_can,
	.prepare = mpi_prepare,
	.run = mpi_run,
	.describe = mpi_describe,
	.release = mpi_release,
};
