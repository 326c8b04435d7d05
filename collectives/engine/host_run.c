/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes plans on the host. Every lane runs its steps in order as far as it can; a step that
 * has to wait gives way to the other lanes, and is looked at again. Nothing here blocks, so
 * start, test and wait are the same code.
 *
 * A step first finds all its ends ready, then moves the bytes, then posts: no peer is notified
 * before everything that the notification covers is done.
 */
#include <string.h>

#include "collectives/engine/host.h"
#include "common/base/error.h"

void fb_host_start(struct host_request *r)
{
	r->running = 0;
	for (int c = 0; c < r->nchannels; c++) {
		struct host_channel *ch = &r->channels[c];

		for (int l = 0; l < ch->nlanes; l++) {
			struct host_lane *lane = &ch->lanes[l];

			lane->step = 0;
			lane->slice = 0;
			lane->scan = 0;
			lane->completed = 0;
			r->running += lane->nsteps != 0;
		}
	}
}

/* The one piece an end has, or its first; further ones are found while moving. */
static char *end_address(const struct host_request *r, const struct host_channel *ch,
			 const struct fb_end *e, const struct fb_step *s, int rank, uint64_t part,
			 bool remote)
{
	if (ch->address)
		return ch->address[e - ch->plan->ends];
	return fb_host_base(r, remote ? r->engine->group->rank : rank, e->buffer) +
	       fb_chunk_piece(&r->geometry, rank, e->buffer, e->index, s->count, part, 0).offset;
}

static bool deps_done(const struct host_channel *ch, const struct host_lane *lane,
		      const struct fb_step *s)
{
	for (int i = 0; i < s->ndep; i++) {
		const struct fb_dep *d = &ch->plan->deps[s->first_dep + (uint32_t)i];
		const struct host_lane *o = &ch->lanes[d->lane];

		if (o->completed <= lane->slice * o->nsteps + d->step)
			return false;
	}
	return true;
}

/* Whether a source is there; its memory in *from. */
static bool source_ready(const struct host_request *r, const struct host_channel *ch,
			 const struct fb_step *s, const struct fb_end *e, uint64_t part,
			 size_t bytes, const char **from)
{
	int self = r->engine->group->rank, peer;
	struct fb_port *port;

	if (e->kind == FB_LOCAL) {
		*from = end_address(r, ch, e, s, self, part, false);
		return true;
	}
	port = ch->in[e->link];
	if (e->kind == FB_LINK) {
		*from = port->ops->peek(port, bytes);
		return *from != NULL;
	}
	if (!fb_host_announced(port))
		return false;
	peer = e->kind == FB_PULL ? port->peer : self;
	*from = end_address(r, ch, e, s, peer, part, fb_host_is_remote(port));
	return true;
}

static bool destination_ready(const struct host_request *r, const struct host_channel *ch,
			      const struct fb_step *s, const struct fb_end *e, uint64_t part,
			      size_t bytes, char **to)
{
	struct fb_port *port;

	if (e->kind == FB_LOCAL) {
		*to = end_address(r, ch, e, s, r->engine->group->rank, part, false);
		return true;
	}
	if (e->kind == FB_EXPOSE) {
		*to = NULL;
		return true;
	}
	port = ch->out[e->link];
	if (e->kind == FB_LINK) {
		*to = port->ops->acquire(port, bytes);
		return *to != NULL;
	}
	if (!fb_host_may_push(port))
		return false;
	*to = end_address(r, ch, e, s, port->peer, part, fb_host_is_remote(port));
	return true;
}

static bool ready(const struct host_request *r, const struct host_channel *ch,
		  struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	uint16_t i = lane->scan;

	for (; i < s->nsrc; i++)
		if (!source_ready(r, ch, s, &ends[i], part, bytes, &lane->src[i])) {
			lane->scan = i;
			return false;
		}
	for (; i < s->nsrc + s->ndst; i++)
		if (!destination_ready(r, ch, s, &ends[i], part, bytes,
				       &lane->dst[i - s->nsrc])) {
			lane->scan = i;
			return false;
		}
	lane->scan = 0;
	return true;
}

