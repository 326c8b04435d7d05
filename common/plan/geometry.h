/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts units to bytes: the offsets of a plan's chunks for a given operation and slice.
 *
 * Every block is cut into `parts` slices, and the plan's units are shares of a slice (plan.h).
 * Boundaries fall on multiples of 64 bytes, and of 128 in blocks of 64 KiB and more, so that slices
 * start on cache lines of processors and of GPUs.
 *
 * With `stripe` the channels share a slice block-cyclically instead: channels get its stripes in
 * turn, so that all channels move the same region of memory at the same time. A piece then consists
 * of every `channels`-th stripe of a range, from the channel's first one on.
 */
#ifndef FB_COMMON_PLAN_GEOMETRY_H
#define FB_COMMON_PLAN_GEOMETRY_H

#include "common/plan/plan.h"

/*
 * Elements that each rank sends to each, for collectives with unequal blocks. In all_gather_v a
 * rank sends its one block to all, so the entries of its row are equal. In reduce_scatter_v all
 * send a rank the same block, so those of its column are.
 */
struct fb_counts {
	int nranks;
	uint64_t *elements; /* [from * nranks + to] */
	uint64_t max;       /* largest of them */
	bool empty;         /* one of them is 0 */
};

struct fb_geometry {
	enum fb_collective collective;
	int nranks;
	uint32_t split;
	size_t element_bytes;
	uint64_t count;  /* elements per block; with counts: of the largest block */
	uint64_t parts;  /* slices per block, over all channels */
	uint32_t stripe; /* bytes; 0: slices are contiguous. Else a multiple of an element */
	uint32_t channels; /* with stripe: what `parts` is a multiple of */
	const struct fb_counts *counts; /* NULL: all blocks have `count` elements */
};

/* A contiguous piece of a chunk, or a striped one. */
struct fb_piece {
	size_t offset; /* bytes from the begin of the buffer */
	size_t bytes;  /* without the stripes between */
};

/*
 * How many pieces a chunk of `count` units from `unit` has: one for each block that it touches, or
 * 1 if it consists of whole blocks of equal size.
 */
uint32_t fb_chunk_pieces(const struct fb_geometry *g, uint32_t unit, uint32_t count);

/* Piece `i` of that chunk, for slice `part` of [0, parts). */
struct fb_piece fb_chunk_piece(const struct fb_geometry *g, int rank, uint8_t buffer,
			       uint32_t unit, uint32_t count, uint64_t part, uint32_t i);

/*
 * The end of a step from which the sizes of its pieces follow. If blocks differ in size, it is a
 * chunk of the step's own rank, since that chunk says which block it is; else any end.
 */
struct fb_end fb_step_extent(const struct fb_geometry *g, const struct fb_plan *plan,
			     const struct fb_step *step);

/* Bytes that no message of `units` units can exceed in any slice. */
size_t fb_message_bound(const struct fb_geometry *g, uint32_t units);

/* Least number of slices per channel such that messages of `units` units fit `limit` bytes. */
uint64_t fb_slices_for(const struct fb_geometry *g, uint32_t units, uint64_t channels,
		       size_t limit);

#endif
