/* SPDX-License-Identifier: BSD-3-Clause */
/* The program reduce_scatter; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_REDUCE_SCATTER,
	.summary = "rank r gets the reduction of all ranks' blocks r",
	.description =
		"Times reduce_scatter, the first half of a sharded gradient update: every rank "
		"has a block for every rank, and each gets the reduction of those for it. Each "
		"of the project's algorithms runs beside the MPI library's own, on the same "
		"buffers.\n\n"
		"BYTES is the size of the whole input; a block is one n-th of it, n being the "
		"number of ranks, rounded up to whole elements. busbw is algbw * (n - 1) / n.\n\n"
		"In place the output is the rank's own block of the input. MPI puts it "
		"elsewhere, so it is skipped there.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
