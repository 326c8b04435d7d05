/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder: an algorithm is a function that says, for all ranks at once, which chunk is
 * copied or reduced where. It moves no bytes. The builder keeps only what concerns one rank, so
 * memory grows with that rank's own steps.
 *
 * Rounds give the order. In a round every rank first does its sends and then its receives and
 * local work, each in the order of the calls. Whatever a later round reads must have been
 * written in an earlier one. Lowering then fuses: a chunk that is received and sent on in the
 * next round becomes one step, sends of one chunk to several peers become one step, and values
 * that only pass through are not stored.
 */
#ifndef FB_COMMON_PLAN_BUILDER_H
#define FB_COMMON_PLAN_BUILDER_H

#include <stdio.h>

#include "common/plan/plan.h"

struct fb_builder;

/* A chunk: `count` units from unit `index` of `buffer` of `rank`. */
struct fb_chunk {
	int rank;
	enum fb_buffer buffer;
	uint32_t index, count;
};

static inline struct fb_chunk fb_chunk(int rank, enum fb_buffer buffer, uint32_t index,
				       uint32_t count)
{
	return (struct fb_chunk){.rank = rank, .buffer = buffer, .index = index, .count = count};
}

enum fb_reduce_flags {
	FB_PARTIAL = 0,  /* more contributions follow */
	FB_COMPLETE = 1, /* with this reduction the value holds every rank's contribution */
};

struct fb_algorithm {
	const char *name;   /* "ring" */
	enum fb_collective collective;
	const char *source; /* who published it and where */
	unsigned protocols; /* bits of enum fb_protocol_bit it is meant for; 0: all */
	bool in_place;      /* has an in-place form */
	int channels;       /* the number of channels must be a multiple of this; 0: any */
	int stages;         /* parts that shape->stages may name; 0: not composed */
	/* Whether it works for the shape; writes a reason otherwise. NULL: always. */
	bool (*can)(const struct fb_shape *shape, char *why, size_t n);
	/* Units per block, and blocks of scratch per rank. NULL: 1, and none. */
	uint32_t (*split)(const struct fb_shape *shape);
	uint32_t (*scratch)(const struct fb_shape *shape);
	int (*build)(struct fb_builder *b);
};

enum fb_protocol_bit {
	FB_FIFO_PROTOCOLS = 1, /* simple, ll, ll128, and every network */
	FB_DIRECT_PROTOCOL = 2,
};

/* Facts for build functions; in a view they are the view's. */
int fb_nranks(const struct fb_builder *b);
int fb_root(const struct fb_builder *b);
const struct fb_shape *fb_shape(const struct fb_builder *b);
uint32_t fb_split(const struct fb_builder *b);

/* The rank being built for, in the view's numbering, or -1 when it is not in the view. */
int fb_self(const struct fb_builder *b);

/* Starts the next round. */
void fb_round(struct fb_builder *b);

/* Puts what follows on lane `lane` (of both ranks of each transfer). Starts at 0. */
void fb_lane(struct fb_builder *b, int lane);

/* dst = src. Same number of units; one of them may be remote from the other. */
void fb_copy(struct fb_builder *b, struct fb_chunk dst, struct fb_chunk src);

/* dst = x op y; x, y and dst may be on different ranks, and dst may be x or y. */
void fb_reduce(struct fb_builder *b, struct fb_chunk dst, struct fb_chunk x, struct fb_chunk y,
	       enum fb_reduce_flags flags);

/* dst = src[0] op src[1] op ... src[n-1], in that order. */
void fb_reduce_many(struct fb_builder *b, struct fb_chunk dst, const struct fb_chunk *src, int n,
		    enum fb_reduce_flags flags);

/*
 * A view lets one algorithm be part of another: a group of ranks is renumbered 0..n-1, and each
 * buffer of the part becomes a window of one of the whole's. Unit u of the part's buffer at
 * (group) rank r is unit base + r * rank_stride + u * scale of `buffer`, `scale` units long.
 */
struct fb_window {
	enum fb_buffer buffer;
	uint32_t base, rank_stride;
};

struct fb_view {
	const int *ranks; /* [n]: the whole's rank of each of the part's; NULL: the same */
	int n;
	int root;
	enum fb_collective collective;
	uint32_t scale, split; /* split: the part's units per block */
	bool complete;         /* FB_COMPLETE of the part is FB_COMPLETE of the whole */
	struct fb_window window[FB_BUFFERS];
};

/* Builds `part` within the view. Returns the part's build result. */
int fb_build_part(struct fb_builder *b, const struct fb_algorithm *part,
		  const struct fb_view *view);

/*
 * Builds rank's plan. Local and pure. `direct_with(rank, peer, arg)` says whether the link
 * between two ranks is direct (NULL: none is). `slots` is the number of FIFO slots: with one
 * slot receiving and sending on are not fused, since that could deadlock. On error (FB_EPLAN,
 * FB_ENOMEM) *plan is untouched. Free with fb_plan_free.
 */
struct fb_build_options {
	int slots;
	bool (*direct_with)(int rank, int peer, const void *arg);
	const void *arg;
};

int fb_plan_build(const struct fb_algorithm *algorithm, const struct fb_shape *shape, int rank,
		  const struct fb_build_options *options, struct fb_plan **plan);

#endif
