/* SPDX-License-Identifier: BSD-3-Clause */
/* The program latency; all it shares with the others is in program.h. */
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8:4M:4"}, {"datatype", "u8"}, {"algorithm", "send"}, {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_PING_PONG, FB_PATTERNS};

static const struct fb_p2p_program program = {
	.name = "latency",
	.summary = "how long a message takes from one rank to another",
	.description =
		"Two ranks send a message back and forth; a row's time is half a round trip. With "
		"--algorithm put or get nobody answers: there it is the time until one write or "
		"read is complete.\n\n"
		"Pairs are measured one after the other, with all other ranks idle.",
	.patterns = patterns,
	.grouping = FB_ONE_BY_ONE,
	.pairs = "first",
	.defaults = defaults,
};

int main(int argc, char **argv)
{
	return fb_p2p_main(&program, argc, argv);
}
