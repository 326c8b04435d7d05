/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of the KV transfer engines: what it does is in move.h. */
#include "collectives/engine/cuda/device.h"
#include "kvtransfer/engine/gpu/kernels.h"
/* Needs the device's functions. */
#include "kvtransfer/engine/gpu/move.h"

__global__ void __launch_bounds__(FB_KV_THREADS, 2)
	fb_kv_move_kernel(const __grid_constant__ struct fb_kv_launch launch)
{
	fb_kv_run_launch(&launch);
}

extern "C" const void *fb_kv_kernel(void)
{
	return (const void *)fb_kv_move_kernel;
}
