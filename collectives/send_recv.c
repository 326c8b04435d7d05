/* SPDX-License-Identifier: BSD-3-Clause */
/* The program send_recv; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_SEND_RECV,
	.summary = "every rank sends to the next and receives from the one before",
	.description =
		"Times a ring shift, the step of pipeline and ring-attention schedules: all "
		"ranks send their block to the next rank and receive one from the rank before, "
		"at the same time. Each of the project's algorithms runs beside MPI_Sendrecv, on "
		"the same buffers.\n\n"
		"BYTES is the size of the one block. busbw is algbw.",
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
