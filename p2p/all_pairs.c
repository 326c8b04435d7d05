/* SPDX-License-Identifier: BSD-3-Clause */
/* The program all_pairs; all it shares with the others is in program.h. */
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8,1M"},   {"datatype", "u8"}, {"algorithm", "send"},
	{"max-time", "100ms"}, {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_PING_PONG, FB_ONE_WAY, FB_PATTERNS};

static const struct fb_p2p_program program = {
	.name = "all_pairs",
	.summary = "latency and bandwidth between every two ranks",
	.description =
		"Measures every ordered pair alone, with all other ranks idle: the matrix that "
		"shows a slow rank, card, link or node. Rows have src= and dst= in the column "
		"variant.",
	.patterns = patterns,
	.grouping = FB_ONE_BY_ONE,
	.pairs = "all",
	.defaults = defaults,
};

int main(int argc, char **argv)
{
	return fb_p2p_main(&program, argc, argv);
}
