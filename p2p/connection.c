/* SPDX-License-Identifier: BSD-3-Clause */
/* The program connection; its costs are in cost/connect.c. */
#include "p2p/cost/cost.h"

static const struct fb_default defaults[] = {
	{"bytes", "0"}, {"max-samples", "200"}, {NULL, NULL},
};

static const struct fb_cost_program program = {
	.name = "connection",
	.summary = "what it costs to connect every rank with every other",
	.description =
		"Each row is all of it: to connect, a message from each rank to each other, and to "
		"disconnect; by shared memory, by TCP, by RDMA, and by a new MPI communicator. "
		"queue_pairs has no message: pairs made, addresses told, connected and destroyed. "
		"Options of --rdma-... and --tcp-... are keys of the rows. There is no memory to "
		"choose: --memory takes nothing but host.",
	.costs = fb_connection_costs,
	.defaults = defaults,
};

int main(int argc, char **argv)
{
	return fb_cost_main(&program, argc, argv);
}
