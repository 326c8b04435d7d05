/* SPDX-License-Identifier: BSD-3-Clause */
/* The program registration; its costs are in cost/memory.c. */
#include "p2p/cost/cost.h"

static const struct fb_default defaults[] = {
	{"bytes", "4K:256M:16"}, {"max-time", "300ms"}, {NULL, NULL},
};

static const struct fb_cost_program program = {
	.name = "registration",
	.summary = "what it costs to get memory, to pin it and to share it",
	.description =
		"Each row is an action and its reverse, on all ranks at once: fresh pages mapped "
		"and touched (map), pages pinned as for a device (lock), memory that all ranks of "
		"the host reach (share), the MPI library's windows and allocations, and memory "
		"made known to an RDMA device (register) or found in the cache of what is "
		"(look_up). algbw is bytes a second.\n\n"
		"--memory asks for pages: host (the usual ones), hugepage, hugetlb, hugetlb_1g; "
		"path says what they became. MPI chooses the pages of memory that it allocates.\n\n"
		"--memory device (cudaMalloc) and vmm (cuMemCreate) are a GPU's: to get it (map), "
		"to have the rank before map it (share), to make it known to an RDMA device "
		"(register, look_up) or to NCCL (register, window).",
	.costs = fb_memory_costs,
	.defaults = defaults,
	.columns = fb_memory_columns,
	.ncolumns = FB_COST_COLUMNS,
};

int main(int argc, char **argv)
{
	return fb_cost_main(&program, argc, argv);
}
