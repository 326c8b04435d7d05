/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares a request of the host engine: builds the plans, chooses slices and slot size, and has
 * the links connected. What must be equal on all ranks is agreed by one reduction.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/host.h"
#include "common/base/error.h"

enum {
	DEFAULT_SLOT = 64 << 10, /* simple: half a megabyte in flight stays in a 1 MiB L2 */
	DEFAULT_LL_SLOT = 8 << 10, /* ll moves every byte twice: larger messages want simple */
	DEFAULT_LL128_SLOT = 32 << 10,
	DEFAULT_TCP_SLOT = 128 << 10, /* loopback's packets are just under 64 KiB */
	DIRECT_SLICE = 128 << 10, /* a forwarded piece: still in L2 when it is passed on */
	REMOTE_SLICE = 1 << 20, /* bounds the stage of pulls that are reduced */
	LEAST_SLICE = 4 << 10, /* smaller pieces cost more in flags than they overlap */
	MOST_SLICES = 4096,
	MOST_SLOT = 16 << 20,
	STAGES = 8, /* pieces that a forwarding plan is cut into, if large enough */
};

char *fb_host_base(const struct host_request *r, int rank, uint8_t buffer)
{
	if (buffer == FB_SCRATCH)
		return fb_segment_part(&r->scratch, rank);
	return fb_segment_part(r->op->segment, rank) +
	       (buffer == FB_IN ? r->op->in_offset : r->op->out_offset);
}

struct fb_shape fb_host_shape(const struct host_engine *e, const struct fb_operation *op,
			      const char *stages, int channel, int nchannels)
{
	return (struct fb_shape){
		.collective = op->collective, .nranks = e->group->nranks, .root = op->root,
		.in_place = op->in_place, .channel = channel, .nchannels = nchannels,
		.topology = &e->topology, .stages = stages,
	};
}

int fb_host_channels(const struct host_engine *e, const struct fb_operation *op,
		     const struct fb_algorithm *algorithm)
{
	int multiple = algorithm->channels ? algorithm->channels : 1;
	int wanted = (int)(e->settings->channels ? e->settings->channels : op->tuned.channels);

	return wanted ? (wanted + multiple - 1) / multiple * multiple : multiple;
}

struct direct_arg {
	const struct host_engine *engine;
	const struct fb_case *c;
};

static bool direct_with(int rank, int peer, const void *arg)
{
	const struct direct_arg *d = arg;

	return fb_host_uses_rdma(d->c) || fb_host_uses_shm(d->engine, d->c, rank, peer);
}

static int build_plans(struct host_request *r, const struct fb_case *c)
{
	struct direct_arg arg = {r->engine, c};
	struct fb_build_options options = {
		.slots = (int)r->engine->settings->slots, .arg = &arg,
		.direct_with = strcmp(c->protocol, "direct") ? NULL : direct_with,
	};
	int err = FB_OK;

	for (int i = 0; i < r->nchannels && !err; i++) {
		struct fb_shape shape = fb_host_shape(r->engine, r->op, r->stages, i,
						      r->nchannels);

		err = fb_plan_build(r->algorithm, &shape, r->engine->group->rank, &options,
				    &r->channels[i].plan);
	}
	return err;
}

/* The slot size that the user or the tuning table gives; 0: neither does. */
static size_t wanted_slot(const struct host_request *r)
{
	size_t asked = r->engine->settings->slot_bytes;

	return asked ? asked : r->op->tuned.slot_bytes;
}

static size_t slot_limit(const struct host_request *r, const struct fb_case *c)
{
	if (wanted_slot(r))
		return wanted_slot(r);
	if (!strcmp(c->protocol, "ll"))
		return DEFAULT_LL_SLOT;
	if (!strcmp(c->protocol, "ll128"))
		return DEFAULT_LL128_SLOT;
	return strstr(c->transport, "tcp") ? DEFAULT_TCP_SLOT : DEFAULT_SLOT;
}

