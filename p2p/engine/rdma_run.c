/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves a job's messages in the rdma engine; rdma.h says how each end learns what arrived. */
#include "p2p/engine/rdma.h"

#if FB_HAVE_VERBS

#include "common/base/error.h"
#include "common/base/spin.h"

#include <limits.h>
#include <time.h>

enum {
	NAP = 20000,		 /* ns */
	LONG_NAP = 100000000,
};

int fb_raw_drain(struct fb_raw_request *r)
{
	unsigned looks = 0;
	int err = FB_OK;

	r->engine->lanes = r->lanes;
	r->engine->wait = r->wait;
	for (int i = 0; i < r->nends; i++) {
		const struct fb_raw_end *end = &r->ends[i];
		const struct fb_raw_link *link = &r->engine->links[end->peer];

		for (int l = 0; l < end->nlanes && end->role == FB_RAW_POSTS; l++)
			while (!err && end->lanes[l].done < end->lanes[l].posted)
				err = fb_raw_poll_or_wait(r->engine, &looks);
		while (!err && link->flags)
			err = fb_raw_poll_or_wait(r->engine, &looks);
	}
	return err;
}

/* Receiver of a stream: posts receives, and informs the sender when that is worth a message. */
static int make_ready(struct fb_raw_engine *e, struct fb_raw_end *end)
{
	uint64_t ready = end->announced, worth = UINT64_MAX;
	int err = FB_OK;

	for (int l = 0; l < end->nlanes && !err; l++) {
		struct fb_raw_lane *lane = &end->lanes[l];
		uint64_t quarter = lane->window * lane->share.step / 4, message;

		err = fb_raw_refill(lane);
		message = fb_raw_message(&lane->share, lane->posted);
		ready = message < ready ? message : ready;
		worth = quarter < worth ? quarter : worth;
	}
	if (err || !end->credits || ready == end->granted ||
	    (ready < end->announced && ready - end->granted < worth))
		return err;
	end->granted = ready;
	return fb_raw_flag(e, end->peer, offsetof(struct fb_raw_cells, credits),
			   end->base + ready);
}

/* Writes the mark where the last byte of the next part will arrive. */
static void set_marks(struct fb_raw_end *end)
{
	for (int l = 0; l < end->nlanes; l++) {
		struct fb_raw_lane *lane = &end->lanes[l];

		*(volatile unsigned char *)(lane->local + lane->share.bytes - 1) = lane->mark;
	}
}

static void announce(struct fb_raw_end *end, uint64_t messages)
{
	end->announced = end->target + messages;
	for (int l = 0; l < end->nlanes; l++)
		end->lanes[l].announced = fb_raw_parts(&end->lanes[l].share, end->announced);
}

void fb_raw_lane_expect(const struct fb_raw_request *r, const struct fb_raw_end *end,
			struct fb_raw_lane *lane)
{
	const struct fb_job *job = r->job;
	int f = (int)(end->flow - job->flows);

	for (size_t i = 0; r->device && fb_raw_is_atomic(r->verb) && i < sizeof(lane->seen); i++)
		((unsigned char *)&lane->seen)[i] = fb_job_byte(job, f, 0, i);
	if (end->role == FB_RAW_WATCHES)
		lane->mark = (unsigned char)~fb_job_byte(job, f, 0, lane->share.offset +
								    lane->share.bytes - 1);
}

/* New data since the last run has other last bytes, so the marks have to change too. */
static void expect_data(struct fb_raw_request *r)
{
	if (r->seed == r->job->data->seed)
		return;
	r->seed = r->job->data->seed;
	for (int i = 0; i < r->nends; i++)
		for (int l = 0; l < r->ends[i].nlanes; l++)
			fb_raw_lane_expect(r, &r->ends[i], &r->ends[i].lanes[l]);
}

