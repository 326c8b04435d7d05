/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting in the rdma engine. This code runs for every message, so all that can be computed before
 * is computed when the job is prepared. See rdma.h; polling is in rdma_poll.c.
 */
#include "p2p/engine/rdma_lane.h"

#if FB_HAVE_VERBS

#include <arpa/inet.h>
#include <string.h>

#include "common/base/error.h"

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
		/* The processor cannot read GPU memory: all regions have the first one's value. */
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
	lane->identity = fb_raw_identity(FB_RAW_PART, lane->id, 0);
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
			.wr_id = fb_raw_identity(FB_RAW_RECEIVE, lane->id, 0),
			.next = i + 1 < FB_RAW_LIST ? &lane->receive[i + 1] : NULL,
			.sg_list = lane->wr[i].sg_list,
			.num_sge = lane->verb == FB_RAW_SEND ? lane->wr[i].num_sge : 0,
		};
	}
}

int fb_raw_refused(const struct fb_raw_lane *lane, const char *what, int error)
{
	return fb_error(FB_ESYS, "rdma: %s to rank %d not accepted by %s: %s", what,
			lane->queue->peer, lane->queue->completions->rail->name, strerror(error));
}

int fb_raw_post(struct fb_raw_lane *lane, uint32_t n)
{
	struct ibv_send_wr *last = &lane->wr[n - 1], *next = last->next, *bad;
	int error;

	for (uint32_t i = 0; i < n; i++) {
		/* Most often there is one region: then the request is as it was built. */
		if (lane->moves)
			aim(lane, &lane->wr[i], next_region(lane));
		fb_raw_number(lane, &lane->wr[i]);
	}
	last->next = NULL;
	error = ibv_post_send(lane->queue->qp, lane->wr, &bad);
	last->next = next;
	return error ? fb_raw_refused(lane, fb_raw_verbs[lane->verb], error) : FB_OK;
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
	return error ? fb_raw_refused(lane, "receives from rank", error) : FB_OK;
}

int fb_raw_post_bells(struct fb_raw_engine *e, int peer, int n)
{
	struct ibv_recv_wr *bad, wr = {.wr_id = fb_raw_identity(FB_RAW_BELL, peer, 0)};
	int error = 0;

	for (int i = 0; i < n && !error; i++)
		error = ibv_post_recv(fb_raw_bell(e, peer)->qp, &wr, &bad);
	return error ? fb_error(FB_ESYS, "rdma: receives from rank %d not accepted by %s: %s",
				peer, e->rails[0].name, strerror(error))
		     : FB_OK;
}

int fb_raw_flag(struct fb_raw_engine *e, int peer, size_t offset, uint64_t value)
{
	bool wakes = e->wait != FB_RDMA_WAIT_POLL;
	struct fb_raw_link *link = &e->links[peer];
	struct ibv_sge sge = {.addr = (uintptr_t)&value, .length = sizeof(value)};
	struct ibv_send_wr *bad, wr = {
		.wr_id = fb_raw_identity(FB_RAW_FLAG, peer, 0), .sg_list = &sge, .num_sge = 1,
		.opcode = wakes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = e->far_cells[peer].base + offset,
			    .rkey = e->far_cells[peer].rkey[0]},
	};
	unsigned looks = 0;
	int error, err = FB_OK;

	while (link->flags >= FB_RAW_FLAGS && !err)
		err = fb_raw_poll_or_wait(e, &looks);
	if (err)
		return err;
	error = ibv_post_send(wakes ? fb_raw_bell(e, peer)->qp : link->queues->qp, &wr, &bad);
	if (error)
		return fb_error(FB_ESYS, "rdma: a number for rank %d not accepted by %s: %s", peer,
				e->rails[0].name, strerror(error));
	link->flags++;
	return FB_OK;
}

#endif
