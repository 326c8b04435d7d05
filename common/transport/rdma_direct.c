/* SPDX-License-Identifier: BSD-3-Clause */
/* Zero copy over rdma: pushes and pulls between registered buffers; see direct.h. */
#include "common/transport/rdma_internal.h"

#include "common/base/error.h"

#if FB_HAVE_VERBS

#include <stdlib.h>
#include <string.h>

static struct fb_rdma_exposed *find_exposed(struct fb_rdma *rdma, const char *at)
{
	for (int i = 0; i < FB_RDMA_EXPOSED; i++) {
		struct fb_rdma_exposed *e = &rdma->exposed[i];

		if (e->base && at >= e->base && at < e->base + e->bytes)
			return e;
	}
	return NULL;
}

/* The index of this memory if all ranks know it already, else -1. */
static int known_to_all(struct fb_rdma *rdma, const char *base, size_t bytes)
{
	const struct fb_rdma_exposed *e = find_exposed(rdma, base);
	bool known = e && e->base == base && e->bytes == bytes;
	int own = known ? (int)(e - rdma->exposed) : -1;
	/* The least and (negated) the greatest of all indices in one reduction. */
	int facts[2] = {own, -own};

	MPI_Allreduce(MPI_IN_PLACE, facts, 2, MPI_INT, MPI_MIN, rdma->transport.world->comm);
	return facts[0] >= 0 && facts[0] == -facts[1] ? facts[0] : -1;
}

static void free_exposed(struct fb_rdma_exposed *e)
{
	free(e->reach);
	*e = (struct fb_rdma_exposed){.base = NULL};
}

static int register_memory(struct fb_rdma *rdma, const struct fb_device_memory *m,
			   const struct fb_rdma_region **region)
{
	if (m->host)
		return fb_rdma_register(&rdma->cache, m->base, m->bytes, region);
	return fb_rdma_register_device(&rdma->cache, m->base, m->bytes, m->fd, m->offset, false,
				       region);
}

static int expose_device(struct fb_transport *transport, const struct fb_device_memory *memory)
{
	void *base = memory->base;
	size_t bytes = memory->bytes;
	struct fb_rdma *rdma = (struct fb_rdma *)transport;
	const struct fb_group *world = transport->world;
	struct fb_rdma_exposed *e = NULL;
	int err = FB_OK;

	if (known_to_all(rdma, base, bytes) >= 0)
		return FB_OK;
	for (int i = 0; i < FB_RDMA_EXPOSED && !e; i++)
		e = rdma->exposed[i].base ? NULL : &rdma->exposed[i];
	if (e)
		e->reach = calloc((size_t)world->nranks, sizeof(*e->reach));
	if (!e || !e->reach)
		err = fb_error(FB_ENOMEM, "rdma: no room for %zu bytes of exposed memory", bytes);
	if (!err && e)
		err = register_memory(rdma, memory, &e->region);
	if (!err && e) {
		e->base = base;
		e->bytes = bytes;
		e->reach[world->rank].base = (uintptr_t)base;
		for (int r = 0; r < rdma->nrails; r++)
			e->reach[world->rank].rkey[r] = e->region->mr[r]->rkey;
	}
	err = fb_group_agree(world, err);
	if (err || !e) {
		if (e)
			free_exposed(e);
		return err;
	}
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, e->reach, (int)sizeof(*e->reach),
		      MPI_BYTE, world->comm);
	return FB_OK;
}

static bool can_expose(const struct fb_transport *transport, const struct fb_device_memory *m,
		       char *why, size_t n)
{
	const struct fb_rdma *rdma = (const struct fb_rdma *)transport;

	return fb_rdma_can_register_device(&rdma->cache, m->base, m->bytes, m->fd, m->offset, why,
					   n);
}

static int expose(struct fb_transport *transport, void *base, size_t bytes)
{
	const struct fb_device_memory memory = {.base = base, .bytes = bytes, .host = true};

	return expose_device(transport, &memory);
}

static void conceal(struct fb_transport *transport, const void *base, size_t bytes)
{
	struct fb_rdma *rdma = (struct fb_rdma *)transport;
	const char *from = base;

	/* Waits for all ranks: a slower peer may still use this memory in its last operation. */
	fb_group_agree(transport->world, FB_OK);
	for (int i = 0; i < FB_RDMA_EXPOSED; i++) {
		struct fb_rdma_exposed *e = &rdma->exposed[i];

		if (e->base && e->base < from + bytes && from < e->base + e->bytes)
			free_exposed(e);
	}
	fb_rdma_forget(&rdma->cache, base, bytes);
}

static int lend(struct fb_transport *transport, void *base, size_t bytes)
{
	const struct fb_rdma_region *region;

	return fb_rdma_register(&((struct fb_rdma *)transport)->cache, base, bytes, &region);
}

static void take_back(struct fb_transport *transport, const void *base, size_t bytes)
{
	fb_rdma_forget(&((struct fb_rdma *)transport)->cache, base, bytes);
}

static bool may_push(const struct fb_port *port)
{
	const struct fb_rdma_port *p = fb_rdma_const_port(port);

	return atomic_load_explicit(&p->cells->credits, memory_order_acquire) > p->credits;
}

static bool drained(const struct fb_port *port, uint64_t pulls)
{
	const struct fb_rdma_port *p = fb_rdma_const_port(port);

	return atomic_load_explicit(&p->cells->freed, memory_order_acquire) >= pulls;
}

static bool announced(const struct fb_port *port)
{
	const struct fb_rdma_port *p = fb_rdma_const_port(port);

	/* Every rail needs room, since each carries a part of long messages. */
	for (int r = 0; r < p->nrails; r++)
		if (fb_rdma_available(p, r) <= p->messages)
			return false;
	fb_rdma_from_device();
	return true;
}

