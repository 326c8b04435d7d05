/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory in which the ranks of one host hold their buffers and message slots: every rank has a
 * part of its own, and all ranks of the host can read and write all parts.
 *
 * A file in memory that all of them map (node_file.h). Pages belong to the rank that touches
 * them first.
 */
#ifndef FB_COMMON_MEMORY_SEGMENT_H
#define FB_COMMON_MEMORY_SEGMENT_H

#include <stddef.h>

#include "common/memory/memory_ops.h"
#include "common/system/pages.h"
#include "common/system/group.h"

struct fb_segment {
	char *base;
	size_t part_bytes; /* of each rank, a multiple of a page */
	int nparts;        /* ranks of this host */
	int *part_of;      /* [nranks]: index of the rank's part, -1 on other hosts */
	char **parts;      /* [nparts]: where this process sees them; NULL: one behind the other */
	const struct fb_memory_ops *ops; /* for an owner's access to its part; NULL: closed */
	void *mapping;     /* data of the kind of memory */
	unsigned number;   /* by fb_segment_fit, from 1, unique; 0: opened otherwise */
};

/*
 * Collective over the world: a part of at least `part_bytes` bytes (the largest any rank asks
 * for) per rank, zeroed, of pages of the kind. Returns the same value on all ranks: FB_OK,
 * FB_ENOMEM (printed), or FB_EUNSUPPORTED where a kernel has no such pages, *segment untouched.
 */
int fb_segment_open(struct fb_segment *segment, const struct fb_group *world, size_t part_bytes,
		    enum fb_pages pages);

/*
 * Collective over the world: fills nparts and part_of, a part for each rank of `comm`, which is of
 * some or all of the world. 0 or FB_ENOMEM, the same on all ranks; part_of is then the caller's.
 */
int fb_segment_find_parts(struct fb_segment *segment, const struct fb_group *world, MPI_Comm comm);

/* Opens the segment with parts of that many bytes. */
typedef int (*fb_segment_open_fn)(void *arg, size_t part_bytes);

/*
 * Collective: opens a segment that is large enough for all cases, with parts of *most bytes. If
 * there is not enough memory, it tries a half, a quarter and so on, but not less than `need`, which
 * this case needs. *most becomes the size that could be had, so that only cases that need more
 * fail. Returns 0, FB_ENOMEM where there is no memory for `need`, or another error of `open`. The
 * value and the segment's number are the same on all ranks.
 */
int fb_segment_fit(struct fb_segment *segment, size_t *most, size_t need,
		   fb_segment_open_fn open, void *arg);

/* Local. Safe on a zeroed structure. Also for segments of other kinds (common/cuda/segment.h). */
void fb_segment_close(struct fb_segment *segment);

/*
 * Local: frees the memory of an open segment and keeps its addresses, to show what a call with
 * freed memory does. `ops` is NULL from then on; fb_segment_close frees the rest.
 */
void fb_segment_free_memory(struct fb_segment *segment);

/* fb_memory_ops.close of host memory, for memory_ops.c. */
void fb_segment_unmap(struct fb_segment *segment);

/* This process's address of a rank's part; NULL on another host. */
static inline char *fb_segment_part(const struct fb_segment *segment, int rank)
{
	int part = segment->part_of[rank];

	if (part >= 0 && segment->parts)
		return segment->parts[part];
	return part < 0 ? NULL : segment->base + (size_t)part * segment->part_bytes;
}

#endif
