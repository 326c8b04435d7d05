/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_reduce; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_ALL_REDUCE,
	.summary = "every rank gets the reduction of all ranks' blocks",
	.description =
		"Times all_reduce, the collective of data-parallel training: gradients are "
		"summed over all ranks and every rank gets the sums. Each of the project's "
		"algorithms runs beside the MPI library's own, on the same buffers.\n\n"
		"BYTES is the size of one block: of the input, and of the output. busbw is algbw "
		"* 2 (n - 1) / n, n being the number of ranks.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
