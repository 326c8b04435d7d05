/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fresh data in GPU memory for each call, made and checked on the stream of the calls: a producer
 * in front of what is tested, a consumer behind it, all captured in one graph where there is one.
 * An input that is read too early, or an output of the call before, is then wrong data; tests that
 * write the input once cannot see that.
 *
 * Call k has the elements from fb_fresh_first(k) on, so that everything else about test data stays
 * as it is (common/base/data.h). Which call it is stands in device memory and is counted there.
 */
#ifndef FB_COMMON_CUDA_GPU_FRESH_H
#define FB_COMMON_CUDA_GPU_FRESH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/data.h"

struct fb_gpu_fresh; /* opaque */

/* The results of the consumers since the last reset. */
struct fb_fresh_seen {
	uint64_t calls, wrong_calls;
	uint64_t errors; /* elements */
	uint64_t first;  /* index of the first wrong one within its block, in some call */
};

/* The first element of a call, from 1 on; 0 for the data before all calls. */
static inline uint64_t fb_fresh_first(uint64_t call)
{
	return call << 40;
}

/* Local, on the current device: 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_gpu_fresh_open(struct fb_gpu_fresh **fresh);
void fb_gpu_fresh_close(struct fb_gpu_fresh *fresh);

/* Waits for the device. Both 0 or FB_ESYS (printed). */
int fb_gpu_fresh_reset(struct fb_gpu_fresh *fresh);
int fb_gpu_fresh_read(struct fb_gpu_fresh *fresh, struct fb_fresh_seen *seen);

/*
 * On `stream`, a cudaStream_t: the next call's data of `rank` to to[0 .. count). `early`: kernels
 * launched for programmatic dependent launch may begin before it has written, as its last action
 * for them is its first; one that does not wait for its input's producer then reads the old input.
 * GPUs before 9.0 have no such launches, where it is a plain producer.
 */
int fb_gpu_fresh_produce(struct fb_gpu_fresh *fresh, const struct fb_data *data, int rank,
			 void *to, size_t count, bool early, void *stream);

/* The same: compares from[0 .. count) with elements `first` on of rank, or FB_REDUCED. */
int fb_gpu_fresh_consume(struct fb_gpu_fresh *fresh, const struct fb_data *data, int rank,
			 uint64_t first, const void *from, size_t count, void *stream);

#endif
