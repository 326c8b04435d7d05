/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps whose zero-copy ends are in another node's memory, which only the network device reaches.
 *
 * Over shared memory the processor moves such a step at once. Here a step has phases, and other
 * lanes run between them: read the pulled data; compute; write the pushed data; signal the peers. A
 * push is sent from the source, or from the local copy of the result, and from a stage only if
 * there is neither. A pull is received in its destination if nothing is computed from it.
 *
 * A push that was signalled may not be complete: the device may still read its source. Each push is
 * kept as a flight until its ticket is reached. Everything that would write to the same bytes
 * waits: a step with that destination, a credit to a peer (which may then write anywhere), and the
 * end of the operation.
 */
#include "collectives/engine/host_remote.h"

enum phase { BEGIN, PULL, PULLED, PUSH, SIGNAL };

/*
 * Decides where pulls go and pushes come from. Ends of the step: sources 0..nsrc, then
 * destinations; `value` is the end that holds the result, -1: the stage. False: the stage is in
 * flight.
 */
static bool begin(const struct host_request *r, const struct host_channel *ch,
		  struct host_lane *lane, const struct fb_step *s, size_t bytes)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	struct host_transfer *t = &lane->transfer;
	bool finishes = (s->flags & FB_FINISH) && r->move.finish, pushes = false;
	int local = -1, moved = 0;

	for (int i = s->nsrc; i < s->nsrc + s->ndst; i++) {
		pushes |= fb_host_is_push(ch, &ends[i]);
		if (ends[i].kind == FB_EXPOSE || fb_host_is_push(ch, &ends[i]))
			continue;
		moved++;
		if (ends[i].kind == FB_LOCAL && local < 0)
			local = i;
	}
	t->value = local;
	if (s->nsrc == 1 && !finishes &&
	    (ends[0].kind == FB_LOCAL || ends[0].kind == FB_ARRIVE))
		t->value = 0;
	t->straight = s->nsrc == 1 && fb_host_is_pull(ch, &ends[0]) && !finishes && moved == 1 &&
		      local >= 0;
	t->moves = !t->straight && (moved || (pushes && t->value < 0));
	t->stage_unit = (bytes + 63) / 64 * 64;
	if (fb_host_in_flight(r, t->stage, t->stage + t->stage_bytes))
		return false;
	t->end = 0;
	t->at = (struct host_place){0};
	t->phase = PULL;
	return true;
}

/* Where the step's end i has its first byte, stage included. */
static char *place_of(const struct host_channel *ch, const struct host_lane *lane,
		      const struct fb_step *s, int i)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	const struct host_transfer *t = &lane->transfer;

	if (i < 0)
		return t->stage + (size_t)s->nsrc * t->stage_unit;
	if (i >= s->nsrc)
		return lane->dst[i - s->nsrc];
	if (fb_host_is_pull(ch, &ends[i]))
		return t->straight ? lane->dst[t->value - s->nsrc]
				   : t->stage + (size_t)i * t->stage_unit;
	return (char *)(uintptr_t)lane->src[i];
}

/* Distance of a piece from the first one at that end; packed in stages and slots. */
static size_t offset_at(const struct host_request *r, const struct host_channel *ch,
			const struct host_lane *lane, const struct fb_step *s, uint64_t part,
			int i, const struct host_cut *cut)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	bool pull = i >= 0 && i < s->nsrc && fb_host_is_pull(ch, &ends[i]);

	if (i < 0 || ends[i].kind == FB_LINK || (pull && !lane->transfer.straight))
		return cut->before;
	return fb_host_spread(r, ch, &ends[pull ? lane->transfer.value : i], s, part, cut->index);
}

/* Moves the pieces of one remote end, as far as there is room. False: some are left. */
static bool carry(const struct host_request *r, const struct host_channel *ch,
		  struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes,
		  int i)
{
	const struct fb_end *e = ch->plan->ends + s->first_end + i;
	struct host_transfer *t = &lane->transfer;
	bool pull = i < s->nsrc;
	struct fb_port *port = pull ? ch->in[e->link] : ch->out[e->link];
	const char *far = pull ? lane->src[i] : lane->dst[i - s->nsrc];
	int near = pull ? i : t->value;
	struct host_cut cut = {0};

	while (fb_host_next_piece(r, ch, s, part, bytes, &cut)) {
		char *own = place_of(ch, lane, s, near) +
			    offset_at(r, ch, lane, s, part, near, &cut);
		const char *remote = far + fb_host_spread(r, ch, e, s, part, cut.index);
		size_t done;

		if (cut.index < t->at.piece)
			continue;
		if (cut.index > t->at.piece)
			t->at = (struct host_place){.piece = cut.index};
		if (t->at.bytes == cut.bytes)
			continue;
		done = pull ? port->ops->direct->pull(port, own + t->at.bytes,
						      remote + t->at.bytes,
						      cut.bytes - t->at.bytes)
			    : port->ops->direct->push(port, own + t->at.bytes,
						      remote + t->at.bytes,
						      cut.bytes - t->at.bytes);
		t->at.bytes += done;
		if (t->at.bytes < cut.bytes)
			return false;
	}
	t->at = (struct host_place){0};
	return true;
}

