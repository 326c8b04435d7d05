/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves a job's messages in the ucx engine; see ucx.h. */
#include "p2p/engine/ucx.h"

#include "common/base/error.h"

enum { BURST = 8 }; /* messages of an end, before the next end has its turn */

static const struct fb_ucx_op plain = {.mask = 0};

static const char *const calls[] = {
	[FB_UCX_TAG] = "tag_send_nbx", [FB_UCX_AM] = "am_send_nbx", [FB_UCX_PUT] = "put_nbx",
	[FB_UCX_GET] = "get_nbx",
};

static const char *call_of(const struct fb_ucx_end *end)
{
	return end->role == FB_UCX_RECEIVES ? "tag_recv_nbx" : calls[end->request->verb];
}

/* The next message of an end, which has room for it. */
static fb_ucx_pending post(struct fb_ucx_engine *e, struct fb_ucx_end *end)
{
	const struct fb_ucx_request *r = end->request;
	const struct fb_job *job = r->job;
	size_t at = (size_t)(end->posted % (uint64_t)job->regions) * job->stride;
	uint64_t tag = fb_ucx_tag(FB_UCX_DATA, r->serial, end->index);
	struct fb_ucx_header *header = &end->headers[end->posted % end->depth];
	char *local = end->local + at;

	if (end->role == FB_UCX_RECEIVES)
		return e->ucx.tag_recv_nbx(e->worker, local, job->bytes, tag, UINT64_MAX, &plain);
	switch (r->verb) {
	case FB_UCX_TAG:
		return e->ucx.tag_send_nbx(end->link->ep, local, job->bytes, tag, &plain);
	case FB_UCX_AM:
		*header = (struct fb_ucx_header){r->serial, end->index, end->posted};
		return e->ucx.am_send_nbx(end->link->ep, FB_UCX_AM_ID, header, sizeof(*header),
					  local, job->bytes, &plain);
	case FB_UCX_PUT:
		return e->ucx.put_nbx(end->link->ep, local, job->bytes, end->remote + at,
				      end->rkey, &plain);
	default:
		return e->ucx.get_nbx(end->link->ep, local, job->bytes, end->remote + at,
				      end->rkey, &plain);
	}
}

/* Takes note of what is complete and posts what there is room for. 0 or an error (printed). */
static int step(struct fb_ucx_engine *e, struct fb_ucx_end *end)
{
	while (end->done < end->posted) {
		fb_ucx_pending *pending = &end->pending[end->done % end->depth];
		fb_ucx_status status = FB_UCX_OK;

		if (*pending)
			status = e->ucx.request_check_status(*pending);
		if (status == FB_UCX_IN_PROGRESS)
			break;
		if (status)
			return fb_ucx_error(&e->ucx, status, call_of(end), end->peer);
		if (*pending)
			e->ucx.request_free(*pending);
		end->done++;
	}
	for (int i = 0; i < BURST && end->posted < end->limit; i++) {
		fb_ucx_pending pending;

		if (end->posted - end->done >= end->depth)
			break;
		pending = post(e, end);
		if (fb_ucx_pending_error(pending))
			return fb_ucx_error(&e->ucx, fb_ucx_pending_error(pending), call_of(end),
					    end->peer);
		end->pending[end->posted++ % end->depth] = pending;
		end->done += !pending && end->done + 1 == end->posted;
	}
	return FB_OK;
}

/* The n ends from `first` on, until each has as many messages complete as are wanted. */
static int drive(struct fb_ucx_request *r, int first, int n)
{
	struct fb_ucx_engine *e = r->engine;
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	int err = FB_OK;

	for (;;) {
		bool pending = false;

		for (int i = first; i < first + n && !err; i++) {
			struct fb_ucx_end *end = &r->ends[i];

			if (end->role == FB_UCX_POSTS || end->role == FB_UCX_RECEIVES)
				err = step(e, end);
			pending |= end->role != FB_UCX_WAITS && end->done < end->target;
		}
		if (err || !pending)
			return err;
		err = fb_ucx_again(e, &spin);
		if (err)
			return err;
	}
}

/* Ping-pong by put: the message, and behind it its number into the cell that the peer watches. */
static int put_next(struct fb_ucx_request *r, struct fb_ucx_end *end)
{
	struct fb_ucx_engine *e = r->engine;
	struct fb_ucx_link *link = end->link;
	uint64_t cell = e->share[e->cells_share].bases[end->peer] +
			(uint64_t)e->world->rank * sizeof(*e->cells);
	void *rkey = NULL;
	fb_ucx_status status;
	int err = FB_OK;

	for (int i = 0; i < 2 && !err; i++) {
		err = fb_ucx_wait(e, end->pending[i], "put_nbx", end->peer);
		end->pending[i] = NULL;
	}
	if (!err)
		err = fb_ucx_reach(e, e->cells_share, end->peer, &rkey);
	if (err)
		return err;
	link->flags_sent++;
	end->pending[0] = post(e, end);
	status = e->ucx.worker_fence(e->worker);
	if (status)
		return fb_ucx_error(&e->ucx, status, "worker_fence", end->peer);
	end->pending[1] = e->ucx.put_nbx(link->ep, &link->flags_sent, sizeof(link->flags_sent),
					 cell, rkey, &plain);
	end->posted++;
	return FB_OK;
}

/*
 * Polls until the number is equal, not greater: the peer puts no further number before it has an
 * answer, and a number of which only a part has arrived could be greater.
 */
static int watch_next(struct fb_ucx_request *r, struct fb_ucx_end *end)
{
	struct fb_ucx_engine *e = r->engine;
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	uint64_t next = ++end->link->flags_seen;
	int err = FB_OK;

	while (!err && atomic_load_explicit(&e->cells[end->peer].flag, memory_order_acquire) !=
			       next)
		err = fb_ucx_again(e, &spin);
	return err;
}

