/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments, and those in pinned and managed memory; others are in cuda_ipc.c and cuda_vmm.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_segment.h"

static const struct {
	const char *name;
	int (*open)(struct fb_segment *s, const struct fb_gpu *gpu);
} kinds[] = {
	[FB_GPU_DEVICE] = {"device", fb_ipc_open},
	[FB_GPU_VMM] = {"vmm", fb_vmm_open_posix},
	[FB_GPU_FABRIC] = {"fabric", fb_vmm_open_fabric},
	[FB_GPU_PINNED] = {"pinned", NULL},
	[FB_GPU_MANAGED] = {"managed", NULL},
};

bool fb_gpu_segment_can(const struct fb_gpu *gpu, enum fb_gpu_memory memory, char *reason,
			size_t n)
{
	if (memory == FB_GPU_VMM && !gpu->posix)
		snprintf(reason, n, "memory vmm: a GPU does not export file descriptors");
	else if (memory == FB_GPU_FABRIC && !gpu->fabric)
		snprintf(reason, n, "memory fabric: a GPU does not export fabric handles");
	else
		return true;
	return false;
}

enum fb_gpu_memory fb_gpu_shared_memory(const struct fb_gpu *gpu)
{
	if (!fb_group_one_host(gpu->group))
		return FB_GPU_FABRIC;
	return gpu->posix ? FB_GPU_VMM : FB_GPU_DEVICE;
}

/* --- pinned host memory ---------------------------------------------------------------------- */

static void pinned_close(struct fb_segment *s)
{
	(void)cudaHostUnregister(s->base);
	(void)cudaGetLastError();
	fb_segment_unmap(s);
}

static int pinned_set(void *to, int byte, size_t bytes)
{
	return fb_memory_host.set(to, byte, bytes);
}

static int pinned_get(void *to, const void *from, size_t bytes)
{
	return fb_memory_host.get(to, from, bytes);
}

static int pinned_fill(const struct fb_data *data, int rank, uint64_t first, void *to,
		       size_t count)
{
	return fb_memory_host.fill(data, rank, first, to, count);
}

static int pinned_check(const struct fb_data *data, int rank, uint64_t first, const void *from,
			size_t count, struct fb_mismatch *bad)
{
	return fb_memory_host.check(data, rank, first, from, count, bad);
}

static const struct fb_memory_ops pinned_ops = {
	.name = "pinned", .close = pinned_close, .set = pinned_set, .put = pinned_get,
	.get = pinned_get, .fill = pinned_fill, .check = pinned_check,
};

/*
 * Engines need registered memory to have the same address on the device. Where it has another one,
 * on old devices, this kind of segment is refused.
 */
static int pinned_open(struct fb_segment *segment, const struct fb_gpu *gpu, size_t part_bytes)
{
	const struct fb_group *w = gpu->group;
	struct fb_segment s;
	void *seen = NULL;
	size_t bytes;
	int err = fb_segment_open(&s, w, part_bytes, FB_PAGES_NORMAL), own;

	if (err)
		return err;
	bytes = s.part_bytes * (size_t)s.nparts;
	own = FB_CUDA(cudaHostRegister(s.base, bytes, cudaHostRegisterMapped |
							      cudaHostRegisterPortable));
	err = own;
	if (!err)
		err = FB_CUDA(cudaHostGetDevicePointer(&seen, s.base, 0));
	if (!err && seen != s.base)
		err = fb_error(FB_EUNSUPPORTED, "rank %d: pinned memory has another address on "
			       "the GPU", w->rank);
	err = fb_group_agree(w, err);
	if (err) {
		if (!own)
			(void)cudaHostUnregister(s.base);
		fb_segment_close(&s);
		return err;
	}
	s.ops = &pinned_ops;
	*segment = s;
	return FB_OK;
}

/* --- managed memory -------------------------------------------------------------------------- */

static int managed_release(void *memory)
{
	return FB_CUDA(cudaFree(memory));
}

static int managed_open(struct fb_segment *segment, const struct fb_gpu *gpu, size_t part_bytes)
{
	void *memory = NULL;
	int err;

	if (part_bytes > FB_GPU_MANAGED_MOST)
		return fb_error(FB_EUNSUPPORTED, "%zu bytes of managed memory, more than %d MiB",
				part_bytes, FB_GPU_MANAGED_MOST >> 20);
	err = FB_CUDA(cudaMallocManaged(&memory, part_bytes, cudaMemAttachGlobal));
	err = fb_group_agree(gpu->group, err);
	if (!err)
		err = fb_gpu_segment_adopt(segment, gpu->group, &memory, 1, part_bytes,
					   managed_release);
	if (err && memory)
		(void)managed_release(memory);
	return err;
}

int fb_gpu_segment_open(struct fb_segment *segment, const struct fb_gpu *gpu,
			enum fb_gpu_memory memory, size_t part_bytes)
{
	unsigned long long wanted = part_bytes ? part_bytes : 1;
	struct fb_segment s = {.base = NULL};
	int err;

	if (memory == FB_GPU_PINNED)
		return pinned_open(segment, gpu, part_bytes);
	MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, gpu->group->comm);
	/* Whole large pages of the GPU, which are also the granularity of cuMemCreate. */
	s.part_bytes = ((size_t)wanted + FB_GPU_PAGE - 1) / FB_GPU_PAGE * FB_GPU_PAGE;
	if (memory == FB_GPU_MANAGED)
		return managed_open(segment, gpu, s.part_bytes);
	err = fb_segment_find_parts(&s, gpu->group, memory == FB_GPU_FABRIC
						    ? gpu->group->comm : gpu->group->node_comm);
	if (!err)
		err = kinds[memory].open(&s, gpu);
	if (err) {
		fb_segment_close(&s);
		return err;
	}
	*segment = s;
	return FB_OK;
}
