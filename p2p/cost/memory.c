/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of making memory usable: allocating it, pinning it, registering it with a library. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "common/base/error.h"
#include "common/memory/segment.h"
#include "p2p/cost/cost.h"

enum { PAGE = 4096, GPU_PAGE = 2 << 20 };

static int get_pages(struct fb_cost_context *context)
{
	int err = fb_private_get(&context->own_pages, context->pages, (size_t)context->bytes,
				 context->place->memory);

	context->memory = context->own_pages.memory;
	return err;
}

/* In whole pages of the GPU, so that nothing else is registered with it. */
static int get_gpu_memory(struct fb_cost_context *context)
{
	size_t bytes = ((size_t)context->bytes + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE;
	int err = fb_cost_cuda_open(context);

	return err ? err : fb_cost_cuda_get(context, bytes);
}

int fb_cost_get_memory(struct fb_cost_context *context)
{
	return context->on_gpu ? get_gpu_memory(context) : get_pages(context);
}

void fb_cost_drop_memory(struct fb_cost_context *context)
{
	if (context->on_gpu && context->memory)
		(void)fb_cost_cuda_drop(context);
	if (context->on_gpu)
		fb_cost_cuda_close(context);
	fb_private_put(&context->own_pages);
	context->memory = NULL;
}

void fb_cost_look(struct fb_cost_context *context, const void *memory)
{
	if (context->looks)
		context->nodes |= fb_numa_pages(memory, (size_t)context->bytes);
}

int fb_cost_allocate(struct fb_cost_context *context)
{
	int err = fb_group_agree(context->world, fb_cost_get_memory(context));

	if (err)
		fb_cost_drop_memory(context);
	return err;
}

/* Fresh pages from the system, one touched after the other. */
int fb_cost_map(struct fb_cost_context *context)
{
	int err = fb_cost_get_memory(context);

	if (!err)
		fb_cost_look(context, context->memory);
	fb_cost_drop_memory(context);
	return err;
}

bool fb_cost_can_lock(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    context->bytes + PAGE <= limit.rlim_cur)
		return true;
	snprintf(reason, FB_REASON_CHARS, "more than RLIMIT_MEMLOCK, %llu bytes (ulimit -l)",
		 (unsigned long long)limit.rlim_cur);
	return false;
}

/* Locks the pages, which the kernel has to do before a device may access them. */
int fb_cost_lock(struct fb_cost_context *context)
{
	if (mlock(context->memory, (size_t)context->bytes))
		return fb_error(FB_ESYS, "mlock of %llu bytes: %s",
				(unsigned long long)context->bytes, strerror(errno));
	if (munlock(context->memory, (size_t)context->bytes))
		return fb_error(FB_ESYS, "munlock: %s", strerror(errno));
	return FB_OK;
}

/* A segment that all ranks of the host can reach, each rank's part touched by it. */
int fb_cost_share(struct fb_cost_context *context)
{
	struct fb_segment segment = {0};
	int err = fb_segment_open(&segment, context->world, (size_t)context->bytes,
				  context->pages);

	if (err)
		return err;
	err = fb_place_part(context->places, context->place, &segment);
	if (!err)
		fb_cost_look(context, fb_segment_part(&segment, context->world->rank));
	fb_segment_close(&segment);
	return err;
}

bool fb_cost_can_window(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	if (*context->no_window)
		snprintf(reason, FB_REASON_CHARS, "%s", context->no_window);
	return !*context->no_window;
}

int fb_cost_make_window(struct fb_cost_context *context)
{
	MPI_Win window;

	if (MPI_Win_create(context->memory, (MPI_Aint)context->bytes, 1, MPI_INFO_NULL,
			   context->world->comm, &window) != MPI_SUCCESS)
		return FB_EMPI;
	return MPI_Win_free(&window) == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

int fb_cost_allocate_by_mpi(struct fb_cost_context *context)
{
	void *memory;

	if (MPI_Alloc_mem((MPI_Aint)context->bytes, MPI_INFO_NULL, &memory) != MPI_SUCCESS)
		return FB_EMPI;
	fb_private_touch(memory, (size_t)context->bytes, PAGE);
	return MPI_Free_mem(memory) == MPI_SUCCESS ? FB_OK : FB_EMPI;
}
