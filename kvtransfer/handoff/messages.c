/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of messages instead of pages; see handoff.h. Each transfer between pages that links.c has
 * made becomes a packing at both ends and a move of one piece, or several moves if the message is
 * copied and moved by chunks.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/handoff.h"

/* So many moves has a message. */
static uint64_t chunks_of(const struct fb_handoff_plan *p, uint64_t bytes)
{
	return bytes > p->chunk ? (bytes + p->chunk - 1) / p->chunk : 1;
}

/* The moves of message m, which is at these places of both ends, and of this one. */
static uint32_t add_chunks(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
			   uint32_t m, const struct fb_transfer *whole, uint64_t bytes,
			   const struct fb_handoff_chunk *at, struct fb_piece place, uint32_t n)
{
	uint64_t chunks = chunks_of(&i->plan, bytes), done = 0;

	for (uint64_t c = 0; c < chunks; c++, n++) {
		uint64_t part = c + 1 < chunks ? i->plan.chunk : bytes - done;

		link->piece[n] = (struct fb_piece){place.local + done, place.remote + done, part};
		link->transfer[n] = *whole;
		link->transfer[n].piece = &link->piece[n];
		link->transfer[n].pieces = link->transfer[n].repeats = 1;
		link->chunk[n] = (struct fb_handoff_chunk){
			.packing = m, .first = c == 0, .last = c + 1 == chunks, .bytes = part,
			.device = at->device + done, .host = at->host + done};
		done += part;
	}
	return n;
}

static int room_for_messages(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
			     const struct fb_transfer *whole)
{
	size_t n = 0;

	link->packings = link->moves;
	for (uint32_t m = 0; m < link->packings; m++)
		n += chunks_of(&i->plan, fb_kv_wire_bytes(i->plan.wire,
							  fb_transfer_bytes(&whole[m])));
	free(link->move);
	link->moves = (uint32_t)n;
	link->piece = calloc(n + 1, sizeof(*link->piece));
	link->transfer = calloc(n + 1, sizeof(*link->transfer));
	link->move = calloc(n + 1, sizeof(struct fb_move *));
	link->chunk = calloc(n + 1, sizeof(*link->chunk));
	link->packing = calloc(link->packings + (size_t)1, sizeof(*link->packing));
	return link->piece && link->transfer && link->move && link->chunk && link->packing
		       ? FB_OK
		       : fb_error(FB_ENOMEM, "out of memory for %zu messages", n);
}

int fb_handoff_messages(const struct fb_handoff_instance *i, const struct fb_kv_job *job,
			const struct fb_kv_pair *pair, struct fb_handoff_link *link)
{
	int rank = i->state->machine.world->rank, err;
	char *part = fb_segment_part(job->segment, rank);
	char *host = fb_segment_part(i->engine->memory, rank);
	uint64_t out = job->out_at + pair->out_at, in = job->in_at + pair->in_at, at = 0;
	uint64_t shift = i->plan.staging ? job->stage_shift : 0;
	bool sends = rank == link->from, flip = i->plan.get || (i->plan.send && !sends);
	struct fb_transfer *whole = link->transfer;
	struct fb_piece *pages = link->piece;
	uint32_t n = 0;

	err = room_for_messages(i, link, whole);
	for (uint32_t m = 0; m < link->packings && !err; m++) {
		uint64_t bytes = fb_kv_wire_bytes(i->plan.wire, fb_transfer_bytes(&whole[m]));
		const struct fb_handoff_chunk end = {
			.device = part + at + (sends ? out : in),
			.host = host + at + (sends ? out : in) - shift};
		const struct fb_piece place = {at + (flip ? in : out) - shift,
					       at + (flip ? out : in) - shift, bytes};

		err = fb_kv_packing_open(&link->packing[m], &whole[m], sends, i->plan.wire,
					 i->engine->device, part,
					 i->plan.staging == FB_KV_STAGING_MAPPED ? end.host
										   : end.device);
		n = add_chunks(i, link, m, &whole[m], bytes, &end, place, n);
		/* No more than the pair has, and aligned as its pages are. */
		at += fb_transfer_bytes(&whole[m]);
		link->wire_bytes += bytes;
	}
	/* The lists of pages are in the packings now. */
	free(pages);
	free(whole);
	link->wire_bytes -= link->bytes;
	if (i->plan.staging) {
		link->from_at = out - shift;
		link->to_at = in - shift;
	}
	return err;
}