int fb_raw_ready(struct fb_p2p_request *request, int calls)
{
	struct fb_raw_request *r = (struct fb_raw_request *)request;
	uint64_t messages = (uint64_t)calls * (uint64_t)r->job->window;
	unsigned looks = 0;
	int err = fb_raw_drain(r);

	expect_data(r);
	for (int i = 0; i < r->nends && !err; i++) {
		struct fb_raw_end *end = &r->ends[i];

		announce(end, messages);
		if (end->role == FB_RAW_WATCHES)
			set_marks(end);
		if (end->role == FB_RAW_RECEIVES)
			err = make_ready(r->engine, end);
	}
	/* Complete means that the sender has it, once both have passed a barrier. */
	for (int i = 0; i < r->nends && !err; i++)
		while (!err && r->engine->links[r->ends[i].peer].flags)
			err = fb_raw_poll_or_wait(r->engine, &looks);
	return err;
}

static int push_all(struct fb_raw_engine *e, struct fb_raw_end *end)
{
	uint64_t messages = end->target;
	int err = FB_OK;

	if (end->credits && end->granted < end->target) {
		end->granted = atomic_load_explicit(&e->cells[end->peer].credits,
						    memory_order_acquire) - end->base;
		messages = end->granted < messages ? end->granted : messages;
	}
	for (int l = 0; l < end->nlanes && !err; l++) {
		struct fb_raw_lane *lane = &end->lanes[l];

		err = fb_raw_push(lane,
				  messages == end->target ? lane->target
							  : fb_raw_parts(&lane->share, messages),
				  (uint32_t)e->settings->batch);
	}
	return err;
}

static bool is_done(const struct fb_raw_end *end)
{
	for (int l = 0; l < end->nlanes; l++)
		if (end->lanes[l].done < end->lanes[l].target)
			return false;
	return true;
}

/* All ends that have something to do, until they are through. */
static int drive(struct fb_raw_request *r)
{
	struct fb_raw_engine *e = r->engine;
	unsigned looks = 0;
	int err = FB_OK;

	if (r->nends == 1 && r->nlanes == 1 && !r->ends->credits)
		return fb_raw_drive_alone(e, r->lanes);
	for (;;) {
		bool pending = false;

		for (int i = 0; i < r->nends && !err; i++) {
			struct fb_raw_end *end = &r->ends[i];

			if (end->role == FB_RAW_WAITS || is_done(end))
				continue;
			pending = true;
			err = end->role == FB_RAW_POSTS ? push_all(e, end) : make_ready(e, end);
		}
		if (err || !pending)
			return err;
		err = fb_raw_poll_or_wait(e, &looks);
		if (err)
			return err;
	}
}

