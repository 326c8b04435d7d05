/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps whose zero-copy ends are in another node's memory, where only the device reaches.
 *
 * Over shared memory such a step is one move by the processor. Here it has phases, between which
 * other lanes run: read what is pulled; compute what the processor has to; write what is pushed;
 * tell the peers. A push goes straight out of the source, or out of the own copy of the result,
 * and through a stage only if there is neither; a pull goes straight to its destination if that
 * is all that happens to it.
 *
 * A push that was told is not over: the device may still read its source. Each is kept as a flight
 * until its ticket is reached, and whatever would write to the same bytes waits: a step with that
 * destination, a credit to a peer (which may let it write anywhere), the end of the operation.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collectives/engine/host.h"
#include "common/error.h"

enum phase { BEGIN, PULL, PULLED, PUSH, TELL };

/* --- flights ---------------------------------------------------------------------------------- */

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

static bool in_flight(const struct host_request *r, const char *begin, const char *end)
{
	for (int i = 0; i < r->nflights; i++)
		if (r->flights[i].begin < end && begin < r->flights[i].end)
			return true;
	return false;
}

/* Whether one more flight may begin; makes room for it. */
static bool flight_room(struct host_request *r)
{
	if (r->nflights < HOST_FLIGHTS)
		return true;
	fb_host_land(r);
	return r->nflights < HOST_FLIGHTS;
}

/* --- where things are ------------------------------------------------------------------------- */

static int rank_of(const struct host_request *r, const struct host_channel *ch,
		   const struct fb_end *e)
{
	if (e->kind == FB_PULL)
		return ch->in[e->link]->peer;
	return e->kind == FB_PUSH ? ch->out[e->link]->peer : r->engine->world->rank;
}

/* Distance of piece p from piece 0 in the end's own memory. */
static size_t spread(const struct host_request *r, const struct host_channel *ch,
		     const struct fb_end *e, const struct fb_step *s, uint64_t part, uint32_t p)
{
	int rank = rank_of(r, ch, e);

	if (!p)
		return 0;
	return fb_chunk_piece(&r->geometry, rank, e->buffer, e->index, s->count, part, p).offset -
	       fb_chunk_piece(&r->geometry, rank, e->buffer, e->index, s->count, part, 0).offset;
}

/* One piece: its length, and how much of the chunk is before it. */
struct cut {
	uint32_t index;
	size_t bytes, before;
};

/* Goes on to the next piece; starts with {0}. False after the last. */
static bool next_piece(const struct host_request *r, const struct fb_step *s, uint64_t part,
		       size_t total, struct cut *cut)
{
	uint32_t pieces = fb_chunk_pieces(&r->geometry, s->unit, s->count);

	if (cut->bytes) {
		cut->before += cut->bytes;
		cut->index++;
	}
	while (cut->index < pieces) {
		cut->bytes = pieces == 1 ? total
					 : fb_chunk_piece(&r->geometry, r->engine->world->rank,
							  FB_SCRATCH, s->unit, s->count, part,
							  cut->index).bytes;
		if (cut->bytes)
			return true;
		cut->index++;
	}
	return false;
}

/* The bytes from the first to the last of a chunk in the end's memory that begins at `at`. */
static const char *end_of(const struct host_request *r, const struct host_channel *ch,
			  const struct fb_end *e, const struct fb_step *s, uint64_t part,
			  size_t total, const char *at)
{
	struct cut cut = {0};
	const char *end = at;

	while (next_piece(r, s, part, total, &cut)) {
		const char *stop = at + spread(r, ch, e, s, part, cut.index) + cut.bytes;

		end = stop > end ? stop : end;
	}
	return end;
}

