/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared code for posting and polling in the rdma engine, and requests that are prepared before
 * they are posted (ibv_wr_start): a rank that will answer a message does everything but ring the
 * doorbell before the message comes. Internal to p2p/engine/rdma_*.c.
 */
#ifndef FB_P2P_ENGINE_RDMA_LANE_H
#define FB_P2P_ENGINE_RDMA_LANE_H

#include "common/base/error.h"
#include "p2p/engine/rdma.h"

#if FB_HAVE_VERBS

/* wr_id: what it is, of whom (a lane, a peer), and how many parts are done with it. */
enum fb_raw_kind { FB_RAW_PART, FB_RAW_RECEIVE, FB_RAW_FLAG, FB_RAW_BELL };
enum {
	FB_RAW_KIND_SHIFT = 62,
	FB_RAW_INDEX_SHIFT = 40,
	FB_RAW_INDEX_MASK = (1 << (FB_RAW_KIND_SHIFT - FB_RAW_INDEX_SHIFT)) - 1,
};

/* 2^40 messages of one lane in one case are 3 hours at 100 million a second. */
#define FB_RAW_NUMBER_MASK ((UINT64_C(1) << FB_RAW_INDEX_SHIFT) - 1)

static inline uint64_t fb_raw_identity(enum fb_raw_kind kind, int index, uint64_t number)
{
	return (uint64_t)kind << FB_RAW_KIND_SHIFT | (uint64_t)index << FB_RAW_INDEX_SHIFT |
	       (number & FB_RAW_NUMBER_MASK);
}

/* Gives the request the next part's number, and requests a completion if one is due. */
static inline void fb_raw_number(struct fb_raw_lane *lane, struct ibv_send_wr *wr)
{
	lane->posted++;
	if (++lane->unsignalled < lane->signal && lane->posted != lane->last) {
		wr->send_flags = lane->flags;
		return;
	}
	lane->unsignalled = 0;
	wr->send_flags = lane->flags | IBV_SEND_SIGNALED;
	wr->wr_id = lane->identity | (lane->posted & FB_RAW_NUMBER_MASK);
}

/* Prints that the device did not accept `what` (errno `error`). Returns FB_ESYS. */
int fb_raw_refused(const struct fb_raw_lane *lane, const char *what, int error);

/*
 * Whether the lane's next request can be prepared before it is posted. It cannot if the device has
 * no ibv_wr_start, or if addresses change from request to request. Inline bytes are read when the
 * request is prepared, which is before the message that they answer has arrived. And soft-RoCE's
 * library (rdma-core 44) takes all pieces of a request to be as long as the first one.
 */
static inline bool fb_raw_makes(const struct fb_raw_lane *lane)
{
	return lane->queue->builder && !lane->moves && !(lane->flags & IBV_SEND_INLINE) &&
	       lane->wr->num_sge == 1;
}

/*
 * Prepares the request lane->wr; fb_raw_makes() is true, and the queue has room for it. Until
 * fb_raw_post_made() nothing else may be posted to the send queue; receives and polling may.
 */
static inline void fb_raw_make(struct fb_raw_lane *lane)
{
	struct ibv_qp_ex *builder = lane->queue->builder;
	const struct ibv_send_wr *wr = lane->wr;

	ibv_wr_start(builder);
	builder->wr_id = wr->wr_id;
	builder->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(builder);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(builder, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(builder, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				      wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(builder, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	default: /* FETCH_ADD: what COMPARE_SWAP needs to know moves */
		ibv_wr_atomic_fetch_add(builder, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
	}
	ibv_wr_set_sge(builder, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
	lane->made = true;
}

/* FB_OK or FB_ESYS (printed). */
static inline int fb_raw_post_made(struct fb_raw_lane *lane)
{
	int error = ibv_wr_complete(lane->queue->builder);

	lane->made = false;
	return error ? fb_raw_refused(lane, fb_raw_verbs[lane->verb], error) : FB_OK;
}

/* Takes a request back that is made and not posted, if there is one. */
static inline void fb_raw_unmake(struct fb_raw_lane *lane)
{
	if (lane->made)
		ibv_wr_abort(lane->queue->builder);
	lane->made = false;
}

#endif
#endif
