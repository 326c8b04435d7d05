/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments (segment.h) in GPU memory: each rank's part lies in its own GPU, and every rank
 * maps the parts of all peers that its GPU reaches.
 *
 *	device   cudaMalloc, exported by CUDA IPC handles
 *	vmm      cuMemCreate, exported as file descriptors over local sockets; parts of all ranks
 *	         are neighbours in every rank's address space
 *	fabric   the same by fabric handles, which also reach other hosts of an NVLink domain
 *	pinned   host memory that all ranks share, locked and mapped for the GPUs: works without
 *	         peer access, at the speed of PCIe
 *	managed  cudaMallocManaged, in pages that move between host and GPU; for each rank alone,
 *	         because CUDA cannot export it to other processes
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

/* Pure, equal on all ranks: whether segments of the kind can be had; else writes the reason. */
bool fb_gpu_segment_can(const struct fb_gpu *gpu, enum fb_gpu_memory memory, char *reason,
			size_t n);

/* Pure, equal on all ranks: the kind for flags and counters that all ranks' GPUs reach. */
enum fb_gpu_memory fb_gpu_shared_memory(const struct fb_gpu *gpu);

/*
 * Collective over the world: a zeroed part of at least `part_bytes` bytes (the largest any rank
 * asks for) per rank, aligned to at least 512 bytes. Returns the same on all ranks: FB_OK; or
 * FB_EUNSUPPORTED, FB_ESYS or FB_ENOMEM (printed), with *segment unchanged. To be closed by
 * fb_segment_close, after the last use by any rank and a barrier.
 */
int fb_gpu_segment_open(struct fb_segment *segment, const struct fb_gpu *gpu,
			enum fb_gpu_memory memory, size_t part_bytes);

/*
 * Collective: makes a segment of memory that a library allocated, of which each rank sees its own
 * parts only: `parts` of them, the same number on all ranks, numbered rank by rank. memory[parts]
 * is device memory of at least part_bytes bytes each, the same on all ranks; `release` frees it
 * when the segment is closed. 0; or FB_ENOMEM or FB_ESYS (printed), the same on all ranks, and the
 * caller then still owns the memory.
 */
int fb_gpu_segment_adopt(struct fb_segment *segment, const struct fb_group *world,
			 void *const *memory, int parts, size_t part_bytes,
			 int (*release)(void *memory));

/*
 * Local. Holds memory of closed segments for later ones. open returns NULL if there is no memory.
 * Closing frees it, if need be when the last open segment is closed.
 */
struct fb_gpu_kept *fb_gpu_kept_open(void);
void fb_gpu_kept_close(struct fb_gpu_kept *kept);

#endif
