/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions of the rdma engine, and the loops of ranks with a single lane; see rdma.h. */
#include "p2p/engine/rdma_lane.h"

#if FB_HAVE_VERBS

#include "common/base/error.h"

enum { POLL = 16 }; /* completions taken at once */

static int take_receive(struct fb_raw_lane *lane, const struct ibv_wc *wc)
{
	enum ibv_wc_opcode opcode =
		lane->verb == FB_RAW_SEND ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;

	if (wc->opcode != opcode || wc->byte_len != lane->share.bytes)
		return fb_error(FB_EPEER, "rdma: from rank %d came %u bytes, not the %zu of %s",
				lane->queue->peer, wc->byte_len, lane->share.bytes,
				fb_raw_verbs[lane->verb]);
	lane->done++;
	return FB_OK;
}

static int take(struct fb_raw_engine *e, struct fb_rdma_completions *c, const struct ibv_wc *wc)
{
	int index = (int)(wc->wr_id >> FB_RAW_INDEX_SHIFT) & FB_RAW_INDEX_MASK;
	unsigned kind = (unsigned)(wc->wr_id >> FB_RAW_KIND_SHIFT);

	if (wc->status != IBV_WC_SUCCESS)
		return fb_rdma_failed(c, wc);
	if (kind == FB_RAW_PART)
		e->lanes[index].done = wc->wr_id & FB_RAW_NUMBER_MASK;
	else if (kind == FB_RAW_RECEIVE)
		return take_receive(&e->lanes[index], wc);
	else if (kind == FB_RAW_FLAG)
		e->links[index].flags--;
	else
		return fb_raw_post_bells(e, index, 1);
	return FB_OK;
}

static int unreadable(const struct fb_raw_engine *e, int rail)
{
	return fb_error(FB_ESYS, "rdma: %s: the completion queue cannot be read",
			e->rails[rail].name);
}

static int poll_rail(struct fb_raw_engine *e, int rail)
{
	struct fb_rdma_completions *c = &e->completions[rail];
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(c->cq, POLL, wc), err = FB_OK;

	if (n < 0)
		return unreadable(e, rail);
	c->taken += (unsigned)n;
	for (int i = 0; i < n && !err; i++)
		err = take(e, c, &wc[i]);
	return err ? err : n;
}

int fb_raw_poll(struct fb_raw_engine *e)
{
	int taken = poll_rail(e, 0);

	for (int r = 1; r < e->nrails && taken >= 0; r++) {
		int n = poll_rail(e, r);

		taken = n < 0 ? n : taken + n;
	}
	return taken;
}

/* Polls until the lane has `wanted` parts done. */
static int await(struct fb_raw_engine *e, const struct fb_raw_lane *lane, uint64_t wanted)
{
	unsigned looks = 0;
	int err = FB_OK, taken;

	while (!err && lane->done < wanted) {
		taken = poll_rail(e, lane->share.rail);
		if (taken > 0)
			looks = 0;
		else
			err = taken ? taken : fb_raw_again(e, &looks);
	}
	return err;
}

/*
 * Polls until the lane's request `wanted` is complete. It is the only one under way, so this loop
 * is short: all of it is in the request's time. Other completions are handled as everywhere.
 */
static int await_only(struct fb_raw_engine *e, struct fb_raw_lane *lane, uint64_t wanted)
{
	struct fb_rdma_completions *c = &e->completions[lane->share.rail];
	unsigned looks = 0;
	struct ibv_wc wc;
	int err = FB_OK;

	while (!err) {
		int n = ibv_poll_cq(c->cq, 1, &wc);

		if (n > 0) {
			c->taken++;
			if (wc.wr_id == wanted && wc.status == IBV_WC_SUCCESS) {
				lane->done = lane->posted;
				return FB_OK;
			}
			err = take(e, c, &wc);
			looks = 0;
		} else {
			err = n ? unreadable(e, lane->share.rail) : fb_raw_again(e, &looks);
		}
	}
	return err;
}

/* Makes the lane's next request; each asks for its completion. */
static void make_next(struct fb_raw_lane *lane)
{
	lane->wr->wr_id = lane->identity | ((lane->posted + 1) & FB_RAW_NUMBER_MASK);
	lane->wr->send_flags = lane->flags | IBV_SEND_SIGNALED;
	fb_raw_make(lane);
}

/* One request at a time, and the next one is made meanwhile. */
static int drive_made(struct fb_raw_engine *e, struct fb_raw_lane *lane)
{
	int err = FB_OK;

	if (lane->posted < lane->target)
		make_next(lane);
	while (!err && lane->made) {
		uint64_t number = lane->wr->wr_id;

		lane->posted++;
		err = fb_raw_post_made(lane);
		if (!err && lane->posted < lane->target)
			make_next(lane);
		if (!err)
			err = await_only(e, lane, number);
	}
	if (err)
		fb_raw_unmake(lane);
	return err;
}

int fb_raw_drive_alone(struct fb_raw_engine *e, struct fb_raw_lane *lane)
{
	int err = FB_OK;

	if (lane->window == 1 && fb_raw_makes(lane))
		return drive_made(e, lane);
	while (!err && lane->done < lane->target) {
		err = fb_raw_push(lane, lane->target, (uint32_t)e->settings->batch);
		if (!err)
			err = await(e, lane, lane->done + 1);
	}
	return err;
}

#endif
