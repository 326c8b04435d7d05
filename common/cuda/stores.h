/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a program's buffers: a segment for each kind of memory (common/memory/kind.h) on
 * each NUMA node that is asked for, opened by the first case that needs it and large enough for
 * all.
 */
#ifndef FB_COMMON_CUDA_STORES_H
#define FB_COMMON_CUDA_STORES_H

#include "common/cuda/gpu_segment.h"
#include "common/memory/kind.h"
#include "common/memory/places.h"

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_stores {
	const struct fb_group *world;
	const struct fb_gpu *gpu; /* NULL: none; no_gpu has the reason. The program sets both */
	const char *no_gpu;
	struct fb_places places;    /* of --numa */
	struct fb_segment *segment; /* [places.stores * FB_MEMORY_KINDS], see fb_store_of */
	size_t *part_bytes;	    /* [as segment]: enough for every case; set by the program */
	uint64_t limit;		    /* most bytes of host memory for a part */
	uint64_t huge_share[FB_PAGE_KINDS]; /* bytes for each rank in explicit huge pages */
	bool huge_pages; /* the system gives transparent huge pages for shared memory */
};

/* Collective: the places of --numa, and room for the segments. 0 or an error (printed). */
int fb_stores_open(struct fb_stores *stores, const struct fb_group *world, const char *numa);

/* Safe on zeroes. */
void fb_stores_close(struct fb_stores *stores);

/* The kind of a case's memory, and whether that is a GPU's own. */
static inline enum fb_memory_kind fb_memory_of(const struct fb_case *c)
{
	return fb_memory_kind_of(c->memory);
}

static inline bool fb_memory_on_gpu(const struct fb_case *c)
{
	return fb_memory_kinds[fb_memory_of(c)].on_gpu;
}

/* Index in `segment` and `part_bytes` of the memory of a case: by kind and by place. */
size_t fb_store_of(const struct fb_stores *stores, const struct fb_case *c);

/* Opens a segment of memory that a library gives. */
typedef int (*fb_store_library_fn)(void *arg, struct fb_segment *segment, size_t part_bytes);

/*
 * Collective: opens the segment of a case that needs `need` bytes, unless an earlier case has
 * opened it; large enough for all later cases, or as large as memory allows (fb_segment_fit). The
 * calling thread is in its place. `library` opens memory of libraries; NULL: there is none.
 */
int fb_stores_segment(struct fb_stores *stores, const struct fb_case *c, size_t need,
		      fb_store_library_fn library, void *arg);

/*
 * Pure: whether a part of so many bytes of the case's memory can be had in its place; else writes
 * the reason. `refused`: why the case's engine does not work in GPU memory; "" or NULL: it works.
 */
bool fb_stores_can(const struct fb_stores *stores, const struct fb_case *c, uint64_t part_bytes,
		   const char *refused, char reason[FB_REASON_CHARS]);

#endif
