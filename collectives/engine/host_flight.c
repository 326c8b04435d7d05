/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pushes whose source the device may still read, and where the pieces of a chunk lie; see
 * host_remote.h.
 */
#include "collectives/engine/host_remote.h"

void fb_host_land(struct host_request *r)
{
	int kept = 0;

	for (int i = 0; i < r->nflights; i++) {
		const struct fb_port *port = r->flights[i].port;

		if (!port->ops->direct->reached(port, &r->flights[i].ticket))
			r->flights[kept++] = r->flights[i];
	}
	r->nflights = kept;
}

bool fb_host_in_flight(const struct host_request *r, const char *begin, const char *end)
{
	for (int i = 0; i < r->nflights; i++)
		if (r->flights[i].begin < end && begin < r->flights[i].end)
			return true;
	return false;
}

bool fb_host_flight_room(struct host_request *r)
{
	if (r->nflights < HOST_FLIGHTS)
		return true;
	fb_host_land(r);
	return r->nflights < HOST_FLIGHTS;
}

static int rank_of(const struct host_request *r, const struct host_channel *ch,
		   const struct fb_end *e)
{
	if (e->kind == FB_PULL)
		return ch->in[e->link]->peer;
	return e->kind == FB_PUSH ? ch->out[e->link]->peer : r->engine->group->rank;
}

size_t fb_host_spread(const struct host_request *r, const struct host_channel *ch,
		     const struct fb_end *e, const struct fb_step *s, uint64_t part, uint32_t p)
{
	int rank = rank_of(r, ch, e);

	if (!p)
		return 0;
	return fb_chunk_piece(&r->geometry, rank, e->buffer, e->index, s->count, part, p).offset -
	       fb_chunk_piece(&r->geometry, rank, e->buffer, e->index, s->count, part, 0).offset;
}

bool fb_host_next_piece(const struct host_request *r, const struct host_channel *ch,
			const struct fb_step *s, uint64_t part, size_t total, struct host_cut *cut)
{
	const struct fb_end size = fb_step_extent(&r->geometry, ch->plan, s);
	uint32_t pieces = fb_chunk_pieces(&r->geometry, s->unit, s->count);

	if (cut->bytes) {
		cut->before += cut->bytes;
		cut->index++;
	}
	while (cut->index < pieces) {
		cut->bytes = pieces == 1 ? total
					 : fb_chunk_piece(&r->geometry, r->engine->group->rank,
							  size.buffer, size.index, s->count,
							  part, cut->index).bytes;
		if (cut->bytes)
			return true;
		cut->index++;
	}
	return false;
}

const char *fb_host_end_of(const struct host_request *r, const struct host_channel *ch,
			  const struct fb_end *e, const struct fb_step *s, uint64_t part,
			  size_t total, const char *at)
{
	struct host_cut cut = {0};
	const char *end = at;

	while (fb_host_next_piece(r, ch, s, part, total, &cut)) {
		const char *stop = at + fb_host_spread(r, ch, e, s, part, cut.index) + cut.bytes;

		end = stop > end ? stop : end;
	}
	return end;
}

bool fb_host_must_wait(struct host_request *r, const struct host_channel *ch,
		       const struct fb_step *s, uint64_t part, size_t bytes)
{
	const struct fb_end *e = ch->plan->ends + s->first_end + s->nsrc;
	int self = r->engine->group->rank;

	fb_host_land(r);
	for (int i = 0; r->nflights && i < s->ndst; i++, e++) {
		const char *at;

		if (e->kind != FB_LOCAL)
			continue;
		at = fb_host_base(r, self, e->buffer) +
		     fb_chunk_piece(&r->geometry, self, e->buffer, e->index, s->count, part,
				    0).offset;
		if (fb_host_in_flight(r, at, fb_host_end_of(r, ch, e, s, part, bytes, at)))
			return true;
	}
	return false;
}

bool fb_host_is_transfer(const struct host_channel *ch, const struct fb_step *s)
{
	const struct fb_end *e = ch->plan->ends + s->first_end;

	for (int i = 0; i < s->nsrc; i++, e++)
		if (e->kind == FB_PULL && fb_host_is_remote(ch->in[e->link]))
			return true;
	for (int i = 0; i < s->ndst; i++, e++)
		if ((e->kind == FB_PUSH || e->kind == FB_EXPOSE) &&
		    fb_host_is_remote(ch->out[e->link]))
			return true;
	return false;
}
