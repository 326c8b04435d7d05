/* SPDX-License-Identifier: BSD-3-Clause */
/* The program gather; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_GATHER,
	.summary = "the root gets the blocks of all ranks",
	.description =
		"Times gather: every rank gives a block, and the root alone gets all of them, in "
		"rank order. Each of the project's algorithms runs beside the MPI library's own, "
		"on the same buffers.\n\n"
		"BYTES is the size of the root's whole output; a block is one n-th of it, n "
		"being the number of ranks, rounded up to whole elements. busbw is algbw * (n - "
		"1) / n.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
