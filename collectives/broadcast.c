/* SPDX-License-Identifier: BSD-3-Clause */
/* The program broadcast; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_default defaults[] = {
	{"in-place", "yes"},
	{"engine", FB_USUAL_ENGINES},
	{NULL, NULL},
};

static const struct fb_collective_program program = {
	.collective = FB_BROADCAST,
	.summary = "every rank gets the root's block",
	.description =
		"Times broadcast, which hands out initial weights and small decisions: all ranks "
		"get what the root has. Each of the project's algorithms runs beside the MPI "
		"library's own, on the same buffers.\n\n"
		"BYTES is the size of the one block. busbw is algbw.\n\n"
		"By default it works in place, since MPI_Bcast has no other form; with "
		"--in-place no the root gets a copy too.",
	.defaults = defaults,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
