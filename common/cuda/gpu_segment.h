/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments (segment.h) in GPU memory: each rank's part lies in its own GPU, and every rank
 * maps the parts of all peers that its GPU reaches.
 *
 *	device   cudaMalloc, passed on by CUDA IPC handles
 *	vmm      cuMemCreate, passed on as file descriptors over local sockets; parts of all ranks
 *	         are neighbours in every rank's address space
 *	fabric   the same by fabric handles, which also cross hosts of one NVLink domain
 *	pinned   host memory that all ranks share, locked and mapped for the GPUs: works without
 *	         peer access, at the speed of PCIe
 *	managed  cudaMallocManaged, in pages that move between host and GPU; of each rank alone, as
 *	         CUDA passes none on to other processes
 */
#ifndef FB_COMMON_CUDA_GPU_SEGMENT_H
#define FB_COMMON_CUDA_GPU_SEGMENT_H

#include "common/cuda/gpu.h"
#include "common/memory/kind.h"
#include "common/memory/segment.h"

enum fb_gpu_memory {
	FB_GPU_DEVICE,
	FB_GPU_VMM,
	FB_GPU_FABRIC,
	FB_GPU_PINNED,
	FB_GPU_MANAGED,
};

/* Pure, equal on all ranks: can segments of the kind be had? Writes the reason otherwise. */
bool fb_gpu_segment_can(const struct fb_gpu *gpu, enum fb_gpu_memory memory, char *reason,
			size_t n);

/* Pure, equal on all ranks: the kind for flags and counters that all ranks' GPUs reach. */
enum fb_gpu_memory fb_gpu_shared_memory(const struct fb_gpu *gpu);

/*
 * Collective over the world: a zeroed part of at least `part_bytes` bytes (the largest any rank
 * asks for) per rank, begin aligned to 512 bytes at least. Returns the same on all ranks: FB_OK,
 * FB_EUNSUPPORTED, FB_ESYS or FB_ENOMEM (printed), *segment untouched. Closed by
 * fb_segment_close, after a barrier behind the last use by any rank.
 */
int fb_gpu_segment_open(struct fb_segment *segment, const struct fb_gpu *gpu,
			enum fb_gpu_memory memory, size_t part_bytes);

/*
 * Collective: a segment of memory that a library gave, of which each rank sees its own parts only:
 * `parts` of them, the same number on all ranks, numbered rank by rank. memory[parts] is device
 * memory of at least part_bytes bytes each, the same on all ranks; `release` frees it when the
 * segment is closed. 0 or FB_ENOMEM or FB_ESYS (printed), the same on all ranks; the memory is then
 * still the caller's.
 */
int fb_gpu_segment_adopt(struct fb_segment *segment, const struct fb_group *world,
			 void *const *memory, int parts, size_t part_bytes,
			 int (*release)(void *memory));

/*
 * Memory of closed segments that is kept for the next ones: NULL for want of memory; closed with
 * the view, at once or when the last segment is. Local.
 */
struct fb_gpu_kept *fb_gpu_kept_open(void);
void fb_gpu_kept_close(struct fb_gpu_kept *kept);

#endif
