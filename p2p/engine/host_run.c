/* SPDX-License-Identifier: BSD-3-Clause */
/* The host engine's loops that run a job and wait; see host.h. */
#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/transport/tcp_run.h"
#include "p2p/engine/host.h"

enum {
	PARTS = 64, /* messages of a run moved by one call, at most */
	PARTS_BYTES = 1 << 20,
};

/* Whether all that the end has sent has left this rank: only then it may stop progressing. */
static bool has_left(const struct fb_host_end *end)
{
	/* Direct links in shared memory have no functions: their copies are made at once. */
	return !end->tcp || end->port->ops->settled(end->port);
}

/* Moves the n ends until all of their messages are through. */
static int drive(struct fb_host_p2p_request *r, struct fb_host_end *ends, int n)
{
	struct fb_spin spin = {.yields = r->engine->world->oversubscribed,
			       .calls = r->tcp_ports && !r->n_shm};
	int err = FB_OK;

	for (;;) {
		bool moved = false, pending = false;

		for (int i = 0; i < n; i++) {
			struct fb_host_end *end = &ends[i];

			while (end->done < end->target && end->step(end))
				moved = true;
			pending |= end->done < end->target;
		}
		if (r->tcp_ports && (pending || !fb_tcp_rests(r->engine->tcp))) {
			err = r->engine->tcp->ops->progress(r->engine->tcp);
			for (int i = 0; i < n && !pending && !err; i++)
				pending = !has_left(&ends[i]);
		}
		if (err || !pending)
			return err;
		if (moved)
			spin.looks = 0;
		else if (fb_spin_again(&spin))
			err = fb_alive(r->request.engine->session, "waiting for messages");
		if (err)
			return err;
	}
}

/* The same for one message of one end. Usually the first try moves it, so that tries no loop. */
static int move_one(struct fb_host_p2p_request *r, struct fb_host_end *end)
{
	end->target++;
	if (end->sends && end->step(end) && end->done == end->target &&
	    (!r->tcp_ports || fb_tcp_rests(r->engine->tcp)))
		return FB_OK;
	return drive(r, end, 1);
}

static void raise_targets(struct fb_host_p2p_request *r, uint64_t messages)
{
	for (int i = 0; i < r->nends; i++)
		r->ends[i].target += messages;
}

/*
 * Receivers of direct messages allow their senders to write the next `messages` messages, like a
 * posted receive; over tcp also `ahead` messages after these.
 */
static void post_targets(struct fb_host_p2p_request *r, uint64_t messages, uint64_t ahead)
{
	for (int i = 0; i < r->nends; i++) {
		struct fb_host_end *end = &r->ends[i];

		end->may_post = end->target + messages + (end->tcp ? ahead : 0);
		if (end->step == fb_host_pushed || end->step == fb_host_pull_half ||
		    end->step == fb_host_receive_user)
			fb_host_post(end);
	}
}

/*
 * Moves what can be moved now of the end's messages without frames. One system call moves up to
 * PARTS_BYTES: with a call for each message, streams of 64 KiB took 2.5 times as long as the same
 * bytes in messages of 1 MiB. Returns false if nothing could be moved.
 */
static bool carry_some(struct fb_host_end *end, size_t bytes)
{
	struct iovec parts[PARTS];
	uint64_t next = end->done;
	size_t sum = 0, moved;
	int n = 0;

	do {
		size_t before = n ? 0 : end->offset;

		parts[n++] = (struct iovec){.iov_base = fb_host_message(end, next) + before,
					    .iov_len = bytes - before};
		sum += bytes - before;
	} while (++next < end->target && n < PARTS && sum + bytes <= PARTS_BYTES);
	moved = end->sends ? fb_tcp_run_send(end->port, parts, n, next < end->target)
			   : fb_tcp_run_receive(end->port, parts, n);
	end->offset += moved;
	for (; end->offset >= bytes; end->offset -= bytes)
		end->done++;
	return moved > 0;
}

/* Moves the ends' runs until all of their messages are through. */
static int carry(struct fb_host_p2p_request *r)
{
	struct fb_spin spin = {.yields = r->engine->world->oversubscribed, .calls = true};
	int err = FB_OK;

	while (!err) {
		bool moved = false, pending = false;

		for (int i = 0; i < r->nends; i++) {
			struct fb_host_end *end = &r->ends[i];

			if (end->done < end->target)
				moved |= carry_some(end, (size_t)r->job->bytes);
			pending |= end->done < end->target;
		}
		if (!pending)
			break;
		if (moved)
			spin.looks = 0;
		else if (fb_spin_again(&spin))
			err = fb_alive(r->request.engine->session, "waiting for messages");
		if (!moved && !err)
			err = fb_tcp_error(r->engine->tcp);
	}
	return err;
}

