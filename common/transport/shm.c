/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared-memory transport: lays out the blocks and slots of a set of links and lets both
 * ends find them.
 *
 * Each rank's part of the segment begins with a directory of its ends of the links. After a
 * barrier every rank looks up the other ends in its peers' directories, so no message is needed
 * however many links there are.
 */
#include "common/transport/shm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/memory/segment.h"

struct entry {
	int peer;
	uint32_t id;
	uint32_t sends;
	uint32_t pad;
	uint64_t block, slots; /* offsets in the part */
};

struct directory {
	uint64_t n;
	struct entry entries[];
};

/* The links of one connect(). */
struct group {
	struct group *next;
	struct fb_port **key; /* the caller's array */
	struct fb_segment segment;
	struct fb_shm_port *ports;
	char *stages;
};

struct shm {
	struct fb_transport transport;
	int *part_of; /* [nranks] index among the host's ranks, or -1 */
	struct group *groups;
};

struct protocol {
	const char *name;
	const struct fb_port_ops *ops; /* NULL: direct, which has no slots */
	size_t (*stride)(size_t bytes);
	bool staged;
};

static size_t plain_stride(size_t bytes)
{
	return (bytes + FB_LINE - 1) / FB_LINE * FB_LINE;
}

static const struct protocol protocols[] = {
	{"simple", &fb_shm_simple_ops, plain_stride, false},
	{"ll", &fb_shm_ll_ops, fb_shm_ll_stride, true},
	{"ll128", &fb_shm_ll128_ops, fb_shm_ll128_stride, true},
	{"direct", NULL, NULL, false},
};

static const struct protocol *find_protocol(const char *name)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (!strcmp(protocols[i].name, name))
			return &protocols[i];
	return NULL;
}

static int shm_open_transport(struct fb_transport **transport, const struct fb_group *world)
{
	struct shm *t = calloc(1, sizeof(*t));
	struct fb_segment probe;
	int err = fb_group_agree(world, t ? FB_OK : FB_ENOMEM);

	if (err || !t) {
		free(t);
		return err;
	}
	/* A small segment tells which ranks share memory, and that they really can. */
	err = fb_segment_open(&probe, world, 1, FB_PAGES_NORMAL);
	if (err) {
		free(t);
		return err;
	}
	t->part_of = probe.part_of;
	probe.part_of = NULL;
	fb_segment_close(&probe);
	t->transport.ops = &fb_transport_shm;
	t->transport.world = world;
	*transport = &t->transport;
	return FB_OK;
}

static void free_group(struct group *g)
{
	fb_segment_close(&g->segment);
	free(g->ports);
	free(g->stages);
	free(g);
}

static void shm_close_transport(struct fb_transport *transport)
{
	struct shm *t = (struct shm *)transport;

	while (t->groups) {
		struct group *g = t->groups;

		t->groups = g->next;
		free_group(g);
	}
	free(t->part_of);
	free(t);
}

static bool shm_speaks(const struct fb_transport *transport, const char *protocol)
{
	(void)transport;
	return find_protocol(protocol) != NULL;
}

static size_t round_up(size_t n)
{
	return (n + FB_LINE - 1) / FB_LINE * FB_LINE;
}

/* Places the ends in this rank's part; writes the directory if there is one. Returns its size. */
static size_t lay_out(const struct fb_link_request *requests, int n, struct directory *d)
{
	size_t at = round_up(sizeof(struct directory) + (size_t)n * sizeof(struct entry));

	for (int i = 0; i < n; i++) {
		const struct fb_link_request *r = &requests[i];
		const struct protocol *p = find_protocol(r->protocol);
		size_t block = at, slots;

		at += round_up(r->sends ? sizeof(struct fb_shm_sender_block)
					: sizeof(struct fb_shm_receiver_block));
		slots = at;
		if (!r->sends && p->ops)
			at += r->slots * p->stride(r->slot_bytes);
		if (d)
			d->entries[i] = (struct entry){.peer = r->peer, .id = r->id,
						       .sends = r->sends, .block = block,
						       .slots = slots};
	}
	if (d)
		d->n = (uint64_t)n;
	return at;
}

static const struct entry *find_entry(const struct directory *d, int peer, uint32_t id, bool sends)
{
	for (uint64_t i = 0; i < d->n; i++)
		if (d->entries[i].peer == peer && d->entries[i].id == id &&
		    d->entries[i].sends == sends)
			return &d->entries[i];
	return NULL;
}