/* Slices and slot size; the plans' needs are the largest of all ranks. */
static int choose_slices(struct host_request *r, const struct fb_case *c)
{
	enum { UNITS, PIPELINED, SCRATCH, FACTS };
	uint64_t facts[FACTS] = {0};
	struct fb_geometry *g = &r->geometry;
	size_t limit = slot_limit(r, c), total, piece;
	uint32_t units, split = 1;

	for (int i = 0; i < r->nchannels; i++) {
		const struct fb_plan *p = r->channels[i].plan;

		split = p->split;
		facts[UNITS] = p->max_units > facts[UNITS] ? p->max_units : facts[UNITS];
		facts[PIPELINED] |= p->pipelined;
		facts[SCRATCH] = p->scratch_blocks > facts[SCRATCH] ? p->scratch_blocks
								     : facts[SCRATCH];
	}
	MPI_Allreduce(MPI_IN_PLACE, facts, FACTS, MPI_UINT64_T, MPI_MAX, r->engine->group->comm);
	units = (uint32_t)facts[UNITS];
	*g = (struct fb_geometry){
		.collective = r->op->collective, .nranks = r->engine->group->nranks,
		.split = split, .counts = r->op->counts, .parts = 1,
		.count = r->op->counts ? r->op->counts->max : r->op->count,
		.element_bytes = fb_datatype_size(r->op->datatype),
	};
	total = fb_message_bound(g, units ? units : 1);
	if (facts[PIPELINED]) {
		/* Forwarding overlaps only if there are several pieces to forward. */
		piece = total / STAGES > LEAST_SLICE ? total / STAGES : LEAST_SLICE;
		limit = piece < limit ? piece : limit;
		if (!units && !wanted_slot(r))
			limit = DIRECT_SLICE;
	}
	if (r->remote && !facts[PIPELINED] && !units && !wanted_slot(r))
		limit = REMOTE_SLICE;
	r->slices = 1;
	if (units || facts[PIPELINED] || r->remote)
		r->slices = fb_slices_for(g, units ? units : 1, (uint64_t)r->nchannels, limit);
	/* Messages of very many blocks want larger slots rather than slices of a few bytes. */
	for (; r->slices > MOST_SLICES && limit < MOST_SLOT; limit *= 2)
		r->slices = fb_slices_for(g, units ? units : 1, (uint64_t)r->nchannels, limit);
	g->parts = r->slices * (uint64_t)r->nchannels;
	r->slot_bytes = fb_message_bound(g, units);
	if (!facts[SCRATCH])
		return FB_OK;
	return fb_segment_open(&r->scratch, r->engine->group,
			       facts[SCRATCH] * (size_t)g->count * g->element_bytes + 64,
			       FB_PAGES_TRANSPARENT);
}

/* With one slice, addresses and sizes are the same in every run: find them once. */
static int cache_addresses(struct host_request *r, struct host_channel *ch)
{
	const struct fb_plan *p = ch->plan;
	int self = r->engine->group->rank;
	char **address = calloc((size_t)p->nends + 1, sizeof(*address));
	size_t *bytes = calloc((size_t)p->nends + 1, sizeof(*bytes));

	if (!address || !bytes) {
		free(address);
		free(bytes);
		return FB_ENOMEM;
	}
	for (int l = 0; l < p->nlanes; l++)
		for (uint32_t i = 0; i < p->lanes[l].nsteps; i++) {
			const struct fb_step *s = &p->lanes[l].steps[i];
			uint64_t part = (uint64_t)(ch - r->channels);

			if (s->kind != FB_RUN)
				continue;
			for (int k = 0; k < s->nsrc + s->ndst; k++) {
				const struct fb_end *e = &p->ends[s->first_end + (uint32_t)k];
				int rank;
				bool far;
				const struct fb_port *port = NULL;

				if (e->kind == FB_LINK)
					continue;
				if (e->kind == FB_PULL)
					port = ch->in[e->link];
				if (e->kind == FB_PUSH)
					port = ch->out[e->link];
				rank = port ? port->peer : self;
				far = port && fb_host_is_remote(port);
				address[s->first_end + (uint32_t)k] =
					fb_host_base(r, far ? self : rank, e->buffer) +
					fb_chunk_piece(&r->geometry, rank, e->buffer, e->index,
						       s->count, part, 0).offset;
			}
			bytes[s->first_end] = fb_host_step_bytes(r, ch, s, part);
		}
	ch->address = address;
	ch->bytes = bytes;
	return FB_OK;
}