static bool pull_all(const struct host_request *r, const struct host_channel *ch,
		     struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	struct host_transfer *t = &lane->transfer;

	for (; t->end < s->nsrc; t->end++) {
		const struct fb_port *port;

		if (!fb_host_is_pull(ch, &ends[t->end]))
			continue;
		if (!carry(r, ch, lane, s, part, bytes, t->end))
			return false;
		port = ch->in[ends[t->end].link];
		port->ops->direct->ticket(port, &t->tickets[t->end]);
	}
	return true;
}

static bool all_pulled(const struct host_channel *ch, const struct host_lane *lane,
		       const struct fb_step *s)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;

	for (int i = 0; i < s->nsrc; i++) {
		const struct fb_port *port;

		if (!fb_host_is_pull(ch, &ends[i]))
			continue;
		port = ch->in[ends[i].link];
		if (!port->ops->direct->reached(port, &lane->transfer.tickets[i]))
			return false;
	}
	return true;
}

/* The processor's part: everything but what devices write. */
static void move(const struct host_request *r, const struct host_channel *ch,
		 struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	struct host_transfer *t = &lane->transfer;
	struct host_cut cut = {0};

	while (fb_host_next_piece(r, ch, s, part, bytes, &cut)) {
		int n = 0;

		for (int i = 0; i < s->nsrc; i++)
			t->from[i] = place_of(ch, lane, s, i) +
				     offset_at(r, ch, lane, s, part, i, &cut);
		for (int i = s->nsrc; i < s->nsrc + s->ndst; i++)
			if (ends[i].kind != FB_EXPOSE && !fb_host_is_push(ch, &ends[i]))
				t->to[n++] = place_of(ch, lane, s, i) +
					     offset_at(r, ch, lane, s, part, i, &cut);
		if (t->value < 0)
			t->to[n++] = place_of(ch, lane, s, -1) + cut.before;
		fb_move_bytes(&r->move, t->to, t->stream, n, t->from, s->nsrc, cut.bytes,
			      s->flags & FB_FINISH);
	}
}

static bool push_all(struct host_request *r, const struct host_channel *ch,
		     struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	struct host_transfer *t = &lane->transfer;

	for (; t->end < s->nsrc + s->ndst; t->end++) {
		const char *from = place_of(ch, lane, s, t->value);
		struct host_flight *flight;
		struct fb_port *port;

		if (!fb_host_is_push(ch, &ends[t->end]) || !bytes)
			continue;
		if (!fb_host_flight_room(r) || !carry(r, ch, lane, s, part, bytes, t->end))
			return false;
		port = ch->out[ends[t->end].link];
		flight = &r->flights[r->nflights++];
		*flight = (struct host_flight){.port = port, .begin = from, .end = from + bytes};
		if (t->value >= 0)
			flight->end = fb_host_end_of(r, ch, &ends[t->value], s, part, bytes, from);
		port->ops->direct->ticket(port, &flight->ticket);
	}
	return true;
}

/* Releases each source and announces each destination once, however often this is called. */
static bool signal_ends(const struct host_channel *ch, struct host_lane *lane,
			const struct fb_step *s, size_t bytes)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;
	struct host_transfer *t = &lane->transfer;

	for (; t->end < s->nsrc + s->ndst; t->end++) {
		const struct fb_end *e = &ends[t->end];
		bool source = t->end < s->nsrc;
		struct fb_port *port;

		if (e->kind == FB_LOCAL)
			continue;
		port = source ? ch->in[e->link] : ch->out[e->link];
		if (source && e->kind == FB_LINK)
			port->ops->release(port);
		else if (source)
			fb_host_direct_done(port, e->kind == FB_PULL);
		else if (e->kind == FB_LINK)
			port->ops->commit(port, bytes);
		else if (!fb_host_announce(port, e->kind == FB_PUSH))
			return false;
	}
	return true;
}

bool fb_host_transfer(struct host_request *r, const struct host_channel *ch,
		      struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes)
{
	struct host_transfer *t = &lane->transfer;

	if (t->phase == BEGIN && !begin(r, ch, lane, s, bytes))
		return false;
	if (t->phase == PULL) {
		if (!pull_all(r, ch, lane, s, part, bytes))
			return false;
		t->phase = PULLED;
	}
	if (t->phase == PULLED) {
		if (!all_pulled(ch, lane, s))
			return false;
		if (t->moves && bytes)
			move(r, ch, lane, s, part, bytes);
		t->end = s->nsrc;
		t->phase = PUSH;
	}
	if (t->phase == PUSH) {
		if (!push_all(r, ch, lane, s, part, bytes))
			return false;
		t->end = 0;
		t->phase = SIGNAL;
	}
	if (!signal_ends(ch, lane, s, bytes))
		return false;
	t->phase = BEGIN;
	return true;
}
