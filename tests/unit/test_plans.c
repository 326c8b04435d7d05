/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves every algorithm of the registry: 1..17 ranks and some larger numbers, every root, in
 * place and not, through FIFOs of 1 and 8 slots, through direct links, and through both mixed, on
 * one node and on several, on the first and the last of several channels.
 *
 *	test_plans [COLLECTIVE [ALGORITHM]]
 *
 * timeout: 900
 * sanitizers: full
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"
#include "common/plan/check.h"
#include "tests/unit/check.h"

/* What was proved of one algorithm; an algorithm that never could is a failure. */
struct tally {
	int proved, refused;
};

static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8,
#ifndef __SANITIZE_ADDRESS__ /* ten times slower, and the same code */
			    9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64, 100, 128,
#endif
};

/* Around powers of two, even and odd: what is proved without FB_FULL. */
static const int few_sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 64};

static void prove(const struct fb_algorithm *a, const struct fb_shape *shape, int slots,
		  enum fb_direct_links direct, struct tally *tally)
{
	bool large = shape->nranks > 17;
	struct fb_check_options options = {.slots = slots, .slices = large ? 1 : 2,
					   .runs = 2, .no_clocks = shape->nranks > 64};
	struct fb_check_report report;
	int err = fb_check(a, shape, direct, &options, &report);

	tally->proved++;
	if (!check_that(err == FB_OK, a->name, __FILE__, __LINE__))
		printf("\t%s %s: n=%d root=%d in_place=%d slots=%d direct=%d channel=%d/%d "
		       "nodes=%d: %s\n", fb_collective_info(a->collective)->name, a->name,
		       shape->nranks, shape->root, shape->in_place, slots, direct,
		       shape->channel, shape->nchannels,
		       shape->topology ? shape->topology->nnodes : 1, report.why);
}

static void prove_modes(const struct fb_algorithm *a, const struct fb_shape *shape,
			struct tally *tally)
{
	unsigned protocols = a->protocols ? a->protocols : ~0u;
	char why[FB_WHY_CHARS] = "";

	if (!fb_algorithm_can(a, shape, why, sizeof(why))) {
		check_that(why[0] != '\0', "a refusal has a reason", __FILE__, __LINE__);
		tally->refused++;
		return;
	}
	if (protocols & FB_FIFO_PROTOCOLS) {
		prove(a, shape, 1, FB_NO_DIRECT_LINKS, tally);
		prove(a, shape, 8, FB_NO_DIRECT_LINKS, tally);
	}
	if (protocols & FB_DIRECT_PROTOCOL)
		prove(a, shape, 8, FB_ALL_DIRECT_LINKS, tally);
	if (protocols & FB_DIRECT_PROTOCOL && shape->topology)
		prove(a, shape, 2, FB_NODE_DIRECT_LINKS, tally);
}

static void prove_roots(const struct fb_algorithm *a, struct fb_shape shape, struct tally *tally)
{
	const struct fb_collective_info *info = fb_collective_info(a->collective);
	int roots = info->has_root ? shape.nranks : 1;
	int stride = roots > 17 ? roots / 3 : 1;

	for (shape.root = 0; shape.root < roots; shape.root += stride)
		for (int in_place = 0; in_place < 1 + (info->in_place && a->in_place); in_place++) {
			shape.in_place = in_place;
			prove_modes(a, &shape, tally);
		}
}

/* `nodes` nodes; `uneven`: the last one has a rank less. */
static void prove_topology(const struct fb_algorithm *a, int n, int nodes, bool cyclic,
			   struct tally *tally)
{
	int node_of[128], local[128], used[128] = {0};
	struct fb_topology topology = {.nranks = n, .nnodes = nodes, .node_of = node_of,
				       .local_rank_of = local};
	struct fb_shape shape = {.collective = a->collective, .nranks = n, .nchannels = 1,
				 .topology = nodes > 1 ? &topology : NULL};
	int channels = a->channels ? a->channels : 1;

	for (int r = 0; r < n; r++) {
		node_of[r] = cyclic ? r % nodes : (int)((long)r * nodes / n);
		local[r] = used[node_of[r]]++;
	}
	shape.nchannels = channels;
	for (shape.channel = 0; shape.channel < channels; shape.channel++)
		prove_roots(a, shape, tally);
	if (nodes > 1 || n > 17)
		return;
	shape.nchannels = channels * 4;
	shape.channel = channels * 4 - 1;
	prove_roots(a, shape, tally);
}

static void prove_algorithm(const struct fb_algorithm *a)
{
	struct tally tally = {0, 0};
	bool full = check_full();
	const int *size = full ? sizes : few_sizes;
	size_t count = full ? sizeof(sizes) / sizeof(sizes[0])
			    : sizeof(few_sizes) / sizeof(few_sizes[0]);

	for (size_t i = 0; i < count; i++) {
		int n = size[i];

		prove_topology(a, n, 1, false, &tally);
		for (int nodes = 2; nodes <= 8 && nodes <= n; nodes++) {
			if (n > 17 && nodes != 2 && nodes != 8)
				continue;
			prove_topology(a, n, nodes, false, &tally);
			if (n <= 17)
				prove_topology(a, n, nodes, true, &tally);
		}
	}
	printf("%-16s %-24s %6d proofs, %d shapes refused\n",
	       fb_collective_info(a->collective)->name, a->name, tally.proved, tally.refused);
	check_that(tally.proved > 0, "the algorithm works somewhere", __FILE__, __LINE__);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < fb_algorithm_count; i++) {
		const struct fb_algorithm *a = fb_algorithms[i];

		if (argc > 1 && strcmp(argv[1], fb_collective_info(a->collective)->name))
			continue;
		if (argc > 2 && strcmp(argv[2], a->name))
			continue;
		prove_algorithm(a);
	}
	return check_done("plans");
}
