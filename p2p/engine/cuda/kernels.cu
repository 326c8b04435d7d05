/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of engine cuda; what they do is in move.h. */
#include "collectives/engine/cuda/device.h"
#include "p2p/engine/cuda/kernels.h"
/* Needs the device's functions. */
#include "p2p/engine/cuda/move.h"

#define BOUNDS __launch_bounds__(FB_P2P_MOST_THREADS, 1)

__global__ void BOUNDS fb_p2p_window_kernel(const __grid_constant__ struct fb_p2p_window launch)
{
	fb_p2p_run_window(&launch);
}

__global__ void BOUNDS fb_p2p_direct_kernel(const __grid_constant__ struct fb_p2p_ping_pong launch)
{
	fb_p2p_run_ping_pong(&launch, false);
}

__global__ void BOUNDS fb_p2p_ll_kernel(const __grid_constant__ struct fb_p2p_ping_pong launch)
{
	fb_p2p_run_ping_pong(&launch, true);
}

extern "C" const void *fb_p2p_kernel(enum fb_p2p_kernel which)
{
	static const void *const kernels[] = {
		(const void *)fb_p2p_window_kernel, (const void *)fb_p2p_direct_kernel,
		(const void *)fb_p2p_ll_kernel,
	};

	return kernels[which];
}
