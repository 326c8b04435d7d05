/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel that gathers and scatters messages, quantised or not; it is in wire_device.h. */
#include "common/cuda/device.h"
#include "kvtransfer/pages_kernels.h"
/* Needs the device's functions. */
#include "kvtransfer/wire_device.h"

enum { THREADS = 256, TEAM = 32, MOST_BLOCKS = 2048 };

__global__ void __launch_bounds__(THREADS)
	fb_kv_packing_kernel(const __grid_constant__ struct fb_kv_packing packing)
{
	uint64_t teams = gridDim.x * (uint64_t)(THREADS / TEAM);
	uint64_t first = blockIdx.x * (uint64_t)(THREADS / TEAM) + threadIdx.x / TEAM;

	for (uint64_t k = first; k < packing.parts * packing.repeats; k += teams)
		fb_kv_packing_part(&packing, k, threadIdx.x % TEAM, TEAM);
}

extern "C" int fb_kv_kernel_packing(const struct fb_kv_packing *packing)
{
	uint64_t teams = packing->parts * packing->repeats;
	uint64_t blocks = (teams + THREADS / TEAM - 1) / (THREADS / TEAM);

	blocks = blocks < (uint64_t)MOST_BLOCKS ? blocks : (uint64_t)MOST_BLOCKS;
	fb_kv_packing_kernel<<<(unsigned)blocks, THREADS>>>(*packing);
	return (int)cudaGetLastError();
}
