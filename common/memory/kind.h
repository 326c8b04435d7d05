/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one catalogue of the kinds of memory that buffers lie in: what each is called, what it is
 * made of, and how much of it there may be. Programs offer a part of them.
 */
#ifndef FB_COMMON_MEMORY_KIND_H
#define FB_COMMON_MEMORY_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/system/pages.h"

/* From FB_MEMORY_DEVICE on, the GPU driver allocates; same order as fb_gpu_memory. */
enum fb_memory_kind {
	FB_MEMORY_HOST,
	FB_MEMORY_HUGE,
	FB_MEMORY_HUGETLB,
	FB_MEMORY_HUGETLB_1G,
	FB_MEMORY_PAGEABLE,   /* of the rank alone, not locked: what a GPU's driver copies */
	FB_MEMORY_REGISTERED, /* the same, locked and mapped for the GPU */
	FB_MEMORY_FILE,       /* a mapped file of the rank alone, as weights that are loaded */
	FB_MEMORY_DEVICE,
	FB_MEMORY_VMM,
	FB_MEMORY_FABRIC,
	FB_MEMORY_PINNED,
	FB_MEMORY_MANAGED,
	FB_MEMORY_NCCL, /* from here on a library gives it, and each rank sees its own part */
	FB_MEMORY_SYMMETRIC, /* NVSHMEM's */
	FB_MEMORY_KINDS,
};

/* The most bytes of a part in managed memory: a GPU that has to move many pages takes very long. */
enum { FB_GPU_MANAGED_MOST = 64 << 20 };

struct fb_memory_record {
	const char *name;
	enum fb_pages pages; /* of host memory */
	bool on_gpu;	     /* the processor does not read or write it: not pinned memory */
	uint64_t most;	     /* bytes of a part, whatever there is; 0: no such limit */
};

extern const struct fb_memory_record fb_memory_kinds[FB_MEMORY_KINDS];

/* FB_MEMORY_HOST for a name that is none of them, as "library". */
enum fb_memory_kind fb_memory_kind_of(const char *name);

/*
 * What a list as that of --memory asks for of memory that the GPU's driver makes, or of other: the
 * first kind of the catalogue, else the usual one, which is device or host. For programs whose
 * memory is of one kind on each side.
 */
enum fb_memory_kind fb_memory_asked(const char *list, bool by_gpu);

/* 0, or FB_EINPUT (printed if `say`) where the list, which is not "all", has two of a side. */
int fb_memory_one_each(const char *list, bool say);

static inline bool fb_memory_by_library(enum fb_memory_kind kind)
{
	return kind >= FB_MEMORY_NCCL;
}

/* Whether the GPU's driver makes it, or a library for GPUs. */
static inline bool fb_memory_by_gpu(enum fb_memory_kind kind)
{
	return kind >= FB_MEMORY_DEVICE;
}

#endif
