/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_gather; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_ALL_GATHER,
	.summary = "every rank gets the blocks of all ranks",
	.description =
		"Times all_gather, the collective that collects sharded parameters before they "
		"are used: every rank gives a block and every rank gets all of them, in rank "
		"order. Each of the project's algorithms runs beside the MPI library's own, on "
		"the same buffers.\n\n"
		"BYTES is the size of the whole output; a block is one n-th of it, n being the "
		"number of ranks, rounded up to whole elements. busbw is algbw * (n - 1) / n.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
