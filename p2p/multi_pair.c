/* SPDX-License-Identifier: BSD-3-Clause */
/* The program multi_pair; all it shares with the others is in program.h. */
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8:1M:16"}, {"datatype", "u8"}, {"algorithm", "send"}, {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_ONE_WAY, FB_TWO_WAY, FB_PATTERNS};

static const struct fb_p2p_program program = {
	.name = "multi_pair",
	.summary = "bandwidth and message rate of many pairs at once",
	.description =
		"1, 2, 4, ... pairs of ranks send at the same time, which shows where they share "
		"something: a link, a network card, memory. algbw is that of all pairs together, "
		"busbw one flow's share. All pairs together send flows / median_us million "
		"messages a second.\n\n"
		"No rank may be in two pairs: the list is used up to the first that is.",
	.patterns = patterns,
	.grouping = FB_AT_ONCE,
	.pairs = "halves",
	.defaults = defaults,
	.columns = fb_p2p_rate_columns,
	.ncolumns = FB_P2P_RATE_COLUMNS,
	.summarise = fb_p2p_rate,
};

int main(int argc, char **argv)
{
	return fb_p2p_main(&program, argc, argv);
}
