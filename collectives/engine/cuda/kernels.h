/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of one datatype: what each kernels_<type>.cu consists of. Its file defines
 * TYPE_<name> and TABLE, the name of the function that gives the kernels' addresses.
 *
 * A file per type, so that they compile side by side. A block holds its multiprocessor alone in
 * effect, so registers are plenty for as many threads as are ever used.
 */
#include "common/base/datatype.h"

#include "collectives/engine/cuda/device.h"
#include "collectives/engine/cuda/table.h"
/* The template needs both. */
#include "collectives/engine/cuda/interpret.h"

#define BOUNDS __launch_bounds__(FB_GPU_MOST_THREADS, 1)
#define LAUNCH const __grid_constant__ struct fb_gpu_launch launch
#define SHARED __shared__ __align__(16) unsigned char shared[FB_GPU_SHARED]

__global__ void BOUNDS NAME(fb_simple)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_SIMPLE, shared);
}

__global__ void BOUNDS NAME(fb_ll8)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_LL8, shared);
}

__global__ void BOUNDS NAME(fb_ll16)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_LL16, shared);
}

__global__ void BOUNDS NAME(fb_ll128)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_LL128, shared);
}

#define FUSED_BOUNDS __launch_bounds__(FB_GPU_FUSED_THREADS, 1)
#define EXCHANGE const __grid_constant__ struct fb_gpu_exchange exchange

__global__ void FUSED_BOUNDS NAME(fb_exchange_same)(EXCHANGE)
{
	NAME(exchange)(&exchange, true);
}

__global__ void FUSED_BOUNDS NAME(fb_exchange_each)(EXCHANGE)
{
	NAME(exchange)(&exchange, false);
}

#define LINES(suffix, most)                                       \
	__global__ void BOUNDS NAME(fb_lines_same_##suffix)(EXCHANGE) \
	{                                                             \
		NAME(exchange_lines)(&exchange, true, most);          \
	}                                                             \
	__global__ void BOUNDS NAME(fb_lines_each_##suffix)(EXCHANGE) \
	{                                                             \
		NAME(exchange_lines)(&exchange, false, most);         \
	}

LINES(one, 1)
LINES(few, FB_GPU_FEW_PEERS)
LINES(most, FB_GPU_MOST_PEERS)

__global__ void BOUNDS NAME(fb_sum)(const __grid_constant__ struct fb_gpu_sum sum)
{
	__shared__ uint64_t address[FB_GPU_MOST_SUMMANDS + 1];

	NAME(sum)(&sum, address);
}

extern "C" const void *TABLE(int which);
extern "C" const void *TABLE(int which)
{
	static const void *const kernels[] = {
		(const void *)NAME(fb_simple), (const void *)NAME(fb_ll8),
		(const void *)NAME(fb_ll16), (const void *)NAME(fb_ll128),
		(const void *)NAME(fb_exchange_same), (const void *)NAME(fb_exchange_each),
		(const void *)NAME(fb_lines_same_one), (const void *)NAME(fb_lines_each_one),
		(const void *)NAME(fb_lines_same_few), (const void *)NAME(fb_lines_each_few),
		(const void *)NAME(fb_lines_same_most), (const void *)NAME(fb_lines_each_most),
		(const void *)NAME(fb_sum),
	};

	return kernels[which];
}
