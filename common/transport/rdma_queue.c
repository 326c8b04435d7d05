/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting to queue pairs and polling; see rdma_queue.h. */
#include "common/transport/rdma_queue.h"

#if FB_HAVE_VERBS

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/transport/rdma_error.h"

enum {
	POLL = 16,          /* completions taken at once */
	NUMBER_BITS = 40,   /* of wr_id; the rest is the queue's index */
};

static const uint64_t number_mask = (UINT64_C(1) << NUMBER_BITS) - 1;
static const uint64_t receive_id = UINT64_MAX;

static const char *opcode_name(enum ibv_wr_opcode opcode)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		const char *name;
	} names[] = {
		{IBV_WR_RDMA_WRITE, "WRITE"}, {IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE_WITH_IMM"},
		{IBV_WR_RDMA_READ, "READ"}, {IBV_WR_SEND, "SEND"},
		{IBV_WR_SEND_WITH_IMM, "SEND_WITH_IMM"},
		{IBV_WR_ATOMIC_CMP_AND_SWP, "compare-and-swap"},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, "fetch-and-add"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].opcode == opcode)
			return names[i].name;
	return "work request";
}

static void describe(const struct fb_rdma_queue *queue, char *text, size_t n)
{
	char rail[160];

	fb_rdma_rail_text(queue->completions->rail, rail, sizeof(rail));
	if (queue->peer < 0)
		snprintf(text, n, "%s", rail);
	else
		snprintf(text, n, "rank %d%s%s by %s", queue->peer, queue->host ? " on host " : "",
			 queue->host ? queue->host : "", rail);
}

int fb_rdma_queue_ring(struct fb_rdma_queue *queue)
{
	struct ibv_send_wr *bad = NULL;
	char text[256];
	int error;

	if (!queue->npending)
		return FB_OK;
	queue->wr[queue->npending - 1].next = NULL;
	queue->npending = 0;
	error = ibv_post_send(queue->qp, queue->wr, &bad);
	if (!error)
		return FB_OK;
	describe(queue, text, sizeof(text));
	return fb_error(FB_ESYS, "rdma: %s: %s not accepted by the device: %s", text,
			bad ? opcode_name(bad->opcode) : "work request", strerror(error));
}

/* Takes the next place in the list. */
static struct ibv_send_wr *next(struct fb_rdma_queue *queue, bool signal)
{
	int i = queue->npending++;
	struct ibv_send_wr *wr = &queue->wr[i];

	memset(wr, 0, sizeof(*wr));
	wr->next = wr + 1;
	wr->sg_list = &queue->sge[(uint32_t)i * queue->sges];
	queue->posted++;
	wr->wr_id = (uint64_t)queue->index << NUMBER_BITS | (queue->posted & number_mask);
	if (signal || queue->posted - queue->signalled >= queue->signal) {
		queue->signalled = queue->posted;
		queue->completions->room--;
		wr->send_flags = IBV_SEND_SIGNALED;
	}
	return wr;
}

int fb_rdma_split(uint64_t at, uint32_t bytes, uint32_t lkey, int n, struct ibv_sge *sges)
{
	uint32_t piece = (bytes + (uint32_t)n - 1) / (uint32_t)n, done = 0;
	int pieces = 0;

	for (; done < bytes; done += sges[pieces++].length)
		sges[pieces] = (struct ibv_sge){
			.addr = at + done, .lkey = lkey,
			.length = bytes - done < piece ? bytes - done : piece};
	return pieces;
}

int fb_rdma_queue_add(struct fb_rdma_queue *queue, const struct fb_rdma_request *r)
{
	struct ibv_send_wr *wr = next(queue, r->signal);
	bool writes = r->opcode != IBV_WR_RDMA_READ && r->opcode != IBV_WR_ATOMIC_CMP_AND_SWP &&
		      r->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD;

	wr->opcode = r->opcode;
	wr->imm_data = htonl(r->imm);
	/* Up to 8 bytes, such as the result of an atomic, are one piece. */
	if (!r->npieces)
		wr->num_sge = fb_rdma_split((uintptr_t)r->local, r->bytes, r->lkey,
					    r->bytes > sizeof(uint64_t) ? (int)queue->sges : 1,
					    wr->sg_list);
	for (int i = 0; i < r->npieces; i++)
		wr->sg_list[wr->num_sge++] = r->piece[i];
	if (r->fence)
		wr->send_flags |= IBV_SEND_FENCE;
	if (writes && r->bytes <= queue->max_inline && r->bytes)
		wr->send_flags |= IBV_SEND_INLINE;
	if (r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = r->remote;
		wr->wr.atomic.rkey = r->rkey;
		wr->wr.atomic.compare_add = r->compare_add;
		wr->wr.atomic.swap = r->swap;
	} else {
		wr->wr.rdma.remote_addr = r->remote;
		wr->wr.rdma.rkey = r->rkey;
	}
	return queue->npending >= (int)queue->batch ? fb_rdma_queue_ring(queue) : FB_OK;
}

