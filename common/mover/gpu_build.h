/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the arguments of kernel launches from transfers. Pure, without CUDA, so that tests run it
 * with the emulator.
 */
#ifndef FB_COMMON_MOVER_GPU_BUILD_H
#define FB_COMMON_MOVER_GPU_BUILD_H

#include "common/mover/gpu/launch.h"
#include "common/mover/mover.h"

/* From where to where a kernel moves a transfer's pieces. */
enum fb_move_leg {
	FB_MOVE_ACROSS, /* between local and remote region */
	FB_MOVE_GATHER, /* local pieces to a buffer, in their order without gaps */
	FB_MOVE_SCATTER, /* from such a buffer to local pieces */
};

/* Counters of a notice that `reader` keeps of `writer`, in the memory of flags. */
static inline uint64_t fb_move_counters(const struct fb_segment *flags, int reader, int writer,
					int notice)
{
	size_t at = (size_t)writer * FB_NOTICES + (size_t)notice - 1;

	return (uint64_t)(uintptr_t)fb_segment_part(flags, reader) + at * 8 * FB_MOVE_MOST_BLOCKS;
}

static inline size_t fb_move_flags_bytes(const struct fb_group *group)
{
	return (size_t)group->nranks * FB_NOTICES * 8 * FB_MOVE_MOST_BLOCKS;
}

/* Cuts the list into chunks, to[]. Returns how many; `to` NULL: only counts them. */
uint64_t fb_move_cut(const struct fb_transfer *t, enum fb_move_leg leg, struct fb_move_chunk *to);

/*
 * The way of a transfer, except for its chunks and its notice. A list of one piece needs no chunks.
 * `buffer`: the address for FB_MOVE_GATHER and FB_MOVE_SCATTER.
 */
struct fb_move_way fb_move_way_of(const struct fb_transfer *t, int rank, enum fb_move_leg leg,
				  uint64_t buffer);

/* Whether an address of any chunk of the transfer is no multiple of 16. */
bool fb_move_is_odd(const struct fb_transfer *t, int rank, enum fb_move_leg leg, uint64_t buffer);

/*
 * Fills in team, chunks and repeats after the ways. `mean`: mean bytes of a piece, the smallest of
 * all ways. False: more chunks than a kernel can count.
 */
bool fb_move_finish(struct fb_move_launch *launch, uint64_t mean);

/* The number of blocks, of so many threads each: as many as there is work for, at most `most`. */
uint32_t fb_move_blocks(const struct fb_move_launch *launch, uint32_t threads, uint32_t most);

/* Mean bytes of the pieces that have any; UINT64_MAX where none has. */
uint64_t fb_move_mean(const struct fb_transfer *t);

/* Pieces at equal distances on both sides, as rows of one copy; offsets as in the list. */
struct fb_move_strip {
	uint64_t local, remote, bytes; /* bytes: of a row */
	uint64_t local_pitch, remote_pitch;
	uint64_t rows, pieces; /* pieces of the list in it; a row has one or more */
};

/*
 * The strip that begins at piece `first`; the next one begins at piece first + strip->pieces.
 * Pieces that are contiguous on both sides are one row. If there are several rows, their pitches
 * divide the transfer's steps, so that repeats are a third dimension.
 */
void fb_move_strip_at(const struct fb_transfer *t, uint64_t first, struct fb_move_strip *strip);

/* *count: strips of the list with bytes. Returns whether a copy can move all repeats of each. */
bool fb_move_strips(const struct fb_transfer *t, uint64_t *count);

#endif
