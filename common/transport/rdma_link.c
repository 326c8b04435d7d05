/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links of the rdma transport: their memory, and how both ends find each other.
 *
 * All slots and cells of one connect() lie in one arena, so that it is one registration however
 * many links there are.
 */
#include "common/transport/rdma_internal.h"

#if FB_HAVE_VERBS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/base/error.h"

enum { HUGE_PAGE = 2 << 20, DISCONNECT_S = 10 };

/* The data that the two ends of a link exchange. Plain bytes. */
struct offer {
	uint32_t id, sends, slots, index;
	uint64_t slot_bytes, cells, ring;
	uint32_t rkey[FB_RDMA_RAILS];
	char protocol[16];
};

struct protocol {
	const char *name;
	const struct fb_port_ops *ops;
	size_t (*stride)(size_t bytes); /* NULL: no slots */
	bool staged;
};

static size_t round_up(size_t n)
{
	return (n + FB_RDMA_LINE - 1) / FB_RDMA_LINE * FB_RDMA_LINE;
}

static const struct protocol protocols[] = {
	{"simple", &fb_rdma_simple_ops, round_up, false},
	{"ll", &fb_rdma_ll_ops, fb_rdma_ll_stride, true},
	{"direct", &fb_rdma_direct_ops, NULL, false},
};

static const struct protocol *find_protocol(const char *name)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (!strcmp(protocols[i].name, name))
			return &protocols[i];
	return NULL;
}

static void free_group(struct fb_rdma *rdma, struct fb_rdma_group *g)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rdma->ndue; i++)
		if (rdma->due[i] < g->ports || rdma->due[i] >= g->ports + g->n)
			rdma->due[kept++] = rdma->due[i];
	rdma->ndue = kept;
	for (int i = 0; g->ports && i < g->n; i++)
		if (g->ports[i].index < rdma->nports &&
		    rdma->ports[g->ports[i].index] == &g->ports[i])
			rdma->ports[g->ports[i].index] = NULL;
	if (g->arena) {
		fb_rdma_forget(&rdma->cache, g->arena, g->arena_bytes);
		munmap(g->arena, g->arena_bytes);
	}
	free(g->ports);
	free(g->stages);
	free(g->slot_done);
	free(g);
}

void fb_rdma_drop_groups(struct fb_rdma *rdma)
{
	while (rdma->groups) {
		struct fb_rdma_group *g = rdma->groups;

		rdma->groups = g->next;
		free_group(rdma, g);
	}
}

/* Gives the port an index, which names it in immediate data. */
static int enter(struct fb_rdma *rdma, struct fb_rdma_port *p)
{
	uint32_t i = 0, room;
	struct fb_rdma_port **ports, **due;

	while (i < rdma->nports && rdma->ports[i])
		i++;
	if (i == rdma->max_ports) {
		room = rdma->max_ports ? 2 * rdma->max_ports : 64;
		ports = realloc(rdma->ports, room * sizeof(*ports));
		if (ports)
			rdma->ports = ports;
		due = realloc(rdma->due, room * sizeof(*due));
		if (due)
			rdma->due = due;
		if (!ports || !due || room >> FB_RDMA_IMM_BITS)
			return fb_error(FB_ENOMEM, "rdma: no room for %u links", room);
		rdma->max_ports = room;
	}
	if (i == rdma->nports)
		rdma->nports++;
	rdma->ports[i] = p;
	p->index = i;
	return FB_OK;
}

/* Bytes of the arena, of the stages, and slots of senders, of all requests together. */
struct need {
	size_t arena, stages, slots, zeroes;
};

static struct need need_of(const struct fb_link_request *requests, int n)
{
	struct need need = {0};

	for (int i = 0; i < n; i++) {
		const struct fb_link_request *r = &requests[i];
		const struct protocol *proto = find_protocol(r->protocol);
		size_t stride = proto->stride ? proto->stride(r->slot_bytes) : 0;

		need.arena += round_up(sizeof(struct fb_rdma_cells)) + r->slots * stride;
		need.slots += r->slots;
		if (proto->staged) {
			need.stages += round_up(r->slot_bytes + 8);
			need.zeroes = stride > need.zeroes ? stride : need.zeroes;
		}
	}
	return need;
}

static int make_arena(struct fb_rdma *rdma, struct fb_rdma_group *g, size_t bytes)
{
	const struct fb_rdma_region *region;
	size_t page = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
	void *at;

	bytes = (bytes + page) / page * page;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return fb_error(FB_ENOMEM, "rdma: out of memory for %zu bytes of slots", bytes);
	if (page == HUGE_PAGE)
		madvise(at, bytes, MADV_HUGEPAGE);
	g->arena = at;
	g->arena_bytes = bytes;
	return fb_rdma_register(&rdma->cache, at, bytes, &region);
}

