/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of the two sets of kernels of a datatype: a template without include guard, after kernels.h
 * has defined ODD. KERNEL_OF names the function that gives their addresses.
 */
#include "collectives/engine/cuda/interpret.h"

__global__ void BOUNDS NAME(fb_simple)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_SIMPLE, false, shared, NULL, 0);
}

__global__ void BOUNDS NAME(fb_ll8)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_LL8, false, shared, NULL, 0);
}

__global__ void BOUNDS NAME(fb_ll16)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_LL16, false, shared, NULL, 0);
}

__global__ void BOUNDS NAME(fb_ll128)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_LL128, false, shared, NULL, 0);
}

__global__ void FUSED_BOUNDS NAME(fb_exchange_same)(EXCHANGE)
{
	NAME(exchange)(&exchange, true);
}

__global__ void FUSED_BOUNDS NAME(fb_exchange_each)(EXCHANGE)
{
	NAME(exchange)(&exchange, false);
}

LINES(one, 1)
LINES(few, FB_GPU_FEW_PEERS)
LINES(most, FB_GPU_MOST_PEERS)

#if ODD
__global__ void BOUNDS NAME(fb_sum)(const __grid_constant__ struct fb_gpu_sum sum)
{
	__shared__ uint64_t address[FB_GPU_MOST_SUMMANDS + 1];

	NAME(sum)(&sum, address);
}
#define SUM (const void *)NAME(fb_sum)
#define TMA NULL
#define STRIPED NULL
#else
__global__ void BOUNDS NAME(fb_tma)(LAUNCH)
{
	extern __shared__ __align__(FB_GPU_LINE) unsigned char pool[];
	SHARED;

	NAME(interpret)(&launch, FB_GPU_SIMPLE, false, shared, pool, FB_GPU_POOL);
}
#define TMA (const void *)NAME(fb_tma)

__global__ void BOUNDS NAME(fb_striped)(LAUNCH)
{
	SHARED;

	NAME(interpret)(&launch, FB_GPU_SIMPLE, true, shared, NULL, 0);
}
#define STRIPED (const void *)NAME(fb_striped)
#define SUM NULL
#endif

static const void *KERNEL_OF(int which)
{
	static const void *const kernels[] = {
		(const void *)NAME(fb_simple), (const void *)NAME(fb_ll8),
		(const void *)NAME(fb_ll16), (const void *)NAME(fb_ll128),
		(const void *)NAME(fb_exchange_same), (const void *)NAME(fb_exchange_each),
		(const void *)NAME(fb_lines_same_one), (const void *)NAME(fb_lines_each_one),
		(const void *)NAME(fb_lines_same_few), (const void *)NAME(fb_lines_each_few),
		(const void *)NAME(fb_lines_same_most), (const void *)NAME(fb_lines_each_most),
		SUM, TMA, STRIPED,
	};

	return kernels[which];
}

#undef SUM
#undef TMA
#undef STRIPED
#undef KERNEL_OF
#include "collectives/engine/cuda/undefine.h"
