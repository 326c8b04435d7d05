/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to make memory usable: to get it, to pin it, to tell a library of it. */
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

/* The kernel's flags for explicit huge pages: those of a size have its logarithm in them. */
static const int huge_flags[FB_PAGE_KINDS] = {
	[FB_PAGES_HUGETLB] = MAP_HUGETLB, [FB_PAGES_HUGETLB_1G] = MAP_HUGETLB | 30 << 26};

/* Every page has to be there: memory that was only promised costs nothing. */
static void touch(char *memory, size_t bytes, size_t page)
{
	volatile char *at = memory;

	for (size_t i = 0; i < bytes; i += page)
		at[i] = 1;
}

static int get_pages(struct fb_cost_context *context)
{
	size_t page = fb_pages_bytes(context->pages);
	size_t bytes = ((size_t)context->bytes + page - 1) / page * page;
	bool thp = context->pages == FB_PAGES_TRANSPARENT;
	int err = 0;
	char *mapping = mmap(NULL, bytes + (thp ? page : 0), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | huge_flags[context->pages], -1, 0);

	if (mapping == MAP_FAILED)
		return fb_error(FB_ENOMEM, "mmap of %zu bytes: %s", bytes, strerror(errno));
	context->mapping = context->memory = mapping;
	context->mapped = bytes + (thp ? page : 0);
	if (thp) {
		context->memory += page - (uintptr_t)mapping % page;
		(void)madvise(context->memory, bytes, MADV_HUGEPAGE); /* `path` tells */
	}
	if (context->place->memory >= 0)
		err = fb_numa_bind(context->memory, bytes, context->place->memory);
	if (err) {
		fb_cost_drop_memory(context);
		return fb_error(FB_ESYS, "mbind of %zu bytes to NUMA node %d: %s", bytes,
				context->place->memory, strerror(err));
	}
	/* Transparent ones may be missing in places. */
	touch(context->memory, (size_t)context->bytes, thp ? PAGE : page);
	return FB_OK;
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
	if (context->mapping)
		munmap(context->mapping, context->mapped);
	context->mapping = context->memory = NULL;
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

/* What the kernel has to do before a device may use the pages. */
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
	touch(memory, (size_t)context->bytes, PAGE);
	return MPI_Free_mem(memory) == MPI_SUCCESS ? FB_OK : FB_EMPI;
}
