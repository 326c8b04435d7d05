/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draft steps: the form between operations (ops.h) and a plan. lower.c fuses operations into
 * drafts, emit.c writes drafts out as steps. Internal to common/plan.
 */
#ifndef FB_COMMON_PLAN_DRAFT_H
#define FB_COMMON_PLAN_DRAFT_H

#include "common/plan/ops.h"

/* A destination other than the chunk the step produces. */
struct fb_sink {
	struct fb_end end;
	uint32_t round; /* of the operation, which may be later than the step's */
	int32_t next;   /* index of the next sink of the same step, -1 at the end */
};

struct fb_draft {
	uint32_t round;
	uint8_t lane, flags;
	uint8_t result_buffer; /* the chunk the step produces in own memory */
	bool has_result;
	bool arrives;  /* the peer pushes the result: the step waits for it and moves nothing */
	bool receives; /* has a source that is not local */
	bool exposes;  /* a peer pulls the result or the source */
	uint16_t ndst, nsrc;
	uint32_t result_index, unit, count;
	uint32_t first_src; /* into fb_drafts.srcs */
	int32_t first_sink, last_sink;
};

/* Per unit of a buffer: draft index + 1 of the last one that wrote, touched, or copied from it. */
struct fb_history {
	uint32_t *wrote, *touched, *copied;
	bool *exposed; /* a peer pulls it at some time */
	uint32_t units;
};

struct fb_drafts {
	const struct fb_ops *ops;
	struct fb_draft *drafts;
	size_t n, room;
	struct fb_end *srcs;
	size_t nsrcs, srcs_room;
	struct fb_sink *sinks;
	size_t nsinks, sinks_room;
	struct fb_link *links[2];   /* in, out */
	uint32_t *last_on_link;     /* out links: draft index + 1 of the last sender */
	size_t nlinks[2], links_room[2], last_room;
	uint32_t *slots[2];         /* hash from (peer, lane) to link + 1 */
	size_t nslots[2];
	struct fb_history history[FB_BUFFERS];
};

enum { FB_LINK_IN, FB_LINK_OUT };

/* Makes room for lowering `ops`. On error close it all the same. 0 or FB_ENOMEM. */
int fb_open_drafts(struct fb_drafts *d, const struct fb_ops *ops);
void fb_close_drafts(struct fb_drafts *d);

/* A credit: `draft` waits for a push on in-link `link`. */
struct fb_credit {
	uint32_t draft;
	uint16_t link;
	int32_t next; /* to be given at the same place, -1 at the end */
};

struct fb_credits {
	struct fb_credit *credits;
	size_t n, room;
	int32_t *first, *last; /* [drafts + 1]: those to be given before the draft, or -1 */
};

/* Finds the place of every credit (credits.c); first and last are filled with -1 before. */
int fb_place_credits(const struct fb_drafts *d, struct fb_credits *credits);

/* Writes the drafts out as *plan, adding what direct links and several lanes need (emit.c). */
int fb_emit(const struct fb_drafts *d, struct fb_plan *plan);

#endif
