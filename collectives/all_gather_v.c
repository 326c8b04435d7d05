/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_gather_v; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_ALL_GATHER_V,
	.summary = "all_gather with a size of its own for the block of each rank",
	.description =
		"Times all_gather_v, which collects parameters that are not cut evenly: FSDP with "
		"a shard of another size on each rank, tensor parallelism with a number of heads "
		"that the ranks do not divide. "
		FB_BLOCK_DESCRIPTION("MPI_Allgatherv", "broadcasts", "the whole output",
				     "all_gather"),
	.options = fb_block_options,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
