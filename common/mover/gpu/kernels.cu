/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of the movers between GPUs; their code is in move.h. Launches whose addresses are all
 * multiples of 16 have their own kernel, so that code for other addresses costs them nothing.
 */
#include "common/cuda/device.h"
/* Above it. */
#include "common/cuda/device_tma.h"
#include "common/mover/gpu/kernels.h"
/* Needs the device's functions. */
#include "common/mover/gpu/move.h"

__global__ void __launch_bounds__(FB_MOVE_THREADS, 2)
	fb_move_aligned_kernel(const __grid_constant__ struct fb_move_launch launch)
{
	fb_move_run(&launch, false);
}

__global__ void __launch_bounds__(FB_MOVE_THREADS, 2)
	fb_move_any_kernel(const __grid_constant__ struct fb_move_launch launch)
{
	fb_move_run(&launch, true);
}

__global__ void __launch_bounds__(FB_MOVE_BULK_THREADS, 1)
	fb_move_bulk_kernel(const __grid_constant__ struct fb_move_launch launch)
{
	extern __shared__ __align__(128) unsigned char pool[];

	fb_move_run_bulk(&launch, pool, FB_MOVE_POOL);
}

extern "C" const void *fb_move_kernel(enum fb_move_kernel which)
{
	static const void *const kernels[FB_MOVE_KERNELS] = {
		(const void *)fb_move_aligned_kernel, (const void *)fb_move_any_kernel,
		(const void *)fb_move_bulk_kernel};

	return kernels[which];
}
