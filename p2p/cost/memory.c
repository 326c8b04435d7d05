/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to make memory usable: to get it, to pin it, to tell a library of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "common/error.h"
#include "common/segment.h"
#include "p2p/cost/cost.h"

enum { PAGE = 4096 };

/* Every page has to be there: memory that was only promised costs nothing. */
static void touch(char *memory, size_t bytes)
{
	volatile char *at = memory;

	for (size_t i = 0; i < bytes; i += PAGE)
		at[i] = 1;
}

static int get_memory(struct fb_cost_context *context, bool populated)
{
	void *memory = mmap(NULL, (size_t)context->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | (populated ? MAP_POPULATE : 0), -1, 0);

	if (memory == MAP_FAILED)
		return fb_error(FB_ENOMEM, "mmap of %llu bytes: %s",
				(unsigned long long)context->bytes, strerror(errno));
	context->own = memory;
	return FB_OK;
}

static int allocate(struct fb_cost_context *context)
{
	return fb_world_agree(context->world, get_memory(context, true));
}

static void deallocate(struct fb_cost_context *context)
{
	if (context->own)
		munmap(context->own, (size_t)context->bytes);
	context->own = NULL;
}

/* Fresh pages from the system, one touched after the other. */
static int map_and_touch(struct fb_cost_context *context)
{
	int err = get_memory(context, false);

	if (err)
		return err;
	touch(context->own, (size_t)context->bytes);
	deallocate(context);
	return FB_OK;
}

static bool can_lock(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
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
static int lock_and_unlock(struct fb_cost_context *context)
{
	if (mlock(context->own, (size_t)context->bytes))
		return fb_error(FB_ESYS, "mlock of %llu bytes: %s",
				(unsigned long long)context->bytes, strerror(errno));
	if (munlock(context->own, (size_t)context->bytes))
		return fb_error(FB_ESYS, "munlock: %s", strerror(errno));
	return FB_OK;
}

/* A segment that all ranks of the host can reach, each rank's part touched by it. */
static int share(struct fb_cost_context *context)
{
	struct fb_segment segment = {0};
	int err = fb_segment_open(&segment, context->world, (size_t)context->bytes,
				  FB_PAGES_NORMAL);

	if (err)
		return err;
	touch(fb_segment_part(&segment, context->world->rank), (size_t)context->bytes);
	fb_segment_close(&segment);
	return FB_OK;
}

static int make_window(struct fb_cost_context *context)
{
	MPI_Win window;

	if (MPI_Win_create(context->own, (MPI_Aint)context->bytes, 1, MPI_INFO_NULL,
			   context->world->comm, &window) != MPI_SUCCESS)
		return FB_EMPI;
	return MPI_Win_free(&window) == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

static int allocate_by_mpi(struct fb_cost_context *context)
{
	void *memory;

	if (MPI_Alloc_mem((MPI_Aint)context->bytes, MPI_INFO_NULL, &memory) != MPI_SUCCESS)
		return FB_EMPI;
	touch(memory, (size_t)context->bytes);
	return MPI_Free_mem(memory) == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

const struct fb_cost fb_memory_costs[] = {
	{.engine = "host", .operation = "map", .transport = "-", .sized = true,
	 .act = map_and_touch},
	{.engine = "host", .operation = "lock", .transport = "-", .sized = true,
	 .can = can_lock, .begin = allocate, .end = deallocate, .act = lock_and_unlock},
	{.engine = "host", .operation = "share", .transport = "shm", .sized = true, .act = share},
	{.engine = "mpi", .operation = "window", .transport = "library", .sized = true,
	 .begin = allocate, .end = deallocate, .act = make_window},
	{.engine = "mpi", .operation = "allocate", .transport = "library", .sized = true,
	 .act = allocate_by_mpi},
	{.engine = "rdma", .operation = "register", .transport = "rdma", .sized = true,
	 .can = fb_cost_can_rdma, .begin = fb_cost_begin_register, .end = fb_cost_end_rdma,
	 .act = fb_cost_register},
	{.engine = "rdma", .operation = "look_up", .transport = "rdma", .sized = true,
	 .can = fb_cost_can_rdma, .begin = fb_cost_begin_cached, .end = fb_cost_end_rdma,
	 .act = fb_cost_look_up},
	{.operation = NULL},
};
