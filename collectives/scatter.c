/* SPDX-License-Identifier: BSD-3-Clause */
/* The program scatter; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_SCATTER,
	.summary = "rank r gets block r of the root",
	.description =
		"Times scatter: the root has a block for every rank, and each gets its own. Each "
		"of the project's algorithms runs beside the MPI library's own, on the same "
		"buffers.\n\n"
		"BYTES is the size of the root's whole input; a block is one n-th of it, n being "
		"the number of ranks, rounded up to whole elements. busbw is algbw * (n - 1) / n.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
