/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of traffic. */
#include "collectives/traffic.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	enum { RANKS = 3 };
	double weights[RANKS * RANKS];
	struct fb_traffic traffic = {.collective = FB_ALL_TO_ALL_V, .nranks = RANKS,
				     .matrix = true, .weights = weights};
	struct fb_counts counts = {.elements = NULL};

	if (fb_traffic_read("matrix", fuzz_file(bytes, n), RANKS, RANKS, weights))
		return 0;
	if (!fb_traffic_counts(&traffic, 1000, &counts))
		fb_traffic_moved(&counts);
	free((void *)(uintptr_t)counts.elements);
	return 0;
}
