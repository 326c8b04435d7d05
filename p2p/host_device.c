/* SPDX-License-Identifier: BSD-3-Clause */
/* The program host_device: its description; all it does is in p2p/local/. */
#include "p2p/local/local.h"

static const struct fb_default defaults[] = {
	{"bytes", "8:64M:8"}, {"datatype", "u8"}, {"memory", "pinned"}, {"launch", "stream"},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	static const struct fb_local_program program = {
		.name = "host_device",
		.summary = "how data passes between a processor and its GPU",
		.description =
			"Copies from host to device (h2d), back (d2h), both at the same time "
			"(h2d_d2h) and within the device (d2d), by the copy engine, by a "
			"kernel that reads and writes mapped host memory, or by the processor, "
			"which GDRCopy maps the GPU's memory for; and messages between "
			"the processor and a running kernel (ping_pong; a row's time is half a "
			"round trip).\n\n"
			"Memory: pinned (cudaHostAlloc), registered (cudaHostRegister), managed "
			"(cudaMallocManaged), or pageable, in usual pages or hugepage, hugetlb, "
			"hugetlb_1g, or those of a mapped file in $TMPDIR.\n\n"
			"All ranks copy at once, each to its own GPU; rates are of one rank, and "
			"of h2d_d2h algbw counts both directions, busbw one.",
		.defaults = defaults,
	};

	return fb_local_main(&program, argc, argv);
}
