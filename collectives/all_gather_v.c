/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_gather_v; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_ALL_GATHER_V,
	.summary = "all_gather with a size of its own for the block of each rank",
	.description =
		"Times all_gather_v, which collects parameters that are not cut evenly: FSDP with "
		"a shard of another size on each rank, tensor parallelism with a number of heads "
		"that the ranks do not divide. The sizes follow --skew or --weights, and a rank "
		"may have nothing. Each of the project's algorithms runs beside the MPI library's "
		"MPI_Allgatherv and NCCL's broadcasts in a group, on the same buffers.\n\n"
		"BYTES is the size of the whole output, which the blocks share by weight; with "
		"equal weights sizes are those of all_gather. busbw is algbw * (n - 1) / n, n "
		"being the number of ranks, as if blocks were even.\n\n"
		"A file of weights has one line and in it a number for each rank, separated by "
		"commas or blanks. Empty lines and what follows a # are passed over.",
	.options = fb_block_options,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