/* Moves a chunk that is not contiguous: piece by piece; slots hold the pieces packed. */
static void move_pieces(const struct host_request *r, const struct host_channel *ch,
			struct host_lane *lane, const struct fb_step *s, uint64_t part, int ndst)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	uint32_t pieces = fb_chunk_pieces(&r->geometry, s->unit, s->count);
	const struct fb_end size = fb_step_extent(&r->geometry, ch->plan, s);
	int self = r->engine->group->rank;

	for (uint32_t p = 0; p < pieces; p++) {
		struct fb_piece piece = {.bytes = 0};

		/* All ends agree on the size of the piece, in whatever block they are. */
		piece = fb_chunk_piece(&r->geometry, self, size.buffer, size.index, s->count, part,
				       p);
		fb_move_bytes(&r->move, lane->dst, lane->stream, ndst, lane->src, s->nsrc,
			      piece.bytes, s->flags & FB_FINISH);
		for (int i = 0, k = 0; p + 1 < pieces && i < s->nsrc + s->ndst; i++) {
			const struct fb_end *e = &ends[i];
			bool source = i < s->nsrc;
			int rank = self;
			size_t step = piece.bytes;

			if (e->kind == FB_EXPOSE)
				continue;
			if (e->kind == FB_PULL)
				rank = ch->in[e->link]->peer;
			if (e->kind == FB_PUSH)
				rank = ch->out[e->link]->peer;
			if (e->kind != FB_LINK)
				step = fb_chunk_piece(&r->geometry, rank, e->buffer, e->index,
						      s->count, part, p + 1).offset -
				       fb_chunk_piece(&r->geometry, rank, e->buffer, e->index,
						      s->count, part, p).offset;
			if (source)
				lane->src[i] += step;
			else
				lane->dst[k++] += step;
		}
	}
}

/* Leaves out the destinations that move nothing; returns how many remain. */
static int moving(const struct host_request *r, const struct host_channel *ch,
		  struct host_lane *lane, const struct fb_step *s, bool *streamed)
{
	const struct fb_end *e = ch->plan->ends + s->first_end + s->nsrc;
	int n = 0;

	for (int i = 0; i < s->ndst; i++, e++) {
		if (e->kind == FB_EXPOSE)
			continue;
		lane->stream[n] = r->streams && e->kind != FB_LINK;
		*streamed |= lane->stream[n];
		lane->dst[n++] = lane->dst[i];
	}
	return n;
}

static void post(const struct host_channel *ch, const struct fb_step *s, size_t bytes)
{
	const struct fb_end *e = ch->plan->ends + s->first_end;

	for (int i = 0; i < s->nsrc; i++, e++) {
		struct fb_port *port;

		if (e->kind == FB_LOCAL)
			continue;
		port = ch->in[e->link];
		if (e->kind == FB_LINK)
			port->ops->release(port);
		else
			fb_host_direct_done(port, e->kind == FB_PULL);
	}
	for (int i = 0; i < s->ndst; i++, e++) {
		struct fb_port *port;

		if (e->kind == FB_LOCAL)
			continue;
		port = ch->out[e->link];
		if (e->kind == FB_LINK)
			port->ops->commit(port, bytes);
		else
			(void)fb_host_announce(port, e->kind == FB_PUSH);
	}
}

size_t fb_host_step_bytes(const struct host_request *r, const struct host_channel *ch,
			  const struct fb_step *s, uint64_t part)
{
	const struct fb_end size = fb_step_extent(&r->geometry, ch->plan, s);
	uint32_t pieces = fb_chunk_pieces(&r->geometry, s->unit, s->count);
	size_t bytes = 0;

	if (ch->bytes)
		return ch->bytes[s->first_end];
	for (uint32_t p = 0; p < pieces; p++)
		bytes += fb_chunk_piece(&r->geometry, r->engine->group->rank, size.buffer,
					size.index, s->count, part, p).bytes;
	return bytes;
}