/*
 * Moves one message without frames. Nearly always one system call moves all of it. The code around
 * this call runs between a message and its answer, and the kernel has just evicted it from the
 * caches. So it is short, and takes the message's place from `memory` without another call.
 */
static int carry_one(struct fb_host_p2p_request *r, struct fb_host_end *end)
{
	struct fb_spin spin = {.yields = r->engine->world->oversubscribed, .calls = true};
	struct iovec part = {
		.iov_base = end->memory ? end->memory : fb_host_message(end, end->done),
		.iov_len = (size_t)r->job->bytes,
	};

	while (part.iov_len) {
		size_t moved = end->sends ? fb_tcp_run_send(end->port, &part, 1, false)
					  : fb_tcp_run_receive(end->port, &part, 1);
		int err = FB_OK;

		part.iov_base = (char *)part.iov_base + moved;
		part.iov_len -= moved;
		if (moved) {
			spin.looks = 0;
			continue;
		}
		if (fb_spin_again(&spin))
			err = fb_alive(r->request.engine->session, "waiting for messages");
		if (!err)
			err = fb_tcp_error(r->engine->tcp);
		if (err)
			return err;
	}
	end->target = ++end->done;
	return FB_OK;
}

/* The calls of a request whose ends are over one socket, where only the messages' bytes go. */
static int run_of_runs(struct fb_host_p2p_request *r, int calls, bool begin)
{
	int err = FB_OK;

	for (int i = 0; i < r->nends && begin; i++)
		fb_tcp_run_begin(r->ends[i].port, (size_t)r->job->bytes);
	if (r->job->pattern != FB_PING_PONG) {
		raise_targets(r, (uint64_t)calls * (uint64_t)r->job->window);
		return carry(r);
	}
	for (int call = 0; call < calls && !err; call++)
		for (int i = 0; i < r->nends && !err; i++)
			err = carry_one(r, &r->ends[i]);
	return err;
}

/*
 * On both ranks ends[0] belongs to the flow that begins and ends[1] to the flow of the answers.
 * Places for direct messages with frames are posted for all calls at once. No message arrives too
 * early, because a rank sends the next one only after the answer to the last; and the places
 * travel with answers, so they cost no message. Over one socket the places of some later calls are
 * posted too. That is safe because only the receiver's own progress() writes to them, and within
 * these calls it reads nothing after the last message.
 */
static int ping_pong(struct fb_host_p2p_request *r, int calls)
{
	const struct fb_settings *settings = r->engine->settings;
	int err = FB_OK;

	if (!r->nends)
		return FB_OK;
	post_targets(r, (uint64_t)calls, settings->tcp.sockets == 1 ? settings->slots : 0);
	for (int call = 0; call < calls && !err; call++) {
		err = move_one(r, &r->ends[0]);
		if (!err)
			err = move_one(r, &r->ends[1]);
	}
	return err;
}

/*
 * Makes all copies of this rank, notifies the passive ends, and waits until the flows of which this
 * rank is the passive end are complete. Without notices a passive rank would check data that has
 * not arrived, or overwrite data that is still read. The counter is raised with release order, so
 * the copies are visible before it. glibc fences the stores of large copies itself.
 */
static int one_sided(struct fb_host_p2p_request *r, uint64_t messages)
{
	struct fb_spin spin = {.yields = r->engine->world->oversubscribed};
	_Atomic uint64_t *own = fb_job_completed(r->job, r->engine->world->rank);
	int err = FB_OK;

	for (uint64_t k = 0; k < messages; k++)
		for (int i = 0; i < r->nends; i++)
			if (r->ends[i].step)
				r->ends[i].step(&r->ends[i]);
	for (int i = 0; i < r->nends; i++) {
		if (r->ends[i].step)
			atomic_fetch_add_explicit(
				fb_job_completed(r->job, fb_job_passive(r->job, r->ends[i].flow)),
				1, memory_order_release);
		else
			r->completions++;
	}
	while (!err && atomic_load_explicit(own, memory_order_acquire) < r->completions)
		if (fb_spin_again(&spin))
			err = fb_alive(r->request.engine->session,
					   "waiting for one-sided operations");
	return err;
}

int fb_host_run(struct fb_p2p_request *request, int calls)
{
	struct fb_host_p2p_request *r = (struct fb_host_p2p_request *)request;
	bool begin = r->engine->last != r;

	r->engine->last = r;
	if (r->job->verb != FB_SEND)
		return one_sided(r, (uint64_t)calls * (uint64_t)r->job->window);
	if (r->runs)
		return run_of_runs(r, calls, begin);
	if (r->job->pattern == FB_PING_PONG)
		return ping_pong(r, calls);
	post_targets(r, (uint64_t)calls * (uint64_t)r->job->window, 0);
	raise_targets(r, (uint64_t)calls * (uint64_t)r->job->window);
	return drive(r, r->ends, r->nends);
}
