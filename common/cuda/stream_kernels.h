/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches of stream.cu, for cuda_cache.c and cuda_hold.c. They return a cudaError_t. */
#ifndef FB_COMMON_CUDA_STREAM_KERNELS_H
#define FB_COMMON_CUDA_STREAM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* In host memory that the device maps. Both wrap. */
struct fb_hold_gate {
	uint32_t open;	  /* by the host: all holds up to this number have ended */
	uint32_t gave_up; /* by the kernel: number of the last hold that was not ended in time */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `value` to all words of memory (16-byte aligned, multiple of 16 bytes), default stream. */
int fb_stream_kernel_clear(void *memory, size_t bytes, uint32_t value, unsigned blocks);

/*
 * A kernel that ends when gate->open has reached `number`, after limit_ns at the latest. `gate` is
 * the device's address; `stream` is a cudaStream_t.
 */
int fb_stream_kernel_hold(struct fb_hold_gate *gate, uint32_t number, uint64_t limit_ns,
			  void *stream);

/* Loads both kernels: 0 or an error of cudaFuncGetAttributes. */
int fb_stream_kernels_load(void);

#ifdef __cplusplus
}
#endif

#endif