/* Posts one transfer on one rail as far as there is room. Returns the bytes posted. */
static size_t post(struct fb_rdma_port *p, int rail, enum ibv_wr_opcode opcode, const char *local,
		   const struct fb_rdma_exposed *e, const char *place, size_t bytes)
{
	struct fb_rdma_queue *queue = p->queue[rail];
	const struct fb_rdma_region *region = fb_rdma_find(&p->rdma->cache, local, bytes);
	const struct fb_rdma_reach *reach = &e->reach[p->port.peer];
	size_t most = queue->completions->rail->max_message, posted = 0;
	int err = FB_OK;

	if (!region || place + bytes > e->base + e->bytes) {
		fb_rdma_note(p->rdma, fb_error(FB_EPLAN, "rdma: a transfer to rank %d leaves the "
					       "registered memory", p->port.peer));
		return 0;
	}
	/* Leaves room for one request, the announcement. */
	while (posted < bytes && !err && fb_rdma_queue_room(queue) > 1) {
		size_t part = bytes - posted < most ? bytes - posted : most;
		struct fb_rdma_request request = {
			.opcode = opcode, .local = local + posted, .lkey = region->mr[rail]->lkey,
			.bytes = (uint32_t)part, .rkey = reach->rkey[rail],
			.remote = reach->base + (uint64_t)(place - e->base) + posted,
			/* Callers wait for whole transfers: the last request has a completion. */
			.signal = posted + part == bytes || fb_rdma_queue_room(queue) <= 2,
		};

		err = fb_rdma_queue_add(queue, &request);
		posted += part;
	}
	if (!err)
		err = fb_rdma_queue_ring(queue);
	fb_rdma_note(p->rdma, err);
	return posted;
}

/*
 * With several rails it posts all of a transfer or nothing: if only some rails had room, the posted
 * bytes would not be the first ones, as the return value says.
 */
static size_t transfer(struct fb_rdma_port *p, enum ibv_wr_opcode opcode, const char *local,
		       const char *place, size_t bytes)
{
	const struct fb_rdma_exposed *e = find_exposed(p->rdma, place);
	int rail, n;

	if (!e) {
		fb_rdma_note(p->rdma, fb_error(FB_EPLAN, "rdma: memory that is not exposed was "
					       "asked of rank %d", p->port.peer));
		return 0;
	}
	fb_rdma_rails_of(p, bytes, &rail, &n);
	if (n == 1)
		return post(p, rail, opcode, local, e, place, bytes);
	for (int r = 0; r < n; r++)
		if (fb_rdma_queue_room(p->queue[r]) <= fb_rdma_requests(p, r, bytes))
			return 0;
	for (int r = 0; r < n; r++) {
		size_t first, part;

		fb_rdma_stripe(bytes, r, n, &first, &part);
		if (part)
			post(p, r, opcode, local + first, e, place + first, part);
	}
	return bytes;
}

static size_t direct_push(struct fb_port *port, const void *local, const void *place, size_t bytes)
{
	return transfer(fb_rdma_port(port), IBV_WR_RDMA_WRITE, local, place, bytes);
}

static size_t direct_pull(struct fb_port *port, void *local, const void *place, size_t bytes)
{
	return transfer(fb_rdma_port(port), IBV_WR_RDMA_READ, local, place, bytes);
}

static bool announce(struct fb_port *port, bool push)
{
	struct fb_rdma_port *p = fb_rdma_port(port);

	for (int r = 0; r < p->nrails; r++)
		if (fb_rdma_queue_room(p->queue[r]) < 1)
			return false;
	for (int r = 0; r < p->nrails; r++)
		fb_rdma_send(p, r, NULL, p->far_cells, 0, true, false);
	p->messages++;
	p->credits += push;
	p->pulls += !push;
	return true;
}

static void direct_done(struct fb_port *port, bool pulled)
{
	struct fb_rdma_port *p = fb_rdma_port(port);

	p->messages++;
	if (!pulled)
		return;
	p->pulls++;
	fb_rdma_owe(p);
}

static void credit(struct fb_port *port)
{
	struct fb_rdma_port *p = fb_rdma_port(port);

	p->credits++;
	fb_rdma_owe(p);
}

static void take_ticket(const struct fb_port *port, struct fb_ticket *ticket)
{
	const struct fb_rdma_port *p = fb_rdma_const_port(port);

	for (int r = 0; r < FB_RDMA_RAILS; r++)
		ticket->number[r] = r < p->nrails ? p->queue[r]->signalled : 0;
}

static bool reached(const struct fb_port *port, const struct fb_ticket *ticket)
{
	const struct fb_rdma_port *p = fb_rdma_const_port(port);

	for (int r = 0; r < p->nrails; r++)
		if (!fb_rdma_queue_done(p->queue[r], ticket->number[r]))
			return false;
	return true;
}

const struct fb_direct_ops fb_rdma_direct = {
	.expose = expose,
	.expose_device = expose_device,
	.can_expose = can_expose,
	.conceal = conceal,
	.lend = lend,
	.take_back = take_back,
	.may_push = may_push,
	.push = direct_push,
	.announce = announce,
	.drained = drained,
	.announced = announced,
	.pull = direct_pull,
	.done = direct_done,
	.credit = credit,
	.ticket = take_ticket,
	.reached = reached,
};

/* There are no slots. */
const struct fb_port_ops fb_rdma_direct_ops = {
	.settled = fb_rdma_settled,
	.direct = &fb_rdma_direct,
};

#endif
