/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_to_all; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_ALL_TO_ALL,
	.summary = "block j of rank i becomes block i of rank j",
	.description =
		"Times all_to_all, which redistributes data that is split one way to be split "
		"another, as sequence parallelism and balanced expert parallelism do. Each of "
		"the project's algorithms runs beside the MPI library's own, on the same "
		"buffers.\n\n"
		"BYTES is the size of a rank's whole input; a block is one n-th of it, n being "
		"the number of ranks, rounded up to whole elements. busbw is algbw * (n - 1) / n.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
