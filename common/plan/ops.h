/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder's output and the input of lowering: one rank's operations in the order of the calls,
 * with all views resolved and every chunk under its canonical name. Internal to common/plan.
 */
#ifndef FB_COMMON_PLAN_OPS_H
#define FB_COMMON_PLAN_OPS_H

#include "common/plan/builder.h"

/* A chunk under its canonical name; `peer` is -1 for this rank's own. */
struct fb_place {
	int peer;
	uint8_t buffer;
	uint32_t index;
};

/*
 * Either a send (dst.peer >= 0; one source of this rank) or work (dst.peer == -1; sources of this
 * rank or remote). `copies`: the receiver of a send only copies it, to chunk dst.
 */
struct fb_op {
	uint32_t round;
	uint8_t lane;
	uint8_t flags; /* enum fb_step_flags */
	bool copies;
	uint32_t first_src, nsrc;
	uint32_t count;
	struct fb_place dst;
};

struct fb_ops {
	const struct fb_algorithm *algorithm;
	struct fb_shape shape;
	int rank;
	uint32_t split, scratch_blocks;
	const struct fb_build_options *options;
	struct fb_op *ops;
	size_t nops, ops_room;
	struct fb_place *srcs;
	size_t nsrcs, srcs_room;
	int nlanes;
};

/* Turns operations into a plan (lower.c). */
int fb_lower(const struct fb_ops *ops, struct fb_plan **plan);

/* Units of `buffer` at `rank`. */
uint32_t fb_buffer_units(const struct fb_shape *shape, int rank, uint32_t split,
			 uint32_t scratch_blocks, enum fb_buffer buffer);

/* Makes room for one more element of `size` in *array; returns 0 or FB_ENOMEM. */
int fb_grow(void *array, size_t used, size_t *room, size_t size);

#endif
