/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of remote zero copy; see host_remote.c. Internal to host_*.c. */
#ifndef FB_COLLECTIVES_ENGINE_HOST_REMOTE_H
#define FB_COLLECTIVES_ENGINE_HOST_REMOTE_H

#include "collectives/engine/host.h"

/* One piece of a chunk: its length, and how much of the chunk is before it. */
struct host_cut {
	uint32_t index;
	size_t bytes, before;
};

/* Whether the end is one that a device reads from, or writes to, another node. */
static inline bool fb_host_is_pull(const struct host_channel *ch, const struct fb_end *e)
{
	return e->kind == FB_PULL && fb_host_is_remote(ch->in[e->link]);
}

static inline bool fb_host_is_push(const struct host_channel *ch, const struct fb_end *e)
{
	return e->kind == FB_PUSH && fb_host_is_remote(ch->out[e->link]);
}

/* --- host_flight.c ---------------------------------------------------------------------------- */

/* Whether a push still reads some of [begin, end). */
bool fb_host_in_flight(const struct host_request *r, const char *begin, const char *end);

/* Whether one more flight may begin; makes room for it. */
bool fb_host_flight_room(struct host_request *r);

/* Distance of piece p from piece 0 in the end's own memory. */
size_t fb_host_spread(const struct host_request *r, const struct host_channel *ch,
		      const struct fb_end *e, const struct fb_step *s, uint64_t part, uint32_t p);

/* Goes on to the next piece of a step of `total` bytes; starts with {0}. False after the last. */
bool fb_host_next_piece(const struct host_request *r, const struct host_channel *ch,
			const struct fb_step *s, uint64_t part, size_t total, struct host_cut *cut);

/* Where the chunk ends, in the end's memory, that begins at `at`. */
const char *fb_host_end_of(const struct host_request *r, const struct host_channel *ch,
			   const struct fb_end *e, const struct fb_step *s, uint64_t part,
			   size_t total, const char *at);

#endif
