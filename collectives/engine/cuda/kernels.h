/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of one datatype: what each kernels_<type>.cu consists of. Its file defines
 * TYPE_<name> and TABLE, the name of the function that gives the kernels' addresses. There are two
 * sets, for aligned and for any memory (types.h says why). The kernel of sums, of the copy engine,
 * is in the second set alone, those of protocols tma and striped in the first.
 *
 * A file per type, so that they compile side by side. A block holds its multiprocessor alone in
 * effect, so registers are plenty for as many threads as are ever used.
 */
#include "common/base/datatype.h"

#include "common/cuda/device.h"
/* Above it. */
#include "common/cuda/device_tma.h"
/* Above both. */
#include "common/cuda/device_pipe.h"
#include "collectives/engine/cuda/table.h"

#define BOUNDS __launch_bounds__(FB_GPU_MOST_THREADS, 1)
#define LAUNCH const __grid_constant__ struct fb_gpu_launch launch
#define SHARED __shared__ __align__(16) unsigned char shared[FB_GPU_SHARED]
#define FUSED_BOUNDS __launch_bounds__(FB_GPU_FUSED_THREADS, 1)
#define EXCHANGE const __grid_constant__ struct fb_gpu_exchange exchange
#define LINES(suffix, most)                                           \
	__global__ void BOUNDS NAME(fb_lines_same_##suffix)(EXCHANGE) \
	{                                                             \
		NAME(exchange_lines)(&exchange, true, most);          \
	}                                                             \
	__global__ void BOUNDS NAME(fb_lines_each_##suffix)(EXCHANGE) \
	{                                                             \
		NAME(exchange_lines)(&exchange, false, most);         \
	}

/* The templates need all of this. */
#define ODD 0
#define KERNEL_OF even_kernel
#include "collectives/engine/cuda/kernel_set.h"
#define ODD 1
#define KERNEL_OF odd_kernel
#include "collectives/engine/cuda/kernel_set.h"

extern "C" const void *TABLE(int which, bool odd);
extern "C" const void *TABLE(int which, bool odd)
{
	return odd ? odd_kernel(which) : even_kernel(which);
}
