/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls to the driver that GPUDirect RDMA needs: GPU memory as a dma-buf that other devices can
 * map, and the order of their writes into it. Unless they say otherwise, calls are local, on the
 * current device, and print nothing. **Not run on hardware** with a network's device.
 */
#ifndef FB_COMMON_CUDA_GPU_DIRECT_H
#define FB_COMMON_CUDA_GPU_DIRECT_H

#include "common/cuda/gpu.h"

/*
 * Allocates zeroed whole pages of device memory, or returns NULL (printed). To be freed by
 * fb_gpu_direct_free().
 */
void *fb_gpu_direct_alloc(size_t bytes);
int fb_gpu_direct_free(void *memory);

/*
 * The dma-buf of device memory [base, base + bytes), in which it begins at *offset; the caller
 * closes *fd. FB_OK, or FB_EUNSUPPORTED with the reason in `why`.
 */
int fb_gpu_direct_export(const struct fb_gpu *gpu, void *base, size_t bytes, int *fd,
			 uint64_t *offset, char *why, size_t n);

/* A network device or a library that may register GPU memory. */
struct fb_gpu_direct_taker {
	/*
	 * Returns whether it can register `memory`: by the dma-buf `fd`, in which the memory begins
	 * at `offset`, or by address (fd -1). It keeps no registration. `why`: the reason if not.
	 */
	bool (*takes)(void *arg, void *memory, size_t bytes, int fd, uint64_t offset, char *why,
		      size_t n);
	void *arg;
};

/*
 * Finds the ways to register GPU memory by registering one page, because two drivers must agree,
 * and what each says of itself does not prove it. `asked` is one of enum fb_gpu_direct
 * (settings.h). Returns bits 1 << FB_GPU_DIRECT_DMABUF and 1 << FB_GPU_DIRECT_PEERMEM; `why` has
 * the reason against a missing one. *flush: whether fb_gpu_direct_flush() must be called after the
 * host knows that a device wrote, and before kernels read it.
 */
unsigned fb_gpu_direct_methods(const struct fb_gpu *gpu, int asked,
			       const struct fb_gpu_direct_taker *taker, bool *flush, char *why,
			       size_t n);

/*
 * Collective: the ways that all ranks have; or 0, and in `why` on all ranks the reason of the first
 * rank that has none.
 */
unsigned fb_gpu_direct_agree(const struct fb_group *world, unsigned own, char *why, size_t n);

/* From any thread. FB_OK or FB_ESYS (printed). */
int fb_gpu_direct_flush(const struct fb_gpu *gpu);

#endif