bool fb_host_must_wait(struct host_request *r, const struct host_channel *ch,
		       const struct fb_step *s, uint64_t part, size_t bytes)
{
	const struct fb_end *e = ch->plan->ends + s->first_end + s->nsrc;
	int self = r->engine->world->rank;

	fb_host_land(r);
	for (int i = 0; r->nflights && i < s->ndst; i++, e++) {
		const char *at;

		if (e->kind != FB_LOCAL)
			continue;
		at = fb_host_base(r, self, e->buffer) +
		     fb_chunk_piece(&r->geometry, self, e->buffer, e->index, s->count, part,
				    0).offset;
		if (in_flight(r, at, end_of(r, ch, e, s, part, bytes, at)))
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

static bool is_pull(const struct host_channel *ch, const struct fb_end *e)
{
	return e->kind == FB_PULL && fb_host_is_remote(ch->in[e->link]);
}

static bool is_push(const struct host_channel *ch, const struct fb_end *e)
{
	return e->kind == FB_PUSH && fb_host_is_remote(ch->out[e->link]);
}

/* --- the phases ------------------------------------------------------------------------------- */

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
		pushes |= is_push(ch, &ends[i]);
		if (ends[i].kind == FB_EXPOSE || is_push(ch, &ends[i]))
			continue;
		moved++;
		if (ends[i].kind == FB_LOCAL && local < 0)
			local = i;
	}
	t->value = local;
	if (s->nsrc == 1 && !finishes &&
	    (ends[0].kind == FB_LOCAL || ends[0].kind == FB_ARRIVE))
		t->value = 0;
	t->straight = s->nsrc == 1 && is_pull(ch, &ends[0]) && !finishes && moved == 1 &&
		      local >= 0;
	t->moves = !t->straight && (moved || (pushes && t->value < 0));
	t->stage_unit = (bytes + 63) / 64 * 64;
	if (in_flight(r, t->stage, t->stage + t->stage_bytes))
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
	if (is_pull(ch, &ends[i]))
		return t->straight ? lane->dst[t->value - s->nsrc]
				   : t->stage + (size_t)i * t->stage_unit;
	return (char *)(uintptr_t)lane->src[i];
}

/* Distance of a piece from the first one at that end; packed in stages and slots. */
static size_t offset_at(const struct host_request *r, const struct host_channel *ch,
			const struct host_lane *lane, const struct fb_step *s, uint64_t part,
			int i, const struct cut *cut)
{
	const struct fb_end *ends = ch->plan->ends + s->first_end;

	if (i < 0 || ends[i].kind == FB_LINK)
		return cut->before;
	if (i < s->nsrc && is_pull(ch, &ends[i]))
		return lane->transfer.straight
			       ? spread(r, ch, &ends[lane->transfer.value], s, part, cut->index)
			       : cut->before;
	return spread(r, ch, &ends[i], s, part, cut->index);
}

/* One remote end: all pieces, as far as there is room. False: not yet all of them. */
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
	struct cut cut = {0};

	while (next_piece(r, s, part, bytes, &cut)) {
		char *own = place_of(ch, lane, s, near) +
			    offset_at(r, ch, lane, s, part, near, &cut);
		const char *theirs = far + spread(r, ch, e, s, part, cut.index);
		size_t done;

		if (cut.index < t->at.piece)
			continue;
		if (cut.index > t->at.piece)
			t->at = (struct host_place){.piece = cut.index};
		if (t->at.bytes == cut.bytes)
			continue;
		done = pull ? port->ops->direct->pull(port, own + t->at.bytes,
						      theirs + t->at.bytes,
						      cut.bytes - t->at.bytes)
			    : port->ops->direct->push(port, own + t->at.bytes,
						      theirs + t->at.bytes,
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

		if (!is_pull(ch, &ends[t->end]))
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

		if (!is_pull(ch, &ends[i]))
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
	struct cut cut = {0};

	while (next_piece(r, s, part, bytes, &cut)) {
		int n = 0;

		for (int i = 0; i < s->nsrc; i++)
			t->from[i] = place_of(ch, lane, s, i) +
				     offset_at(r, ch, lane, s, part, i, &cut);
		for (int i = s->nsrc; i < s->nsrc + s->ndst; i++)
			if (ends[i].kind != FB_EXPOSE && !is_push(ch, &ends[i]))
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

		if (!is_push(ch, &ends[t->end]) || !bytes)
			continue;
		if (!flight_room(r) || !carry(r, ch, lane, s, part, bytes, t->end))
			return false;
		port = ch->out[ends[t->end].link];
		flight = &r->flights[r->nflights++];
		*flight = (struct host_flight){.port = port, .begin = from, .end = from + bytes};
		if (t->value >= 0)
			flight->end = end_of(r, ch, &ends[t->value], s, part, bytes, from);
		port->ops->direct->ticket(port, &flight->ticket);
	}
	return true;
}

/* Sources are given back and destinations told, each once, however often this is called. */
static bool tell(const struct host_channel *ch, struct host_lane *lane, const struct fb_step *s,
		 size_t bytes)
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
		t->phase = TELL;
	}
	if (!tell(ch, lane, s, bytes))
		return false;
	t->phase = BEGIN;
	return true;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Bytes of stage that the lane's steps need at most. */
