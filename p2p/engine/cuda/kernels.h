/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of the kernels, for cudaLaunchKernelExC. */
#ifndef FB_P2P_ENGINE_CUDA_KERNELS_H
#define FB_P2P_ENGINE_CUDA_KERNELS_H

#include "p2p/engine/cuda/launch.h"

enum fb_p2p_kernel {
	FB_P2P_WINDOW,  /* struct fb_p2p_window */
	FB_P2P_DIRECT,  /* struct fb_p2p_ping_pong */
	FB_P2P_LL,      /* the same */
	FB_P2P_NEAR,    /* struct fb_p2p_near */
};

#ifdef __cplusplus
extern "C" {
#endif

const void *fb_p2p_kernel(enum fb_p2p_kernel which);

#ifdef __cplusplus
}
#endif

#endif
