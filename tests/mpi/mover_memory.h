/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of memory in which the conformance test of movers has its regions. */
#ifndef FB_TESTS_MPI_MOVER_MEMORY_H
#define FB_TESTS_MPI_MOVER_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "common/cuda/gpu_segment.h"
#include "common/memory/kind.h"
#include "common/mover/mover.h"
#include "tests/mpi/mover_refused.h"

/* Beside the usual one, of the kinds that programs offer (fb_mover_memories). */
static const char *const host_memories[] = {"hugepage", NULL};

/* What a part's size is a multiple of: huge pages need not be there, but their sizes are. */
static inline size_t memory_unit(const struct fb_mover_ops *ops, const struct fb_settings *settings)
{
	enum fb_memory_kind kind = fb_memory_asked(settings->memory, false);

	return ops->device || ops->segment ? 1 : fb_pages_bytes(fb_memory_kinds[kind].pages);
}

/* Where GPUs have no memory vmm: device. */
static inline int open_gpu_memory(struct opened *o, const struct fb_session *session,
			   const struct fb_group *group, size_t bytes)
{
	const char *kind = getenv("FB_MOVER_MEMORY");
	enum fb_gpu_memory memory = FB_GPU_VMM;
	char why[FB_REASON_CHARS];
	int err = fb_gpu_view_open(&o->gpu, session, group, why);

	if (err)
		return err;
	if (kind && !strcmp(kind, "pinned"))
		memory = FB_GPU_PINNED;
	else if (kind && !strcmp(kind, "device"))
		memory = FB_GPU_DEVICE;
	if (!fb_gpu_segment_can(&o->gpu, memory, why, sizeof(why)))
		memory = FB_GPU_DEVICE;
	return fb_gpu_segment_open(&o->segment, &o->gpu, memory, bytes);
}

#endif
