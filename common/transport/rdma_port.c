/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol simple over rdma, and what all protocols share; the order of memory is in rdma.h. */
#include "common/transport/rdma_internal.h"

#if FB_HAVE_VERBS

#include "common/base/error.h"

void fb_rdma_send(struct fb_rdma_port *p, int rail, const char *local, uint64_t remote,
		  size_t bytes, bool notify, bool signal)
{
	struct fb_rdma_queue *queue = p->queue[rail];
	size_t most = queue->completions->rail->max_message;
	bool imm = notify && p->rdma->imm;
	int err = FB_OK;

	while (!err && (bytes || imm)) {
		size_t part = bytes < most ? bytes : most;
		bool last = part == bytes;
		struct fb_rdma_request request = {
			.opcode = imm && last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
			.local = local, .lkey = p->lkey[rail], .bytes = (uint32_t)part,
			.remote = remote, .rkey = p->far_rkey[rail],
			.imm = (uint32_t)rail << FB_RDMA_IMM_BITS | p->far_index,
			.signal = signal && last && (imm || !notify),
		};

		err = fb_rdma_queue_add(queue, &request);
		imm = imm && !last;
		local += part;
		remote += part;
		bytes -= part;
	}
	if (notify)
		p->moved[rail]++;
	if (!err && notify && !p->rdma->imm)
		err = fb_rdma_queue_flag(queue, p->moved[rail],
					 FB_RDMA_CELL(p, available) + (size_t)rail * 8,
					 p->far_rkey[rail], signal, false);
	if (!err)
		err = fb_rdma_queue_ring(queue);
	fb_rdma_note(p->rdma, err);
}

bool fb_rdma_slot_free(struct fb_rdma_port *p, size_t bytes)
{
	int first, n;

	if (p->messages - p->seen >= p->nslots) {
		p->seen = atomic_load_explicit(&p->cells->freed, memory_order_acquire);
		if (p->messages - p->seen >= p->nslots)
			return false;
	}
	for (int r = 0; r < p->nrails; r++)
		if (!fb_rdma_queue_done(p->queue[r], p->slot_done[p->slot][r]))
			return false;
	fb_rdma_rails_of(p, bytes, &first, &n);
	/* Twice, because ll may have to clear the slot first. */
	for (int r = first; r < first + n; r++)
		if (fb_rdma_queue_room(p->queue[r]) < 2 * fb_rdma_requests(p, r, p->stride))
			return false;
	return true;
}

/* Only for rails that carried the message: just there a later completion is sure to cover it. */
void fb_rdma_slot_sent(struct fb_rdma_port *p, size_t bytes)
{
	int first, n;

	fb_rdma_rails_of(p, bytes, &first, &n);
	for (int r = first; r < first + n; r++)
		p->slot_done[p->slot][r] = p->queue[r]->posted;
	p->slot = p->slot + 1 == p->nslots ? 0 : p->slot + 1;
	p->messages++;
}

/* While half of the slots are free the sender does not wait, so it is notified only after that. */
void fb_rdma_slot_read(struct fb_rdma_port *p)
{
	p->slot = p->slot + 1 == p->nslots ? 0 : p->slot + 1;
	p->messages++;
	if (++p->owed >= p->nslots - p->nslots / 2)
		fb_rdma_owe(p);
}

/* Writes the peer's cells. False: no room now. */
static bool write_cells(struct fb_rdma_port *p)
{
	struct fb_rdma_queue *queue = p->queue[p->home];
	bool direct = p->port.ops == &fb_rdma_direct_ops;
	bool sleeps = fb_rdma_sleeps(p->rdma->settings);
	uint32_t rkey = p->far_rkey[p->home];
	int err;

	if (fb_rdma_queue_room(queue) < 2)
		return false;
	err = fb_rdma_queue_flag(queue, direct ? p->pulls : p->messages, FB_RDMA_CELL(p, freed),
				 rkey, false, sleeps && !direct);
	if (!err && direct)
		err = fb_rdma_queue_flag(queue, p->credits, FB_RDMA_CELL(p, credits), rkey, false,
					 sleeps);
	if (!err)
		err = fb_rdma_queue_ring(queue);
	fb_rdma_note(p->rdma, err);
	p->owed = 0;
	p->due = false;
	return true;
}

void fb_rdma_owe(struct fb_rdma_port *p)
{
	if (p->due || write_cells(p))
		return;
	p->due = true;
	p->rdma->due[p->rdma->ndue++] = p;
}

void fb_rdma_flush(struct fb_rdma *rdma)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rdma->ndue; i++)
		if (!write_cells(rdma->due[i]))
			rdma->due[kept++] = rdma->due[i];
	rdma->ndue = kept;
}

bool fb_rdma_settled(const struct fb_port *port)
{
	return !fb_rdma_const_port(port)->due;
}

static void *simple_acquire(struct fb_port *port, size_t bytes)
{
	struct fb_rdma_port *p = fb_rdma_port(port);

	return fb_rdma_slot_free(p, bytes) ? p->ring + (size_t)p->slot * p->stride : NULL;
}

static void simple_commit(struct fb_port *port, size_t bytes)
{
	struct fb_rdma_port *p = fb_rdma_port(port);
	size_t at = (size_t)p->slot * p->stride;
	/* Two completions per round of slots: slots are known to be read before their next turn. */
	bool signal = p->slot % (p->nslots / 2 ? p->nslots / 2 : 1) == 0;
	int rail, n;

	fb_rdma_rails_of(p, bytes, &rail, &n);
	for (int i = 0; i < n; i++, rail++) {
		size_t first, part;

		fb_rdma_stripe(bytes, i, n, &first, &part);
		fb_rdma_send(p, rail, p->ring + at + first, p->far_ring + at + first, part, true,
			     signal || n > 1);
	}
	fb_rdma_slot_sent(p, bytes);
}

static const void *simple_peek(struct fb_port *port, size_t bytes)
{
	struct fb_rdma_port *p = fb_rdma_port(port);
	int first, n;

	fb_rdma_rails_of(p, bytes, &first, &n);
	for (int r = first; r < first + n; r++)
		if (fb_rdma_available(p, r) == p->moved[r])
			return NULL;
	fb_rdma_from_device();
	p->peeked = bytes;
	return p->ring + (size_t)p->slot * p->stride;
}

static void simple_release(struct fb_port *port)
{
	struct fb_rdma_port *p = fb_rdma_port(port);
	int first, n;

	fb_rdma_rails_of(p, p->peeked, &first, &n);
	for (int r = first; r < first + n; r++)
		p->moved[r]++;
	fb_rdma_slot_read(p);
}

const struct fb_port_ops fb_rdma_simple_ops = {
	.acquire = simple_acquire,
	.commit = simple_commit,
	.peek = simple_peek,
	.release = simple_release,
	.settled = fb_rdma_settled,
};

#endif
