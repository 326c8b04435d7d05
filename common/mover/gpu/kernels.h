/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels.cu gives to the movers. */
#ifndef FB_COMMON_MOVER_GPU_KERNELS_H
#define FB_COMMON_MOVER_GPU_KERNELS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The kernel that takes a struct fb_move_launch, for cudaLaunchKernel. `odd`: of any addresses;
 * otherwise of multiples of 16.
 */
const void *fb_move_kernel(bool odd);

#ifdef __cplusplus
}
#endif

#endif
