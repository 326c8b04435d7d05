/* SPDX-License-Identifier: BSD-3-Clause */
/* The program reduce; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_REDUCE,
	.summary = "the root gets the reduction of all ranks' blocks",
	.description =
		"Times reduce: blocks of all ranks are combined, and the root alone gets the "
		"result. Each of the project's algorithms runs beside the MPI library's own, on "
		"the same buffers.\n\n"
		"BYTES is the size of one block: of each rank's input, and of the root's output. "
		"busbw is algbw.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