/* Fills in the members that do not depend on the peer's answer. */
static void fill(struct fb_rdma *rdma, struct fb_rdma_port *p, const struct fb_link_request *r)
{
	const struct protocol *proto = find_protocol(r->protocol);

	*p = (struct fb_rdma_port){
		.port = {.ops = proto->ops, .peer = r->peer}, .rdma = rdma,
		.nrails = rdma->nrails, .home = (int)(r->id % (uint32_t)rdma->nrails),
		.id = r->id, .sends = r->sends, .nslots = r->slots, .slot_bytes = r->slot_bytes,
		.stride = proto->stride ? proto->stride(r->slot_bytes) : 0,
		.flag = r->first_flag ? r->first_flag : 1, .far_index = UINT32_MAX,
	};
}

/* Makes a group's ports and memory, which needs nothing from peers. */
static int make_group(struct fb_rdma *rdma, const struct fb_link_request *requests, int n,
		      struct fb_rdma_group *g)
{
	struct need need = need_of(requests, n);
	size_t at = 0, slots = 0, stages = 0;
	int err;

	g->ports = aligned_alloc(FB_RDMA_LINE, round_up((size_t)(n + 1) * sizeof(*g->ports)));
	g->stages = aligned_alloc(FB_RDMA_LINE, need.stages + FB_RDMA_LINE);
	g->slot_done = calloc(need.slots + 1, sizeof(*g->slot_done));
	if (!g->ports || !g->stages || !g->slot_done)
		return fb_error(FB_ENOMEM, "rdma: out of memory for %d links", n);
	err = make_arena(rdma, g, need.arena + need.zeroes);
	for (int i = 0; i < n && !err; i++) {
		struct fb_rdma_port *p = &g->ports[i];

		fill(rdma, p, &requests[i]);
		p->cells = (struct fb_rdma_cells *)(void *)(g->arena + at);
		at += round_up(sizeof(*p->cells));
		p->ring = g->arena + at;
		at += p->nslots * p->stride;
		p->zeroes = g->arena + need.arena;
		p->stage = g->stages + stages;
		if (find_protocol(requests[i].protocol)->staged)
			stages += round_up(p->slot_bytes + 8);
		p->slot_done = g->slot_done + slots;
		slots += p->nslots;
		g->n = i + 1;
		err = enter(rdma, p);
	}
	return err;
}

static void make_offer(const struct fb_rdma *rdma, const struct fb_rdma_group *g, int i,
		       const char *protocol, struct offer *offer)
{
	const struct fb_rdma_port *p = &g->ports[i];
	const struct fb_rdma_region *region = fb_rdma_find(&rdma->cache, g->arena, g->arena_bytes);

	*offer = (struct offer){
		.id = p->id, .sends = p->sends, .slots = p->nslots, .index = p->index,
		.slot_bytes = p->slot_bytes, .cells = (uintptr_t)p->cells,
		.ring = (uintptr_t)p->ring,
	};
	snprintf(offer->protocol, sizeof(offer->protocol), "%s", protocol);
	for (int r = 0; r < rdma->nrails; r++)
		offer->rkey[r] = region->mr[r]->rkey;
}

/* Finds the local port whose other end is the peer's offer. */
static int match(const struct fb_rdma *rdma, struct fb_rdma_group *g, int peer,
		 const struct fb_link_request *requests, const struct offer *offer)
{
	int own = rdma->transport.world->rank;

	for (int i = 0; i < g->n; i++) {
		struct fb_rdma_port *p = &g->ports[i];

		if (p->port.peer != peer || p->id != offer->id || p->sends == (offer->sends != 0) ||
		    p->far_index != UINT32_MAX)
			continue;
		if (p->nslots != offer->slots || p->slot_bytes != offer->slot_bytes ||
		    strcmp(requests[i].protocol, offer->protocol))
			return fb_error(FB_EPLAN, "rdma: link %u: rank %d asks for %u slots of %zu "
					"bytes of %s, rank %d for %u of %llu of %s", p->id, own,
					p->nslots, p->slot_bytes, requests[i].protocol, peer,
					offer->slots, (unsigned long long)offer->slot_bytes,
					offer->protocol);
		p->far_index = offer->index;
		p->far_cells = offer->cells;
		p->far_ring = offer->ring;
		memcpy(p->far_rkey, offer->rkey, sizeof(p->far_rkey));
		return FB_OK;
	}
	return fb_error(FB_EPLAN, "rdma: link %u: rank %d asks rank %d for it, but not the reverse",
			offer->id, peer, own);
}

/* Turns counts into displacements and the sum. */
static int displace(const int *counts, int *at, int n)
{
	int sum = 0;

	for (int r = 0; r < n; r++) {
		at[r] = sum;
		sum += counts[r];
	}
	return sum;
}