static int fill_port(const struct group *g, int self, const struct fb_link_request *r, int i,
		     char *stage)
{
	const struct protocol *proto = find_protocol(r->protocol);
	char *mine = fb_segment_part(&g->segment, self);
	char *remote = fb_segment_part(&g->segment, r->peer);
	const struct entry *own = &((const struct directory *)(void *)mine)->entries[i];
	const struct entry *other = remote ? find_entry((const struct directory *)(void *)remote,
							self, r->id, !r->sends) : NULL;
	struct fb_shm_port *p = &g->ports[i];

	if (!other)
		return fb_error(FB_EPLAN, "rank %d: rank %d does not know link %u", self, r->peer,
				r->id);
	*p = (struct fb_shm_port){
		.port = {.ops = proto->ops, .peer = r->peer},
		.nslots = r->slots, .flag = r->first_flag ? r->first_flag : 1,
		.slot_stride = proto->stride ? proto->stride(r->slot_bytes) : 0, .stage = stage,
	};
	p->sender = (void *)(r->sends ? mine + own->block : remote + other->block);
	p->receiver = (void *)(r->sends ? remote + other->block : mine + own->block);
	p->slots = r->sends ? remote + other->slots : mine + own->slots;
	return FB_OK;
}

static size_t stage_bytes(const struct fb_link_request *r)
{
	return find_protocol(r->protocol)->staged ? round_up(r->slot_bytes + 8) : 0;
}

/* Touches the pages of the slots that this rank will poll, before anything is measured. */
static void touch_own(const struct fb_segment *segment, int rank, size_t bytes)
{
	volatile char *part = fb_segment_part(segment, rank);

	for (size_t i = 0; i < bytes; i += 4096)
		part[i] = 0;
}

static int shm_connect(struct fb_transport *transport, const struct fb_link_request *requests,
		       int n, struct fb_port **ports)
{
	struct shm *t = (struct shm *)transport;
	const struct fb_group *world = transport->world;
	struct group *g = calloc(1, sizeof(*g));
	size_t bytes = lay_out(requests, n, NULL), stages = 0;
	int err = g ? FB_OK : FB_ENOMEM;
	char *stage;

	for (int i = 0; i < n; i++)
		stages += stage_bytes(&requests[i]);
	if (g) {
		g->key = ports;
		g->ports = aligned_alloc(FB_LINE, round_up((size_t)(n + 1) * sizeof(*g->ports)));
		g->stages = aligned_alloc(FB_LINE, stages + FB_LINE);
		err = g->ports && g->stages ? FB_OK : FB_ENOMEM;
	}
	err = fb_group_agree(world, err);
	if (!err)
		err = fb_segment_open(&g->segment, world, bytes, FB_PAGES_NORMAL);
	if (err)
		goto free_group;
	touch_own(&g->segment, world->rank, bytes);
	lay_out(requests, n, (struct directory *)(void *)fb_segment_part(&g->segment, world->rank));
	MPI_Barrier(world->node_comm);
	stage = g->stages;
	for (int i = 0; i < n && !err; i++) {
		err = fill_port(g, world->rank, &requests[i], i, stage);
		stage += stage_bytes(&requests[i]);
		ports[i] = &g->ports[i].port;
	}
	err = fb_group_agree(world, err);
	if (err)
		goto free_group;
	g->next = t->groups;
	t->groups = g;
	return FB_OK;
free_group:
	if (g)
		free_group(g);
	return err;
}

static void shm_disconnect(struct fb_transport *transport, struct fb_port **ports, int n)
{
	struct shm *t = (struct shm *)transport;

	(void)n;
	for (struct group **g = &t->groups; *g; g = &(*g)->next)
		if ((*g)->key == ports) {
			struct group *gone = *g;

			*g = gone->next;
			free_group(gone);
			return;
		}
}

static void shm_describe(const struct fb_transport *transport, int rank, char *text, size_t n)
{
	(void)transport;
	(void)rank;
	snprintf(text, n, "shm");
}

const struct fb_transport_ops fb_transport_shm = {
	.open = shm_open_transport,
	.close = shm_close_transport,
	.speaks = shm_speaks,
	.connect = shm_connect,
	.disconnect = shm_disconnect,
	.describe = shm_describe,
};
