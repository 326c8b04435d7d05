/* SPDX-License-Identifier: BSD-3-Clause */
/* The program incast; all it shares with the others is in program.h. */
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8:1M:16"}, {"datatype", "u8"}, {"algorithm", "send"}, {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_FAN_IN, FB_FAN_OUT, FB_PATTERNS};

static const struct fb_p2p_program program = {
	.name = "incast",
	.summary = "many ranks send to one, and one to many",
	.description =
		"1, 2, 4, ... ranks send to the root at the same time (fan_in), or the root sends "
		"to as many (fan_out): the traffic that fills queues in networks and at the last "
		"link. algbw and busbw are what the root receives or sends.",
	.patterns = patterns,
	.grouping = FB_AROUND_ROOT,
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