/* tables[5][nranks]: counts and displacements to send, the same to receive, and fill positions. */
static int exchange(struct fb_rdma *rdma, struct fb_rdma_group *g,
		    const struct fb_link_request *requests, int *tables)
{
	const struct fb_group *world = rdma->transport.world;
	int nranks = world->nranks, err, total;
	int *send_n = tables, *send_at = send_n + nranks, *fill_at = send_at + nranks;
	int *receive_n = fill_at + nranks, *receive_at = receive_n + nranks;
	struct offer *sent, *received;
	MPI_Datatype type;

	for (int i = 0; i < g->n; i++)
		send_n[g->ports[i].port.peer]++;
	displace(send_n, send_at, nranks);
	memcpy(fill_at, send_at, (size_t)nranks * sizeof(*fill_at));
	MPI_Alltoall(send_n, 1, MPI_INT, receive_n, 1, MPI_INT, world->comm);
	total = displace(receive_n, receive_at, nranks);
	sent = calloc((size_t)g->n + 1, sizeof(*sent));
	received = calloc((size_t)total + 1, sizeof(*received));
	err = fb_group_agree(world, sent && received ? FB_OK : FB_ENOMEM);
	if (err || !sent || !received)
		goto free_offers;
	for (int i = 0; i < g->n; i++)
		make_offer(rdma, g, i, requests[i].protocol,
			   &sent[fill_at[g->ports[i].port.peer]++]);
	MPI_Type_contiguous((int)sizeof(*sent), MPI_BYTE, &type);
	MPI_Type_commit(&type);
	MPI_Alltoallv(sent, send_n, send_at, type, received, receive_n, receive_at, type,
		      world->comm);
	MPI_Type_free(&type);
	for (int r = 0; r < nranks; r++)
		for (int i = 0; i < receive_n[r] && !err; i++)
			err = match(rdma, g, r, requests, &received[receive_at[r] + i]);
	for (int i = 0; i < g->n && !err; i++)
		if (g->ports[i].far_index == UINT32_MAX)
			err = fb_error(FB_EPLAN, "rdma: link %u: rank %d asks rank %d for it, but "
				       "not the reverse", g->ports[i].id, world->rank,
				       g->ports[i].port.peer);
free_offers:
	free(received);
	free(sent);
	return err;
}

static void take_queues(struct fb_rdma *rdma, struct fb_rdma_group *g)
{
	const struct fb_rdma_region *region = fb_rdma_find(&rdma->cache, g->arena, g->arena_bytes);
	size_t qps = rdma->settings->qps;

	for (int i = 0; i < g->n; i++) {
		struct fb_rdma_port *p = &g->ports[i];

		for (int r = 0; r < rdma->nrails; r++) {
			p->queue[r] = &rdma->peers[p->port.peer][(size_t)r * qps + p->id % qps];
			p->lkey[r] = region->mr[r]->lkey;
		}
	}
}

int fb_rdma_connect(struct fb_transport *transport, const struct fb_link_request *requests, int n,
		    struct fb_port **ports)
{
	struct fb_rdma *rdma = (struct fb_rdma *)transport;
	const struct fb_group *world = transport->world;
	struct fb_rdma_group *g = calloc(1, sizeof(*g));
	int *tables = calloc(5 * (size_t)world->nranks, sizeof(*tables));
	int err = g && tables ? make_group(rdma, requests, n, g) : FB_ENOMEM;

	err = fb_group_agree(world, err);
	if (!err && g && tables)
		err = fb_group_agree(world, exchange(rdma, g, requests, tables));
	if (!err && g)
		err = fb_group_agree(world, fb_rdma_connect_queues(rdma, g->ports, n));
	free(tables);
	if (err || !g) {
		if (g)
			free_group(rdma, g);
		return err;
	}
	take_queues(rdma, g);
	g->key = ports;
	for (int i = 0; i < n; i++)
		ports[i] = &g->ports[i].port;
	g->next = rdma->groups;
	rdma->groups = g;
	return FB_OK;
}

/* Waits until this rank's posted requests are done, so that no memory is written late. */
static void drain(struct fb_rdma *rdma, const struct fb_rdma_group *g)
{
	time_t end = time(NULL) + DISCONNECT_S;

	for (int i = 0; i < g->n; i++) {
		struct fb_rdma_port *p = &g->ports[i];

		for (int r = 0; r < p->nrails; r++) {
			struct fb_rdma_queue *q = p->queue[r];

			if (q->completed == q->posted)
				continue;
			while (fb_rdma_queue_room(q) < 1 && time(NULL) < end &&
			       !fb_rdma_progress(&rdma->transport))
				;
			if (rdma->err || time(NULL) >= end)
				return;
			fb_rdma_note(rdma, fb_rdma_queue_flag(q, 0, FB_RDMA_CELL(p, fence),
							      p->far_rkey[r], true, false));
			fb_rdma_note(rdma, fb_rdma_queue_ring(q));
			while (q->completed < q->signalled && time(NULL) < end &&
			       !fb_rdma_progress(&rdma->transport))
				;
		}
	}
}

void fb_rdma_disconnect(struct fb_transport *transport, struct fb_port **ports, int n)
{
	struct fb_rdma *rdma = (struct fb_rdma *)transport;

	(void)n;
	for (struct fb_rdma_group **g = &rdma->groups; *g; g = &(*g)->next)
		if ((*g)->key == ports) {
			struct fb_rdma_group *gone = *g;

			drain(rdma, gone);
			fb_group_agree(transport->world, FB_OK);
			*g = gone->next;
			free_group(rdma, gone);
			return;
		}
}

#endif