int fb_rdma_queue_flag(struct fb_rdma_queue *queue, uint64_t value, uint64_t remote,
		       uint32_t rkey, bool signal, bool wakes)
{
	uint64_t *place = &queue->value[queue->npending];
	struct fb_rdma_request request = {
		.opcode = wakes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.local = place, .bytes = sizeof(*place), .remote = remote, .rkey = rkey,
		.imm = FB_RDMA_WAKE, .signal = signal,
	};

	*place = value;
	return fb_rdma_queue_add(queue, &request);
}

/* A receive without memory: it takes the immediate data of one message. */
static int post_receive(struct fb_rdma_queue *queue)
{
	struct ibv_recv_wr wr = {.wr_id = receive_id}, *bad;

	return ibv_post_recv(queue->qp, &wr, &bad) ? FB_ESYS : FB_OK;
}

static struct fb_rdma_queue *find_by_number(const struct fb_rdma_completions *c, uint32_t qpn)
{
	for (uint32_t i = 0; i < c->nqueues; i++)
		if (c->queues[i] && c->queues[i]->qp->qp_num == qpn)
			return c->queues[i];
	return NULL;
}

int fb_rdma_failed(struct fb_rdma_completions *c, const struct ibv_wc *wc)
{
	struct fb_rdma_queue *queue = find_by_number(c, wc->qp_num);
	char text[256] = "a queue pair that is gone";

	/* After the first failure all later requests are flushed, which tells nothing new. */
	if (c->broken)
		return FB_EPEER;
	c->broken = true;
	if (queue)
		describe(queue, text, sizeof(text));
	return fb_error(FB_EPEER, "rdma: %s: %s (status %d, vendor %#x): %s (check %s); the own "
			"port is %s",
			text, c->rail->verbs->wc_status_str(wc->status), (int)wc->status,
			(unsigned)wc->vendor_err, fb_rdma_status_meaning(wc->status),
			fb_rdma_status_check(wc->status), fb_rdma_rail_state(c->rail));
}

static int take_receive(struct fb_rdma_completions *c, const struct ibv_wc *wc)
{
	struct fb_rdma_queue *queue = find_by_number(c, wc->qp_num);

	c->room++;
	if (!queue || wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM || !c->arrived ||
	    !c->arrived(c->arg, ntohl(wc->imm_data)))
		return fb_error(FB_EPEER, "rdma: received a message that nobody waits for");
	c->room--;
	return post_receive(queue);
}

static int take(struct fb_rdma_completions *c, const struct ibv_wc *wc)
{
	struct fb_rdma_queue *queue;
	uint64_t number;

	if (wc->status != IBV_WC_SUCCESS)
		return fb_rdma_failed(c, wc);
	if (wc->wr_id == receive_id)
		return take_receive(c, wc);
	c->room++;
	queue = c->queues[wc->wr_id >> NUMBER_BITS];
	if (!queue)
		return FB_OK; /* closed meanwhile */
	/* wr_id has the lower bits of the number; the upper bits follow from the last number. */
	number = (queue->completed & ~number_mask) | (wc->wr_id & number_mask);
	if (number < queue->completed)
		number += number_mask + 1;
	queue->completed = number;
	return FB_OK;
}

int fb_rdma_look_up(struct fb_rdma_completions *rails, int n)
{
	struct timespec now;
	uint64_t taken = 0;
	bool moved;
	int err = FB_OK;

	for (int r = 0; r < n; r++)
		taken += rails[r].taken;
	moved = taken != rails->seen;
	rails->seen = taken;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	for (int r = 0; r < n && !err; r++) {
		rails[r].watch.waits &= !moved;
		err = fb_rdma_watch(&rails[r].watch, rails[r].rail,
				    (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
		rails[r].broken |= err != FB_OK;
	}
	return err;
}

int fb_rdma_poll(struct fb_rdma_completions *c)
{
	struct ibv_wc wc[POLL];
	int n, err = FB_OK;

	if (c->broken)
		return FB_EPEER;
	n = ibv_poll_cq(c->cq, POLL, wc);
	if (n < 0)
		return fb_error(FB_ESYS, "rdma: %s: the completion queue cannot be read",
				c->rail->name);
	c->taken += (unsigned)n;
	for (int i = 0; i < n && !err; i++)
		err = take(c, &wc[i]);
	return err;
}

#endif