/* ends[0] is of the flow there and ends[1] of the one back, on both of the ranks. */
static int ping_pong(struct fb_ucx_request *r, int n)
{
	int err = FB_OK;

	for (int i = 0; i < r->nends; i++)
		if (r->ends[i].role == FB_UCX_RECEIVES)
			r->ends[i].limit += (uint64_t)n;
	for (int call = 0; call < n; call++)
		for (int i = 0; i < r->nends && !err; i++) {
			struct fb_ucx_end *end = &r->ends[i];
			bool posts = end->role == FB_UCX_POSTS;

			end->target++;
			end->limit += posts;
			if (r->verb == FB_UCX_PUT)
				err = posts ? put_next(r, end) : watch_next(r, end);
			else
				err = drive(r, i, 1);
		}
	for (int i = 0; i < r->nends && r->verb == FB_UCX_PUT; i++)
		for (int k = 0; k < 2 && !err; k++) {
			err = fb_ucx_wait(r->engine, r->ends[i].pending[k], "put_nbx",
					  r->ends[i].peer);
			r->ends[i].pending[k] = NULL;
		}
	return err;
}

/*
 * Waits until all that this rank has put is at its target, and until UCX has sent what it still has
 * to send about received messages. (A flush of the worker does not include messages that wait for
 * room in a peer's queue.)
 */
static int flush(struct fb_ucx_request *r, bool puts)
{
	struct fb_ucx_engine *e = r->engine;
	int err = FB_OK;

	for (int i = 0; i < r->nends; i++)
		if (!puts || r->ends[i].role == FB_UCX_POSTS)
			r->ends[i].pending[0] = e->ucx.ep_flush_nbx(r->ends[i].link->ep, &plain);
	for (int i = 0; i < r->nends && !err; i++)
		if (!puts || r->ends[i].role == FB_UCX_POSTS)
			err = fb_ucx_wait(e, r->ends[i].pending[0], "ep_flush_nbx",
					  r->ends[i].peer);
	return err;
}

/* The counter of flows completed for `rank`; NULL: `peer` is on another host, or on a GPU. */
static _Atomic uint64_t *counter_of(const struct fb_ucx_request *r, int peer, int rank)
{
	if (r->job->segment->ops->device || !fb_job_completed(r->job, peer))
		return NULL;
	return fb_job_completed(r->job, rank);
}

/*
 * Active ends signal passive ends that all messages are complete, through memory if both reach it.
 * Passive ends progress UCX until the signal arrives.
 */
static int signal_and_wait(struct fb_ucx_request *r)
{
	struct fb_ucx_engine *e = r->engine;
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	int err = FB_OK, rank = e->world->rank;

	for (int i = 0; i < r->nends; i++) {
		struct fb_ucx_end *end = &r->ends[i];
		uint64_t tag = fb_ucx_tag(FB_UCX_COMPLETE, r->serial, end->index);
		bool posts = end->role == FB_UCX_POSTS;
		_Atomic uint64_t *counter = counter_of(r, end->peer, posts ? end->peer : rank);

		end->pending[0] = NULL;
		if (counter && posts)
			atomic_fetch_add_explicit(counter, 1, memory_order_release);
		else if (counter)
			r->completions++;
		else if (posts)
			end->pending[0] = e->ucx.tag_send_nbx(end->link->ep, NULL, 0, tag, &plain);
		else
			end->pending[0] = e->ucx.tag_recv_nbx(e->worker, NULL, 0, tag, UINT64_MAX,
							      &plain);
	}
	for (int i = 0; i < r->nends && !err; i++)
		err = fb_ucx_wait(e, r->ends[i].pending[0], "tag_send_nbx", r->ends[i].peer);
	while (!err && r->completions &&
	       atomic_load_explicit(fb_job_completed(r->job, rank), memory_order_acquire) <
		       r->completions)
		err = fb_ucx_again(e, &spin);
	return err;
}

/* One window after the other if each ends in a flush; else the windows of all calls at once. */
static int windows(struct fb_ucx_request *r, int ncalls)
{
	bool puts = r->verb == FB_UCX_PUT;
	int err = FB_OK;

	for (int call = 0; call < (puts ? ncalls : 1) && !err; call++) {
		for (int i = 0; i < r->nends; i++) {
			struct fb_ucx_end *end = &r->ends[i];

			end->target += (uint64_t)r->job->window * (uint64_t)(puts ? 1 : ncalls);
			end->limit = end->target;
		}
		err = drive(r, 0, r->nends);
		if (!err && puts)
			err = flush(r, true);
	}
	return !err && r->job->verb != FB_SEND ? signal_and_wait(r) : err;
}

int fb_ucx_ready(struct fb_p2p_request *request, int ncalls)
{
	struct fb_ucx_request *r = (struct fb_ucx_request *)request;

	(void)ncalls;
	r->announced = true;
	return FB_OK;
}

int fb_ucx_run(struct fb_p2p_request *request, int ncalls)
{
	struct fb_ucx_request *r = (struct fb_ucx_request *)request;
	int err;

	if (!r->nends)
		return FB_OK;
	err = r->job->pattern == FB_PING_PONG ? ping_pong(r, ncalls) : windows(r, ncalls);
	/* A receiver of a load waits in MPI next, while its sender may still need its progress. */
	if (!err && !r->announced && r->ends[0].role != FB_UCX_POSTS)
		err = flush(r, false);
	return err;
}

int fb_ucx_settle(struct fb_p2p_request *request)
{
	return fb_ucx_barrier(((struct fb_ucx_request *)request)->engine);
}
