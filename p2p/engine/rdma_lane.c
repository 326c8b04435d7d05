/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting and polling of the rdma engine: what happens for every message, so nothing happens here
 * that could have happened before. See rdma.h.
 */
#include "p2p/engine/rdma.h"

#if FB_HAVE_VERBS

#include <arpa/inet.h>
#include <string.h>

#include "common/error.h"
#include "common/spin.h"

/* wr_id: what it is, of whom (a lane, a peer), and how many parts are done with it. */
enum { KIND_SHIFT = 62, INDEX_SHIFT = 40, INDEX_MASK = (1 << (KIND_SHIFT - INDEX_SHIFT)) - 1 };
enum { PART, RECEIVE, FLAG };

/* 2^40 messages of one lane in one case are 3 hours at 100 million a second. */
static const uint64_t number_mask = (UINT64_C(1) << INDEX_SHIFT) - 1;

enum { POLL = 16 }; /* completions taken at once */

static uint64_t identity(unsigned kind, int index, uint64_t number)
{
	return (uint64_t)kind << KIND_SHIFT | (uint64_t)index << INDEX_SHIFT |
	       (number & number_mask);
}

/* The next region's offset. */
static size_t next_region(struct fb_raw_lane *lane)
{
	size_t at = lane->region * lane->stride;

	lane->region += lane->region_step;
	if (lane->region >= lane->regions)
		lane->region -= lane->regions;
	return at;
}

static void aim_pieces(const struct fb_raw_lane *lane, struct ibv_sge *sges, int n, char *local)
{
	for (int i = 0; i < n; i++, local += lane->piece)
		sges[i].addr = (uintptr_t)local;
}

/* Addresses of a part in the region that begins `at` bytes behind the first one. */
static void aim(const struct fb_raw_lane *lane, struct ibv_send_wr *wr, size_t at)
{
	char *local = lane->local + at;
	uint64_t seen;

	aim_pieces(lane, wr->sg_list, wr->num_sge, local);
	if (fb_raw_is_atomic(lane->verb))
		wr->wr.atomic.remote_addr = lane->remote + at;
	else
		wr->wr.rdma.remote_addr = lane->remote + at;
	if (lane->verb == FB_RAW_COMPARE_SWAP) {
		/* What the processor cannot read: the first region's, for all of them. */
		seen = lane->seen;
		if (!lane->device)
			memcpy(&seen, local, sizeof(seen));
		wr->wr.atomic.compare_add = wr->wr.atomic.swap = seen;
	}
}