static bool run(struct host_request *r, const struct host_channel *ch,
		struct host_lane *lane, const struct fb_step *s, uint64_t part)
{
	size_t bytes = fb_host_step_bytes(r, ch, s, part);
	bool streamed = false;
	int ndst;

	if (lane->transfer.phase)
		return fb_host_transfer(r, ch, lane, s, part, bytes);
	if (r->nflights && fb_host_must_wait(r, ch, s, part, bytes))
		return false;
	if (!ready(r, ch, lane, s, part, bytes))
		return false;
	if (r->remote && fb_host_is_transfer(ch, s))
		return fb_host_transfer(r, ch, lane, s, part, bytes);
	ndst = moving(r, ch, lane, s, &streamed);
	if (bytes && ndst) {
		if (fb_chunk_pieces(&r->geometry, s->unit, s->count) == 1)
			fb_move_bytes(&r->move, lane->dst, lane->stream, ndst, lane->src, s->nsrc,
				      bytes, s->flags & FB_FINISH);
		else
			move_pieces(r, ch, lane, s, part, ndst);
	}
	if (streamed)
		fb_stream_fence();
	post(ch, s, bytes);
	return true;
}

/* One step; false: it has to wait. */
static bool execute(struct host_request *r, const struct host_channel *ch,
		    struct host_lane *lane, uint64_t part)
{
	const struct fb_step *s = &lane->steps[lane->step];
	struct fb_port *port;

	if (s->ndep && !deps_done(ch, lane, s))
		return false;
	if (s->kind == FB_RUN)
		return run(r, ch, lane, s, part);
	if (s->kind == FB_CREDIT) {
		/* The peer may write where a push still reads. */
		if (r->nflights)
			fb_host_land(r);
		if (r->nflights)
			return false;
		fb_host_credit(ch->in[s->link]);
		return true;
	}
	port = ch->out[s->link];
	return fb_host_drained(port, ch->drain_base[s->link] +
				 lane->slice * ch->plan->out_links[s->link].pulls + s->upto);
}

static void finish_lane(struct host_request *r, struct host_channel *ch)
{
	r->running--;
	for (int l = 0; l < ch->nlanes; l++)
		if (ch->lanes[l].slice < r->slices && ch->lanes[l].nsteps)
			return;
	for (int i = 0; i < ch->plan->n_out_links; i++)
		ch->drain_base[i] += r->slices * ch->plan->out_links[i].pulls;
}

/*
 * Only messages of this request count. Messages of another request in flight may not move before
 * the peer waits for that request, and the peer may first wait for this rank: a deadlock.
 */
bool fb_host_done(const struct host_request *r)
{
	if (r->running || r->nflights)
		return false;
	for (int i = 0; i < r->n_far; i++) {
		const struct fb_port *port = r->far_ports[i];

		if (port->ops->settled && !port->ops->settled(port))
			return false;
	}
	return true;
}

int fb_host_progress(struct host_request *r)
{
	int err;

	for (int c = 0; c < r->nchannels; c++) {
		struct host_channel *ch = &r->channels[c];

		for (int l = 0; l < ch->nlanes; l++) {
			struct host_lane *lane = &ch->lanes[l];

			while (lane->slice < r->slices && lane->nsteps) {
				uint64_t part = (uint64_t)c * r->slices + lane->slice;

				if (!execute(r, ch, lane, part))
					break;
				lane->completed++;
				r->steps++;
				if (++lane->step < lane->nsteps)
					continue;
				lane->step = 0;
				if (++lane->slice == r->slices)
					finish_lane(r, ch);
			}
		}
	}
	if (!r->far)
		return FB_OK;
	err = r->far->ops->progress(r->far);
	if (r->nflights)
		fb_host_land(r);
	return err;
}
