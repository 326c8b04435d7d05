/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fresh data in GPU memory for each call, made and checked on the stream of the calls: a producer
 * kernel before the tested call and a consumer kernel after it, in the same graph if there is one.
 * If the call reads its input too early, or leaves the output of the call before, the consumer
 * finds wrong data; tests that write the input only once cannot find that.
 *
 * Call k has the elements from fb_fresh_first(k) on, so that everything else about test data stays
 * as it is (common/base/data.h). The call's number is counted in device memory.
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

/* Reset the results, or read them; both wait for the device. 0 or FB_ESYS (printed). */
int fb_gpu_fresh_reset(struct fb_gpu_fresh *fresh);
int fb_gpu_fresh_read(struct fb_gpu_fresh *fresh, struct fb_fresh_seen *seen);

/*
 * Enqueues on `stream`, a cudaStream_t: writes the next call's data of `rank` to to[0 .. count).
 * `early`: lets kernels with programmatic dependent launch begin before it writes, so that a kernel
 * that does not wait for the producer of its input reads the old input. GPUs before 9.0 have no
 * such launches; there `early` has no effect.
 */
int fb_gpu_fresh_produce(struct fb_gpu_fresh *fresh, const struct fb_data *data, int rank,
			 void *to, size_t count, bool early, void *stream);

/* The same: compares from[0 .. count) with elements `first` on of rank, or FB_REDUCED. */
int fb_gpu_fresh_consume(struct fb_gpu_fresh *fresh, const struct fb_data *data, int rank,
			 uint64_t first, const void *from, size_t count, void *stream);

#endif