static size_t stage_need(const struct host_request *r, const struct host_channel *ch,
			 const struct host_lane *lane)
{
	size_t most = 0;

	for (uint32_t i = 0; i < lane->nsteps; i++) {
		const struct fb_step *s = &lane->steps[i];
		size_t need;

		if (s->kind != FB_RUN || !fb_host_is_transfer(ch, s))
			continue;
		need = ((size_t)s->nsrc + 1) * (fb_message_bound(&r->geometry, s->count) + 64);
		most = need > most ? need : most;
	}
	return (most + 63) / 64 * 64;
}

static int open_lane(struct host_lane *lane, size_t ends)
{
	struct host_transfer *t = &lane->transfer;

	t->from = calloc(ends + 1, sizeof(*t->from));
	t->to = calloc(ends + 1, sizeof(*t->to));
	t->stream = calloc(ends + 1, sizeof(*t->stream));
	t->tickets = calloc(ends + 1, sizeof(*t->tickets));
	return t->from && t->to && t->stream && t->tickets ? FB_OK : FB_ENOMEM;
}

/* Gives each lane its part of the stage. */
static int open_stage(struct host_request *r)
{
	size_t total = 0;
	char *at;

	for (int c = 0; c < r->nchannels; c++)
		for (int l = 0; l < r->channels[c].nlanes; l++)
			total += stage_need(r, &r->channels[c], &r->channels[c].lanes[l]);
	if (!total)
		return FB_OK;
	at = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return fb_error(FB_ENOMEM, "out of memory for a stage of %zu bytes", total);
	r->stage = at;
	r->stage_bytes = total;
	for (int c = 0; c < r->nchannels; c++)
		for (int l = 0; l < r->channels[c].nlanes; l++) {
			struct host_lane *lane = &r->channels[c].lanes[l];

			lane->transfer.stage = at;
			lane->transfer.stage_bytes = stage_need(r, &r->channels[c], lane);
			at += lane->transfer.stage_bytes;
		}
	return r->far->ops->direct->lend(r->far, r->stage, total);
}

int fb_host_remote_setup(struct host_request *r)
{
	const struct fb_direct_ops *direct = r->far->ops->direct;
	int rank = r->engine->world->rank, err = FB_OK;

	r->flights = calloc(HOST_FLIGHTS, sizeof(*r->flights));
	for (int c = 0; r->flights && c < r->nchannels && !err; c++)
		for (int l = 0; l < r->channels[c].nlanes && !err; l++)
			err = open_lane(&r->channels[c].lanes[l], r->channels[c].most_ends);
	if (!r->flights)
		err = FB_ENOMEM;
	if (!err)
		err = open_stage(r);
	err = fb_world_agree(r->engine->world, err);
	if (!err)
		err = direct->expose(r->far, fb_segment_part(r->op->segment, rank),
				     r->op->segment->part_bytes);
	if (!err && r->scratch.base)
		err = direct->expose(r->far, fb_segment_part(&r->scratch, rank),
				     r->scratch.part_bytes);
	return err;
}

void fb_host_remote_teardown(struct host_request *r)
{
	const struct fb_direct_ops *direct = r->far->ops->direct;

	if (r->scratch.base)
		direct->conceal(r->far, fb_segment_part(&r->scratch, r->engine->world->rank),
				r->scratch.part_bytes);
	if (r->stage) {
		direct->take_back(r->far, r->stage, r->stage_bytes);
		munmap(r->stage, r->stage_bytes);
	}
	for (int c = 0; r->channels && c < r->nchannels; c++)
		for (int l = 0; l < r->channels[c].nlanes; l++) {
			struct host_transfer *t = &r->channels[c].lanes[l].transfer;

			free(t->from);
			free(t->to);
			free(t->stream);
			free(t->tickets);
		}
	free(r->flights);
}