static void build_request(struct fb_raw_lane *lane, int i, uint32_t lkey, uint32_t rkey)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[FB_RAW_SEND] = IBV_WR_SEND,
		[FB_RAW_WRITE] = IBV_WR_RDMA_WRITE,
		[FB_RAW_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[FB_RAW_READ] = IBV_WR_RDMA_READ,
		[FB_RAW_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[FB_RAW_COMPARE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	bool carries = lane->verb == FB_RAW_SEND || lane->verb == FB_RAW_WRITE ||
		       lane->verb == FB_RAW_WRITE_IMM;
	struct ibv_send_wr *wr = &lane->wr[i];
	uint32_t sges = lane->queue->sges;

	*wr = (struct ibv_send_wr){
		.next = i + 1 < FB_RAW_LIST ? wr + 1 : NULL,
		.sg_list = &lane->sge[(uint32_t)i * sges], .opcode = opcodes[lane->verb],
	};
	wr->num_sge = fb_rdma_split(0, (uint32_t)lane->share.bytes, lkey,
				    fb_raw_is_atomic(lane->verb) ? 1 : (int)sges, wr->sg_list);
	lane->piece = wr->sg_list->length;
	/* Inline bytes are read by the processor. */
	if (carries && !lane->device && lane->share.bytes <= lane->queue->max_inline)
		lane->flags = IBV_SEND_INLINE;
	if (lane->verb == FB_RAW_WRITE_IMM)
		wr->imm_data = htonl((uint32_t)lane->id);
	if (fb_raw_is_atomic(lane->verb))
		wr->wr.atomic.rkey = rkey;
	else
		wr->wr.rdma.rkey = rkey;
	aim(lane, wr, 0);
}

void fb_raw_lane_build(struct fb_raw_lane *lane, char *local, uint32_t lkey, uint64_t remote,
		       uint32_t rkey, bool receives, const struct fb_rdma_settings *settings)
{
	uint64_t half = lane->window / 2;

	lane->local = local;
	lane->remote = remote;
	lane->moves = lane->regions > 1 || lane->verb == FB_RAW_COMPARE_SWAP;
	lane->identity = identity(PART, lane->id, 0);
	lane->region = (uint32_t)(lane->share.first % lane->regions);
	lane->region_step = (uint32_t)(lane->share.step % lane->regions);
	/* A completion at least twice in a window, so that posting never waits for all of it. */
	lane->signal = (uint32_t)(settings->signal < half ? settings->signal : half);
	if (!lane->signal)
		lane->signal = 1;
	for (int i = 0; i < FB_RAW_LIST; i++) {
		build_request(lane, i, lkey, rkey);
		if (!receives)
			continue;
		lane->receive[i] = (struct ibv_recv_wr){
			.wr_id = identity(RECEIVE, lane->id, 0),
			.next = i + 1 < FB_RAW_LIST ? &lane->receive[i + 1] : NULL,
			.sg_list = lane->wr[i].sg_list,
			.num_sge = lane->verb == FB_RAW_SEND ? lane->wr[i].num_sge : 0,
		};
	}
}

static int refused(const struct fb_raw_lane *lane, const char *what, int error)
{
	return fb_error(FB_ESYS, "rdma: %s to rank %d not accepted by %s: %s", what,
			lane->queue->peer, lane->queue->completions->rail->name, strerror(error));
}

/* The next part's number, if it is asked for. */
static inline void number(struct fb_raw_lane *lane, struct ibv_send_wr *wr)
{
	lane->posted++;
	if (++lane->unsignalled < lane->signal && lane->posted != lane->last) {
		wr->send_flags = lane->flags;
		return;
	}
	lane->unsignalled = 0;
	wr->send_flags = lane->flags | IBV_SEND_SIGNALED;
	wr->wr_id = lane->identity | (lane->posted & number_mask);
}

int fb_raw_post(struct fb_raw_lane *lane, uint32_t n)
{
	struct ibv_send_wr *last = &lane->wr[n - 1], *next = last->next, *bad;
	int error;

	for (uint32_t i = 0; i < n; i++) {
		/* Most often there is one region: then the request is as it was built. */
		if (lane->moves)
			aim(lane, &lane->wr[i], next_region(lane));
		number(lane, &lane->wr[i]);
	}
	last->next = NULL;
	error = ibv_post_send(lane->queue->qp, lane->wr, &bad);
	last->next = next;
	return error ? refused(lane, fb_raw_verbs[lane->verb], error) : FB_OK;
}

bool fb_raw_make(struct fb_raw_lane *lane)
{
	struct ibv_qp_ex *builder = lane->queue->builder;
	struct ibv_send_wr *wr = lane->wr;

	/* Of pieces soft-RoCE's library takes all for as long as the first (rdma-core 44). */
	if (!builder || lane->moves || lane->flags & IBV_SEND_INLINE || wr->num_sge != 1)
		return false;
	number(lane, wr);
	ibv_wr_start(builder);
	builder->wr_id = wr->wr_id;
	builder->wr_flags = wr->send_flags;
	if (wr->opcode == IBV_WR_SEND)
		ibv_wr_send(builder);
	else if (wr->opcode == IBV_WR_RDMA_WRITE)
		ibv_wr_rdma_write(builder, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
	else
		ibv_wr_rdma_write_imm(builder, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				      wr->imm_data);
	ibv_wr_set_sge(builder, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
	lane->made = true;
	return true;
}

int fb_raw_post_made(struct fb_raw_lane *lane)
{
	int error = ibv_wr_complete(lane->queue->builder);

	lane->made = false;
	return error ? refused(lane, fb_raw_verbs[lane->verb], error) : FB_OK;
}

void fb_raw_unmake(struct fb_raw_lane *lane)
{
	if (lane->made)
		ibv_wr_abort(lane->queue->builder);
	lane->made = false;
}

int fb_raw_push(struct fb_raw_lane *lane, uint64_t allowed, uint32_t batch)
{
	int err = FB_OK;

	while (!err && lane->posted < allowed) {
		uint64_t room = lane->window - (lane->posted - lane->done);
		uint64_t n = allowed - lane->posted;

		n = n < room ? n : room;
		if (!n)
			return FB_OK;
		err = fb_raw_post(lane, (uint32_t)(n < batch ? n : batch));
	}
	return err;
}

int fb_raw_post_receives(struct fb_raw_lane *lane, uint32_t n)
{
	struct ibv_recv_wr *last = &lane->receive[n - 1], *next = last->next, *bad;
	int error;

	for (uint32_t i = 0; i < n && lane->moves; i++)
		aim_pieces(lane, lane->receive[i].sg_list, lane->receive[i].num_sge,
			   lane->local + next_region(lane));
	lane->posted += n;
	last->next = NULL;
	error = ibv_post_recv(lane->queue->qp, lane->receive, &bad);
	last->next = next;
	return error ? refused(lane, "receives from rank", error) : FB_OK;
}

int fb_raw_flag(struct fb_raw_engine *e, int peer, size_t offset, uint64_t value)
{
	struct fb_raw_link *link = &e->links[peer];
	struct ibv_sge sge = {.addr = (uintptr_t)&value, .length = sizeof(value)};
	struct ibv_send_wr *bad, wr = {
		.wr_id = identity(FLAG, peer, 0), .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = e->far_cells[peer].base + offset,
			    .rkey = e->far_cells[peer].rkey[0]},
	};
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	int error, taken = 0;

	while (link->flags >= FB_RAW_FLAGS && taken >= 0) {
		taken = fb_raw_poll(e);
		if (!taken && fb_spin_again(&spin))
			taken = fb_raw_look_up(e, "waiting to tell a peer");
	}
	if (taken < 0)
		return taken;
	error = ibv_post_send(link->queues->qp, &wr, &bad);
	if (error)
		return fb_error(FB_ESYS, "rdma: a number for rank %d not accepted by %s: %s", peer,
				e->rails[0].name, strerror(error));
	link->flags++;
	return FB_OK;
}

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
	int index = (int)(wc->wr_id >> INDEX_SHIFT) & INDEX_MASK;
	unsigned kind = (unsigned)(wc->wr_id >> KIND_SHIFT);

	if (wc->status != IBV_WC_SUCCESS)
		return fb_rdma_failed(c, wc);
	if (kind == PART)
		e->lanes[index].done = wc->wr_id & number_mask;
	else if (kind == RECEIVE)
		return take_receive(&e->lanes[index], wc);
	else
		e->links[index].flags--;
	return FB_OK;
}

static int poll_rail(struct fb_raw_engine *e, int rail)
{
	struct fb_rdma_completions *c = &e->completions[rail];
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(c->cq, POLL, wc), err = FB_OK;

	if (n < 0)
		return fb_error(FB_ESYS, "rdma: %s: the completion queue cannot be read",
				e->rails[rail].name);
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

int fb_raw_drive_alone(struct fb_raw_engine *e, struct fb_raw_lane *lane)
{
	unsigned looks = 0;
	int err = FB_OK, taken;

	while (!err && lane->done < lane->target) {
		if (lane->posted < lane->target)
			err = fb_raw_push(lane, lane->target, (uint32_t)e->settings->batch);
		taken = err ? err : poll_rail(e, lane->share.rail);
		if (taken > 0)
			looks = 0;
		else
			err = taken ? taken : fb_raw_again(e, &looks);
	}
	return err;
}

#else

extern const int fb_raw_lane_missing;
const int fb_raw_lane_missing = 1;

#endif
