/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that the kinds of GPU segments share; internal to common/cuda. */
#ifndef FB_COMMON_CUDA_CUDA_SEGMENT_H
#define FB_COMMON_CUDA_CUDA_SEGMENT_H

#include "common/cuda/cuda_driver.h"
#include "common/cuda/gpu_segment.h"

/* Parts are multiples of this, which is the granularity of cuMemCreate on all GPUs so far. */
#define FB_GPU_PAGE ((size_t)2 << 20)

/*
 * Collective: memory for a segment whose nparts, part_of and part_bytes are set. The same value
 * on all ranks; after an error s->ops->close, if ops is set, frees what there is.
 */
int fb_ipc_open(struct fb_segment *s, const struct fb_gpu *gpu);
int fb_vmm_open_posix(struct fb_segment *s, const struct fb_gpu *gpu);
int fb_vmm_open_fabric(struct fb_segment *s, const struct fb_gpu *gpu);

/* Local: whether this process can make fabric handles, by making one. Needs gpu->device only. */
bool fb_vmm_has_fabric(const struct fb_gpu *gpu, const struct fb_cuda_driver *driver);

/* fb_memory_ops on the current device's memory (cuda_data.c). */
int fb_device_set(void *to, int byte, size_t bytes);
int fb_device_put(void *to, const void *from, size_t bytes);
int fb_device_get(void *to, const void *from, size_t bytes);
int fb_device_fill(const struct fb_data *data, int rank, uint64_t first, void *to, size_t count);
int fb_device_check(const struct fb_data *data, int rank, uint64_t first, const void *from,
		    size_t count, struct fb_mismatch *bad);
int fb_device_fill_spans(const struct fb_data *data, int rank, const struct fb_data_span *span,
			 size_t n, size_t count);
int fb_device_check_spans(const struct fb_data *data, int rank, const struct fb_data_span *span,
			  size_t n, size_t count, struct fb_mismatch *bad);

#endif
