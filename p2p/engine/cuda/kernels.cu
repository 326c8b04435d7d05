/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of engine cuda; what they do is in move.h. */
#include "common/cuda/device.h"
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

/* Dependent loads: the address of each needs the value of the one before, so none overlap. */
static __device__ uint64_t look_at(uint64_t address)
{
	enum { LOOKS = 8 };
	long long began = clock64();

	for (int i = 0; i < LOOKS; i++)
		address += fb_load_line(address, false).w[0];
	fb_hold(&address);
	return (uint64_t)(clock64() - began) / LOOKS;
}

/* Takes the least of several times for each page: the first load has to translate the address. */
__global__ void fb_p2p_near_kernel(const __grid_constant__ struct fb_p2p_near launch)
{
	enum { TIMES = 4 };

	for (uint32_t p = 0; p < FB_P2P_NEAR_PAGES && fb_thread() == 0; p++) {
		uint64_t least = UINT64_MAX;

		for (int t = 0; t < TIMES; t++) {
			uint64_t cycles = look_at(launch.pages + (uint64_t)p * FB_P2P_PAGE);

			least = cycles < least ? cycles : least;
		}
		fb_store_private(launch.cycles + 8 * (uint64_t)p, least);
	}
}

extern "C" const void *fb_p2p_kernel(enum fb_p2p_kernel which)
{
	static const void *const kernels[] = {
		(const void *)fb_p2p_window_kernel, (const void *)fb_p2p_direct_kernel,
		(const void *)fb_p2p_ll_kernel, (const void *)fb_p2p_near_kernel,
	};

	return kernels[which];
}
