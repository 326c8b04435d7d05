/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels in kernels.cu. */
#ifndef FB_COMMON_MOVER_GPU_KERNELS_H
#define FB_COMMON_MOVER_GPU_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

enum fb_move_kernel {
	FB_MOVE_ALIGNED, /* all addresses are multiples of 16 */
	FB_MOVE_ANY,
	FB_MOVE_BULK,    /* aligned, by bulk copies; with FB_MOVE_POOL bytes of shared memory */
	FB_MOVE_KERNELS,
};

/* The kernel that takes a struct fb_move_launch, for cudaLaunchKernel. */
const void *fb_move_kernel(enum fb_move_kernel which);

#ifdef __cplusplus
}
#endif

#endif
