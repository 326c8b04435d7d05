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
	FB_MEMORY_PAGEABLE,   /* of the rank alone, not locked: GPU drivers copy it by a buffer */
	FB_MEMORY_REGISTERED, /* the same, locked and mapped for the GPU */
	FB_MEMORY_FILE,       /* a mapped file of the rank alone, like weights that are loaded */
	FB_MEMORY_DEVICE,
	FB_MEMORY_VMM,
	FB_MEMORY_FABRIC,
	FB_MEMORY_PINNED,
	FB_MEMORY_MANAGED,
	FB_MEMORY_NCCL, /* from here on a library allocates, and a rank sees its own part only */
	FB_MEMORY_SYMMETRIC, /* of NVSHMEM */
	FB_MEMORY_KINDS,
};

/* The most bytes of a part in managed memory, because a GPU moves many pages very slowly. */
enum { FB_GPU_MANAGED_MOST = 64 << 20 };

struct fb_memory_record {
	const char *name;
	enum fb_pages pages; /* of host memory */
	bool on_gpu;	     /* the processor cannot access it; false for pinned memory */
	uint64_t most;	     /* bytes of a part, however much memory there is; 0: no limit */
};

extern const struct fb_memory_record fb_memory_kinds[FB_MEMORY_KINDS];

/* The kind of that name; FB_MEMORY_HOST for other names, such as "library". */
enum fb_memory_kind fb_memory_kind_of(const char *name);

/*
 * For programs that use one kind of host memory and one kind of GPU memory: the kind that a list as
 * of --memory names on that side (`by_gpu`: allocated by the GPU's driver). Of several the first
 * one in the catalogue; of none the usual one, device or host.
 */
enum fb_memory_kind fb_memory_asked(const char *list, bool by_gpu);

/* 0, or FB_EINPUT (printed if `say`) where a list, except "all", has two kinds on one side. */
int fb_memory_one_each(const char *list, bool say);

static inline bool fb_memory_by_library(enum fb_memory_kind kind)
{
	return kind >= FB_MEMORY_NCCL;
}

/* Whether the GPU's driver or a library for GPUs allocates it. */
static inline bool fb_memory_by_gpu(enum fb_memory_kind kind)
{
	return kind >= FB_MEMORY_DEVICE;
}

#endif
