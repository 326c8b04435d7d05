/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Green contexts: streams whose kernels run on some multiprocessors of a GPU only, with the memory
 * of the device's primary context (CUDA Driver API, section Green Contexts; from 12.4 on). No CUDA
 * header is needed to include this one.
 */
#ifndef FB_COMMON_CUDA_GPU_GREEN_H
#define FB_COMMON_CUDA_GPU_GREEN_H

#include <stddef.h>

struct fb_gpu_green; /* opaque */

/*
 * Local: takes `sms` multiprocessors of the device, which may round the number up to *got. 0, or
 * FB_EUNSUPPORTED with the reason in why[n] (not printed), or FB_ENOMEM.
 */
int fb_gpu_green_open(struct fb_gpu_green **green, int device, int sms, int *got, char *why,
		      size_t n);

/* Local: *stream becomes a cudaStream_t on them, freed by cudaStreamDestroy(). 0 or FB_ESYS. */
int fb_gpu_green_stream(const struct fb_gpu_green *green, int priority, void *stream);

/* To be called after its streams are destroyed. NULL is fine. */
void fb_gpu_green_close(struct fb_gpu_green *green);

#endif
