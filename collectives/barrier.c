/* SPDX-License-Identifier: BSD-3-Clause */
/* The program barrier; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "0"},
	{"engine", FB_USUAL_ENGINES},
	{NULL, NULL},
};

static const struct fb_collective_program program = {
	.collective = FB_BARRIER,
	.summary = "no rank leaves before all have entered",
	.description =
		"Times a barrier, which moves no data: what it costs to agree. Each of the "
		"project's algorithms runs beside the MPI library's own.\n\n"
		"There is one row per algorithm and protocol; sizes and types have no meaning "
		"here and are ignored. A barrier is verified by letting ranks come late in turn "
		"and looking whether anybody left without them.",
	.defaults = defaults,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
