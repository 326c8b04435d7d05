/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an end of a flow moves its next piece, for each protocol and verb; see host.h. None of
 * these waits, so that a rank serves many flows in turn.
 */
#include <string.h>

#include "common/transport/tcp.h"
#include "p2p/engine/host.h"

_Static_assert((int)FB_JOB_HEADROOM >= (int)FB_TCP_LEAD, "what lies there would be lost");

/* The bytes of the message under way that the next slot takes. */
static size_t next_piece(const struct fb_host_end *end)
{
	size_t left = (size_t)end->job->bytes - end->offset;

	return left < end->piece ? left : end->piece;
}

char *fb_host_message(const struct fb_host_end *end, uint64_t k)
{
	if (end->memory)
		return end->memory;
	return end->sends ? fb_job_source(end->job, end->flow, k)
			  : fb_job_target(end->job, end->flow, k);
}

static void piece_done(struct fb_host_end *end, size_t n)
{
	end->offset += n;
	if (end->offset < end->job->bytes)
		return;
	end->offset = 0;
	end->done++;
}

static bool send_slot(struct fb_host_end *end)
{
	size_t n = next_piece(end);
	void *slot = end->port->ops->acquire(end->port, n);

	if (!slot)
		return false;
	memcpy(slot, fb_host_message(end, end->done) + end->offset, n);
	end->port->ops->commit(end->port, n);
	piece_done(end, n);
	return true;
}

static bool receive_slot(struct fb_host_end *end)
{
	size_t n = next_piece(end);
	const void *slot = end->port->ops->peek(end->port, n);

	if (!slot)
		return false;
	memcpy(fb_host_message(end, end->done) + end->offset, slot, n);
	end->port->ops->release(end->port);
	piece_done(end, n);
	return true;
}

static bool send_user(struct fb_host_end *end)
{
	size_t bytes = (size_t)end->job->bytes;

	if (!end->port->ops->acquire(end->port, bytes))
		return false;
	fb_tcp_commit_user(end->port, fb_host_message(end, end->done), bytes);
	end->done++;
	return true;
}

bool fb_host_receive_user(struct fb_host_end *end)
{
	/* Tells the sender places for later messages when nothing has come, or few are left. */
	if (!end->port->ops->peek(end->port, (size_t)end->job->bytes)) {
		fb_host_post(end);
		return false;
	}
	end->port->ops->release(end->port);
	end->done++;
	if (fb_tcp_few_places(end->port))
		fb_host_post(end);
	return true;
}

void fb_host_post(struct fb_host_end *end)
{
	if (end->tcp) {
		while (end->posted < end->may_post && fb_tcp_may_post(end->port) &&
		       fb_tcp_post(end->port, fb_host_message(end, end->posted)))
			end->posted++;
		return;
	}
	for (; end->posted < end->may_post; end->posted++)
		fb_direct_credit(fb_shm_port(end->port));
}

static bool push(struct fb_host_end *end)
{
	struct fb_shm_port *port = fb_shm_port(end->port);

	if (!fb_direct_may_push(port))
		return false;
	memcpy(fb_job_target(end->job, end->flow, end->done),
	       fb_job_source(end->job, end->flow, end->done), (size_t)end->job->bytes);
	/* glibc ends large copies, which bypass the cache, with a fence of its own. */
	fb_direct_announce(port, true);
	end->done++;
	return true;
}

bool fb_host_pushed(struct fb_host_end *end)
{
	struct fb_shm_port *port = fb_shm_port(end->port);

	if (!fb_direct_announced(port))
		return false;
	fb_direct_done(port, false);
	end->done++;
	return true;
}

/*
 * Split: the sender writes the first half of a message while the receiver reads the second half,
 * because a copy by one processor uses only half of the memory's speed. The sender announces a
 * message twice: "you may read" before it begins, and "my half is written". The sender has finished
 * when the receiver has read its half, and the receiver when the sender's half has arrived.
 */
static size_t first_half(const struct fb_job *job)
{
	return (size_t)job->bytes / 2 / 64 * 64;
}

enum { OFFER, HALF, FINISH };

static bool push_half(struct fb_host_end *end)
{
	struct fb_shm_port *port = fb_shm_port(end->port);

	if (end->phase == OFFER) {
		fb_direct_announce(port, false);
		end->pulls++;
		end->phase = HALF;
	}
	if (end->phase == HALF) {
		if (!fb_direct_may_push(port))
			return false;
		memcpy(fb_job_target(end->job, end->flow, end->done),
		       fb_job_source(end->job, end->flow, end->done), first_half(end->job));
		fb_direct_announce(port, true);
		end->phase = FINISH;
	}
	if (!fb_direct_drained(port, end->pulls))
		return false;
	end->phase = OFFER;
	end->done++;
	return true;
}

bool fb_host_pull_half(struct fb_host_end *end)
{
	struct fb_shm_port *port = fb_shm_port(end->port);
	size_t half = first_half(end->job);

	if (!fb_direct_announced(port))
		return false;
	if (end->phase == OFFER) {
		memcpy(fb_job_target(end->job, end->flow, end->done) + half,
		       fb_job_source(end->job, end->flow, end->done) + half,
		       (size_t)end->job->bytes - half);
		fb_direct_done(port, true);
		end->phase = HALF;
		return true;
	}
	fb_direct_done(port, false);
	end->phase = OFFER;
	end->done++;
	return true;
}

/* One-sided, at the end that moves the data: all of it is in memory that both reach. */
static bool move(struct fb_host_end *end)
{
	memcpy(fb_job_target(end->job, end->flow, end->done),
	       fb_job_source(end->job, end->flow, end->done), (size_t)end->job->bytes);
	end->done++;
	return true;
}

fb_host_step_fn fb_host_step(const struct fb_case *c, const struct fb_job *job, bool sends,
			     bool tcp)
{
	if (job->verb != FB_SEND)
		return sends == (job->verb == FB_PUT) ? move : NULL;
	if (tcp && !strcmp(c->protocol, "direct"))
		return sends ? send_user : fb_host_receive_user;
	if (!strcmp(c->protocol, "direct"))
		return sends ? push : fb_host_pushed;
	if (!strcmp(c->protocol, "split"))
		return sends ? push_half : fb_host_pull_half;
	return sends ? send_slot : receive_slot;
}
