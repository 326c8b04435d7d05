/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_to_all_v; all it shares with the others is in program.h. */
#include "collectives/program.h"

static const struct fb_collective_program program = {
	.collective = FB_ALL_TO_ALL_V,
	.summary = "all_to_all with a size of its own for each pair of ranks",
	.description =
		"Times all_to_all_v, the dispatch and combine of expert parallelism: how much "
		"goes from whom to whom follows --skew or a recorded --matrix. Each of the "
		"project's algorithms runs beside the MPI library's own, on the same buffers.\n\n"
		"BYTES is the size of a rank's whole input, averaged over ranks; a skew or "
		"matrix is scaled to it. busbw is algbw * (n - 1) / n, n being the number of "
		"ranks, as if traffic were even.\n\n"
		"A matrix file has a line for each sending rank and in it a number for each "
		"receiving rank, separated by commas or blanks: weights, bytes or counts of "
		"tokens. Empty lines and what follows a # are passed over.",
	.options = fb_traffic_options,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
