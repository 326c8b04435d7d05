/* SPDX-License-Identifier: BSD-3-Clause */
/* The agreement of ranks on GPUDirect RDMA, with CUDA or without; see gpu_direct.h. */
#include "common/cuda/gpu_direct.h"

#include <stdio.h>

unsigned fb_gpu_direct_agree(const struct fb_group *world, unsigned own, char *why, size_t n)
{
	int who = own ? world->nranks : world->rank;
	unsigned all;

	MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED, MPI_BAND, world->comm);
	if (all)
		return all;
	MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, world->comm);
	if (who < world->nranks)
		MPI_Bcast(why, (int)n, MPI_CHAR, who, world->comm);
	else
		snprintf(why, n, "the devices of some ranks take GPU memory by dma-buf only, and "
			 "others by address only");
	return 0;
}