/* Signals a passive peer that its bytes were moved: by memory that both reach, or by RDMA. */
static int signal_peer(struct fb_raw_request *r, const struct fb_raw_end *end)
{
	_Atomic uint64_t *counter = fb_raw_counter(r, end->peer);

	if (!counter)
		return fb_raw_flag(r->engine, end->peer, offsetof(struct fb_raw_cells, finished),
				   ++r->engine->links[end->peer].finished);
	atomic_fetch_add_explicit(counter, 1, memory_order_release);
	return FB_OK;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Sleeps until the counter reaches `wanted`: at first for as long as the last run took. */
static int sleep_until(struct fb_raw_request *r, const _Atomic uint64_t *counter, uint64_t wanted,
		       int calls)
{
	int64_t start = now_ns(), guess_ns = r->call_ns * calls, slept_ns = 0;
	int err = FB_OK, naps = 0;

	while (!err && atomic_load_explicit(counter, memory_order_acquire) < wanted) {
		struct timespec nap = {.tv_nsec = guess_ns - slept_ns};

		if (nap.tv_nsec < NAP + guess_ns / 16)
			nap.tv_nsec = NAP + guess_ns / 16;
		if (nap.tv_nsec > LONG_NAP)
			nap.tv_nsec = LONG_NAP;
		nanosleep(&nap, NULL);
		slept_ns += nap.tv_nsec;
		naps++;
		err = fb_raw_look_up(r->engine, "waiting for one-sided operations");
	}
	/* A single nap may have been too long by any amount. */
	r->call_ns = (naps > 1 ? now_ns() - start : guess_ns / 16 * 15) / calls;
	return err;
}

/*
 * Waits until the operations that other ranks carry out on this rank's memory are complete. If
 * there are none, it returns at once and reads no clock. A passive rank with a processor of its own
 * polls like all other ranks, because sleeping made the active rank slower. On two emulated
 * processors READs of 8 bytes took 1.16 and 1.30 times as long when the passive rank slept by a
 * timer (two boots), and 1.05 to 1.30 times as long when the other end woke it (futex). Timers and
 * wake-ups disturb the kernel that moves the bytes. And the harness takes a batch that waited for a
 * sleeping rank for a long one, so that the next batches have fewer calls. If ranks share
 * processors, the passive rank does sleep by a timer: that it wakes up late is in no time that
 * counts. With --rdma-wait event it sleeps until its device reports the peer's number.
 */
static int wait_passive(struct fb_raw_request *r, const _Atomic uint64_t *counter, uint64_t wanted,
			int calls)
{
	unsigned looks = 0, most = r->engine->world->oversubscribed ? FB_SPIN_CROWDED : UINT_MAX;
	int err = FB_OK;

	for (int i = 0; i < r->nends; i++)
		if (r->ends[i].role == FB_RAW_POSTS || r->wait != FB_RDMA_WAIT_POLL)
			most = UINT_MAX;
	while (!err && atomic_load_explicit(counter, memory_order_acquire) < wanted) {
		if (looks >= most)
			return sleep_until(r, counter, wanted, calls);
		err = r->wait == FB_RDMA_WAIT_POLL ? fb_raw_again_in_memory(r->engine, &looks)
						   : fb_raw_poll_or_wait(r->engine, &looks);
	}
	return err;
}

static int one_sided(struct fb_raw_request *r, int calls)
{
	struct fb_raw_engine *e = r->engine;
	int err = drive(r);

	for (int i = 0; i < r->nends && !err; i++) {
		struct fb_raw_end *end = &r->ends[i];

		if (end->role == FB_RAW_POSTS)
			err = signal_peer(r, end);
		else if (fb_raw_counter(r, end->peer))
			r->completions++;
		else
			e->links[end->peer].expected++;
	}
	if (!err && r->completions)
		err = wait_passive(r, fb_raw_counter(r, e->world->rank), r->completions, calls);
	for (int i = 0; i < r->nends && !err; i++) {
		const struct fb_raw_end *end = &r->ends[i];

		if (end->role == FB_RAW_WAITS)
			err = wait_passive(r, &e->cells[end->peer].finished,
					   e->links[end->peer].expected, calls);
	}
	fb_rdma_from_device();
	return err;
}

int fb_raw_run(struct fb_p2p_request *request, int calls)
{
	struct fb_raw_request *r = (struct fb_raw_request *)request;
	uint64_t messages = (uint64_t)calls * (uint64_t)r->job->window;
	bool ping_pongs = r->job->pattern == FB_PING_PONG;
	/* A rank of the load: no call was announced for it, and no settle follows. */
	bool load = r->nends && r->ends[0].announced < r->ends[0].target + messages;
	int err = load ? fb_raw_ready(request, calls) : FB_OK;

	r->engine->lanes = r->lanes;
	r->engine->wait = r->wait;
	for (int i = 0; i < r->nends; i++) {
		struct fb_raw_end *end = &r->ends[i];

		end->target += messages;
		for (int l = 0; l < end->nlanes; l++) {
			struct fb_raw_lane *lane = &end->lanes[l];

			lane->target = fb_raw_parts(&lane->share, end->target);
			lane->last = ping_pongs ? lane->announced : lane->target;
		}
		if (end->credits && end->role == FB_RAW_POSTS)
			r->engine->links[end->peer].sent += messages;
		else if (end->credits)
			r->engine->links[end->peer].received += messages;
	}
	if (err)
		return err;
	if (r->job->verb != FB_SEND)
		err = one_sided(r, calls);
	else
		err = ping_pongs ? fb_raw_ping_pong(r, calls) : drive(r);
	return err || !load ? err : fb_raw_settle(request);
}

#endif
