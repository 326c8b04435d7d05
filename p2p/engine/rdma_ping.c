/* SPDX-License-Identifier: BSD-3-Clause */
/* The rdma engine's waits, and its ping-pong, which consists of waits; see rdma.h. */
#include "p2p/engine/rdma_lane.h"

#if FB_HAVE_VERBS

#include "common/base/error.h"
#include "common/base/spin.h"

enum {
	TIGHT = 2048,		 /* looks without a pause, as one costs a tenth of a message */
	LOOKS_PER_CALL = 1 << 14, /* between two of fb_raw_look_up() */
};

int fb_raw_look_up(struct fb_raw_engine *e, const char *doing)
{
	int err = fb_alive(e->engine.session, doing);

	return err ? err : fb_rdma_look_up(e->completions, e->nrails);
}

/* The counterpart of fb_raw_again() for ranks that sleep. */
static int rest(struct fb_raw_engine *e)
{
	uint64_t spin_us = e->wait == FB_RDMA_WAIT_HYBRID ? e->settings->spin_us : 0;
	bool idle;
	int err = fb_rdma_rest(e->completions, e->nrails, spin_us, &idle);

	return err || !idle ? err : fb_raw_look_up(e, "waiting for messages");
}

int fb_raw_again(struct fb_raw_engine *e, unsigned *looks)
{
	if (e->wait != FB_RDMA_WAIT_POLL)
		return rest(e);
	++*looks;
	if (e->world->oversubscribed && *looks > FB_SPIN_CROWDED)
		sched_yield();
	else if (*looks > TIGHT)
		fb_pause();
	return *looks % LOOKS_PER_CALL ? FB_OK : fb_raw_look_up(e, "waiting for messages");
}

int fb_raw_again_in_memory(struct fb_raw_engine *e, unsigned *looks)
{
	int err = fb_raw_again(e, looks), taken = 0;

	if (!err && *looks % LOOKS_PER_CALL == 0)
		taken = fb_raw_poll(e);
	return err ? err : taken < 0 ? taken : FB_OK;
}

int fb_raw_poll_or_wait(struct fb_raw_engine *e, unsigned *looks)
{
	int taken = fb_raw_poll(e);

	if (taken < 0)
		return taken;
	if (!taken)
		return fb_raw_again(e, looks);
	*looks = 0;
	return FB_OK;
}

int fb_raw_refill(struct fb_raw_lane *lane)
{
	int err = FB_OK;

	for (;;) {
		uint64_t room = lane->window - (lane->posted - lane->done);
		uint64_t left = lane->announced - lane->posted;
		uint64_t list = lane->window / 2 < FB_RAW_LIST ? (lane->window + 1) / 2
							       : FB_RAW_LIST;

		if (left < list)
			list = left;
		if (err || !list || room < list)
			return err;
		err = fb_raw_post_receives(lane, (uint32_t)list);
	}
}

/* Waits until the lane has room for its next message. */
static int await_room(struct fb_raw_engine *e, const struct fb_raw_lane *lane)
{
	unsigned looks = 0;
	int err = FB_OK;

	while (!err && lane->posted - lane->done >= lane->window)
		err = fb_raw_poll_or_wait(e, &looks);
	return err;
}

/* Ping-pong: prepares the next request of each lane of the sending end, if its lane allows that. */
static int make_next(struct fb_raw_engine *e, struct fb_raw_end *end)
{
	int err = FB_OK;

	for (int l = 0; l < end->nlanes && !err; l++) {
		struct fb_raw_lane *lane = &end->lanes[l];

		err = await_room(e, lane);
		if (err || !fb_raw_makes(lane))
			continue;
		fb_raw_number(lane, lane->wr);
		fb_raw_make(lane);
	}
	return err;
}

static int send_next(struct fb_raw_engine *e, struct fb_raw_end *end)
{
	int err = FB_OK;

	for (int l = 0; l < end->nlanes && !err; l++) {
		struct fb_raw_lane *lane = &end->lanes[l];

		if (lane->made) {
			err = fb_raw_post_made(lane);
			continue;
		}
		err = await_room(e, lane);
		if (!err)
			err = fb_raw_post(lane, 1);
	}
	return err;
}

static int watch_next(struct fb_raw_engine *e, struct fb_raw_end *end)
{
	unsigned looks = 0;
	int err = FB_OK;

	for (int l = 0; l < end->nlanes; l++) {
		struct fb_raw_lane *lane = &end->lanes[l];
		volatile unsigned char *last =
			(unsigned char *)lane->local + lane->share.bytes - 1;

		while (*last == lane->mark && !err)
			err = fb_raw_again_in_memory(e, &looks);
		if (++lane->done < lane->announced)
			*last = lane->mark;
	}
	fb_rdma_from_device();
	return err;
}

static int receive_next(struct fb_raw_engine *e, struct fb_raw_end *end, uint64_t messages)
{
	unsigned looks = 0;
	int err = FB_OK;

	for (int l = 0; l < end->nlanes && !err; l++) {
		while (!err && end->lanes[l].done < messages)
			err = fb_raw_poll_or_wait(e, &looks);
		/* Before the answer, so that the next message finds a receive. */
		if (!err)
			err = fb_raw_refill(&end->lanes[l]);
	}
	return err;
}

/* Waits for the next message of `end`. Meanwhile it prepares the request of `answer` (or NULL). */
static int take_next(struct fb_raw_request *r, struct fb_raw_end *end, struct fb_raw_end *answer,
		     uint64_t messages)
{
	int err = answer ? make_next(r->engine, answer) : FB_OK;

	if (err)
		return err;
	return end->role == FB_RAW_WATCHES ? watch_next(r->engine, end)
					   : receive_next(r->engine, end, messages);
}

/* ends[0] is of the flow there and ends[1] of the one back, on both of the ranks. */
int fb_raw_ping_pong(struct fb_raw_request *r, int calls)
{
	int err = FB_OK;

	if (!r->nends)
		return FB_OK;
	for (int call = calls - 1; call >= 0 && !err; call--)
		for (int i = 0; i < 2 && !err; i++) {
			struct fb_raw_end *end = &r->ends[i];

			if (end->role == FB_RAW_POSTS)
				err = send_next(r->engine, end);
			else
				err = take_next(r, end, i == 0 || call > 0 ? &r->ends[!i] : NULL,
						end->target - (uint64_t)call);
		}
	for (int l = 0; l < r->nlanes && err; l++)
		fb_raw_unmake(&r->lanes[l]);
	return err;
}

#endif
