/* SPDX-License-Identifier: BSD-3-Clause */
/* The nearest pages of all ranks; see cuda_near.h. */
#include "p2p/engine/cuda/cuda_near.h"

#include "common/cuda/cuda_error.h"
#include "p2p/engine/cuda/build.h"
#include "p2p/engine/cuda/kernels.h"

_Static_assert(FB_P2P_NEAR_PAGES * sizeof(uint64_t) <=
		       FB_P2P_LINKS_COUNTERS - FB_P2P_LINKS_TIMES,
	       "cycles fit where times are");

static int find_own(const struct fb_segment *links, int rank, uint32_t *nearest)
{
	char *own = fb_segment_part(links, rank);
	uint64_t cycles[FB_P2P_NEAR_PAGES];
	struct fb_p2p_near launch = {
		.pages = (uint64_t)(uintptr_t)(own + FB_P2P_LINKS_NEAR),
		.cycles = (uint64_t)(uintptr_t)(own + FB_P2P_LINKS_TIMES),
	};
	void *args[] = {&launch};
	const cudaLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
	int err = FB_CUDA(cudaLaunchKernelExC(&config, fb_p2p_kernel(FB_P2P_NEAR), args));
	int least = 0;

	if (!err)
		err = FB_CUDA(cudaDeviceSynchronize());
	if (!err)
		err = links->ops->get(cycles, own + FB_P2P_LINKS_TIMES, sizeof(cycles));
	if (!err)
		err = links->ops->set(own + FB_P2P_LINKS_TIMES, 0, sizeof(cycles));
	if (err)
		return err;
	for (int p = 1; p < FB_P2P_NEAR_PAGES; p++)
		least = cycles[p] < cycles[least] ? p : least;
	*nearest = (uint32_t)(FB_P2P_LINKS_NEAR + least * FB_P2P_PAGE);
	return FB_OK;
}

int fb_p2p_find_near(const struct fb_segment *links, const struct fb_group *world,
		     uint32_t near[])
{
	uint32_t own = 0;
	int err = fb_group_agree(world, find_own(links, world->rank, &own));

	if (!err)
		MPI_Allgather(&own, 1, MPI_UINT32_T, near, 1, MPI_UINT32_T, world->comm);
	return err;
}
