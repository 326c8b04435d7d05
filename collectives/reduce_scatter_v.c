/* SPDX-License-Identifier: BSD-3-Clause */
/* The program reduce_scatter_v; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_REDUCE_SCATTER_V,
	.summary = "reduce_scatter with a size of its own for the block of each rank",
	.description =
		"Times reduce_scatter_v, which reduces gradients that are not cut evenly: FSDP "
		"with a shard of another size on each rank. "
		FB_BLOCK_DESCRIPTION("MPI_Reduce_scatter", "reductions", "a rank's whole input",
				     "reduce_scatter"),
	.options = fb_block_options,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