static int open_channel(struct host_request *r, struct host_channel *ch)
{
	const struct fb_plan *p = ch->plan;
	size_t ends = 1;

	for (int l = 0; l < p->nlanes; l++)
		for (uint32_t i = 0; i < p->lanes[l].nsteps; i++) {
			const struct fb_step *s = &p->lanes[l].steps[i];
			size_t n = (size_t)s->nsrc + s->ndst;

			ends = n > ends ? n : ends;
		}
	ch->nlanes = p->nlanes;
	ch->most_ends = ends;
	ch->drain_base = calloc((size_t)p->n_out_links + 1, sizeof(*ch->drain_base));
	if (!ch->drain_base)
		return FB_ENOMEM;
	for (int l = 0; l < p->nlanes; l++) {
		struct host_lane *lane = &ch->lanes[l];

		lane->steps = p->lanes[l].steps;
		lane->nsteps = p->lanes[l].nsteps;
		lane->src = calloc(ends, sizeof(*lane->src));
		lane->dst = calloc(ends, sizeof(*lane->dst));
		lane->stream = calloc(ends, sizeof(*lane->stream));
		if (!lane->src || !lane->dst || !lane->stream)
			return FB_ENOMEM;
	}
	return r->slices == 1 ? cache_addresses(r, ch) : FB_OK;
}

/* Streaming stores pay when the operation's buffers would not stay in the cache anyway. */
static bool should_stream(const struct host_request *r)
{
	const struct fb_group *w = r->engine->group;
	size_t block = (size_t)r->geometry.count * r->geometry.element_bytes, bytes = 0;

	for (int out = 0; out < 2; out++)
		bytes += block * (size_t)fb_collective_blocks(r->op->collective, out, r->op->root,
							      w->nranks, r->op->root);
	return bytes * (size_t)w->local_ranks > fb_last_level_cache();
}

int fb_host_setup(struct host_request *r, const struct fb_case *c)
{
	int err, agreed;

	r->remote = fb_host_uses_rdma(c) && !strcmp(c->protocol, "direct");
	r->channels = calloc((size_t)r->nchannels, sizeof(*r->channels));
	r->move.block = aligned_alloc(64, FB_COPY_BLOCK);
	err = r->channels && r->move.block ? build_plans(r, c) : FB_ENOMEM;
	for (int i = 0; i < r->nchannels && !err; i++) {
		struct host_channel *ch = &r->channels[i];

		ch->in = calloc((size_t)ch->plan->n_in_links + 1, sizeof(*ch->in));
		ch->out = calloc((size_t)ch->plan->n_out_links + 1, sizeof(*ch->out));
		err = ch->in && ch->out ? FB_OK : FB_ENOMEM;
	}
	agreed = fb_group_agree(r->engine->group, err);
	if (err || agreed)
		return agreed;
	err = choose_slices(r, c);
	if (!err)
		err = fb_host_connect(r, c);
	if (err)
		return err;
	r->streams = should_stream(r);
	r->move.element_bytes = r->geometry.element_bytes;
	r->move.nranks = r->engine->group->nranks;
	if (fb_collective_info(r->op->collective)->reduces) {
		r->move.combine = fb_combine(r->op->datatype, r->op->redop);
		r->move.finish = fb_finish(r->op->datatype, r->op->redop);
	}
	for (int i = 0; i < r->nchannels && !err; i++)
		err = open_channel(r, &r->channels[i]);
	err = fb_group_agree(r->engine->group, err);
	return err || !r->remote ? err : fb_host_remote_setup(r);
}

void fb_host_teardown(struct fb_request *request)
{
	struct host_request *r = (struct host_request *)request;

	if (r->remote && r->far)
		fb_host_remote_teardown(r);
	fb_host_disconnect(r);
	for (int i = 0; r->channels && i < r->nchannels; i++) {
		struct host_channel *ch = &r->channels[i];

		for (int l = 0; l < ch->nlanes; l++) {
			free(ch->lanes[l].src);
			free(ch->lanes[l].dst);
			free(ch->lanes[l].stream);
		}
		free(ch->in);
		free(ch->out);
		free(ch->drain_base);
		free(ch->address);
		free(ch->bytes);
		fb_plan_free(ch->plan);
	}
	fb_segment_close(&r->scratch);
	free(r->move.block);
	free(r->channels);
}
