/* SPDX-License-Identifier: BSD-3-Clause */
/* The program bandwidth; all it shares with the others is in program.h. */
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8:16M:8"}, {"datatype", "u8"}, {"algorithm", "send"}, {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_ONE_WAY, FB_TWO_WAY, FB_PATTERNS};

static const struct fb_p2p_program program = {
	.name = "bandwidth",
	.summary = "how much passes between two ranks, one way and both ways",
	.description =
		"A window of messages is under way at once; a row's time is that of one message, "
		"messages_per_s the rate of all. two_way sends a window in each direction at "
		"the same time: algbw counts both, busbw one.\n\n"
		"Pairs are measured one after the other, with all other ranks idle.",
	.patterns = patterns,
	.grouping = FB_ONE_BY_ONE,
	.pairs = "first",
	.defaults = defaults,
	.columns = fb_p2p_rate_columns,
	.ncolumns = FB_P2P_RATE_COLUMNS,
	.summarise = fb_p2p_rate,
};

int main(int argc, char **argv)
{
	return fb_p2p_main(&program, argc, argv);
}
