/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time and memory of building a plan, and the cost model where its answer is known.
 *
 * One rank's plan of 1,024 ranks takes under 50 ms, of 16,384 under 1 s for algorithms with a
 * logarithmic number of steps, with memory in proportion to the rank's own steps. Time is
 * processor time, so that a busy machine fails nothing.
 */
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "collectives/algorithm/algorithm.h"
#include "common/plan/check.h"
#include "tests/unit/check.h"

enum { PER_NODE = 8, LARGEST = 16384 };

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t plan_steps(const struct fb_plan *p)
{
	uint64_t n = p->nends + p->ndeps;

	for (int l = 0; l < p->nlanes; l++)
		n += p->lanes[l].nsteps;
	return n;
}

static void build(const struct fb_algorithm *a, const struct fb_topology *t, int n, double limit_ms)
{
	struct fb_shape shape = {.collective = a->collective, .nranks = n, .topology = t,
				 .nchannels = a->channels ? a->channels : 1};
	struct fb_build_options options = {.slots = 8};
	const int ranks[] = {0, n / 3, n - 1};
	char why[FB_WHY_CHARS];

	if (!fb_algorithm_can(a, &shape, why, sizeof(why)))
		return;
	for (size_t i = 0; i < 3; i++) {
		struct fb_plan *plan = NULL;
		double before = cpu_ms();
		size_t heap = mallinfo2().uordblks;
		int err = fb_plan_build(a, &shape, ranks[i], &options, &plan);
		double took = cpu_ms() - before;

		if (!CHECK_INT(err, 0))
			return;
		heap = mallinfo2().uordblks - heap;
		if (!check_that(took < limit_ms, "built in time", __FILE__, __LINE__))
			printf("\t%s %s, rank %d of %d: %.1f ms\n",
			       fb_collective_info(a->collective)->name, a->name, ranks[i], n,
			       took);
		/* Arrays grow by doubling; 200 bytes per step and end is generous. */
		if (!check_that(heap <= 16384 + 200 * plan_steps(plan), "memory of own steps",
				__FILE__, __LINE__))
			printf("\t%s %s, rank %d of %d: %zu bytes for %lu steps and ends\n",
			       fb_collective_info(a->collective)->name, a->name, ranks[i], n,
			       heap, (unsigned long)plan_steps(plan));
		fb_plan_free(plan);
	}
}

/* Whether the algorithm's number of steps is logarithmic in the ranks. */
static bool logarithmic(const struct fb_algorithm *a)
{
	static const char *const names[] = {"recursive_doubling", "halving_doubling",
					    "recursive_halving", "bruck", "binomial", "swing",
					    "dissemination", "double_binary_tree"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(a->name, names[i]))
			return true;
	return !strcmp(a->name, "tree") && a->collective == FB_BARRIER;
}

/* Messages deep and blocks sent of an all_reduce on n ranks, by the checker's cost report. */
static void cost(const char *name, int n, uint32_t depth, double blocks)
{
	const struct fb_algorithm *a = fb_algorithm_find(FB_ALL_REDUCE, name);
	struct fb_shape shape = {.collective = FB_ALL_REDUCE, .nranks = n, .nchannels = 1};
	struct fb_check_options options = {.slots = 8, .slices = 1, .runs = 1, .alpha_us = 1};
	struct fb_check_report report;

	CHECK_INT(fb_check(a, &shape, false, &options, &report), 0);
	if (!CHECK_INT(report.depth, depth))
		printf("\tdepth of %s on %d\n", name, n);
	CHECK_NEAR((double)report.max_rank_units / (a->split ? a->split(&shape) : 1), blocks, 1e-9);
	/* With free bytes the time is the messages on the longest chain. */
	CHECK_NEAR(report.time_us, (double)depth, 1e-9);
}

int main(void)
{
	int *node_of = malloc(LARGEST * sizeof(int)), *local = malloc(LARGEST * sizeof(int));

	if (!node_of || !local) {
		free(node_of);
		free(local);
		return 1;
	}
	for (int r = 0; r < LARGEST; r++) {
		node_of[r] = r / PER_NODE;
		local[r] = r % PER_NODE;
	}
	for (int i = 0; i < fb_algorithm_count; i++) {
		struct fb_topology t = {.nranks = 1024, .nnodes = 1024 / PER_NODE,
					.node_of = node_of, .local_rank_of = local};

		build(fb_algorithms[i], &t, 1024, 50);
		t.nranks = LARGEST;
		t.nnodes = LARGEST / PER_NODE;
		if (logarithmic(fb_algorithms[i]))
			build(fb_algorithms[i], &t, LARGEST, 1000);
	}
	cost("ring", 8, 14, 2.0 * 7 / 8);
	cost("two_shot", 8, 2, 2.0 * 7 / 8);
	cost("one_shot", 8, 1, 7);
	cost("recursive_doubling", 16, 4, 4);
	cost("halving_doubling", 16, 8, 2.0 * 15 / 16);
	cost("tree", 16, 30, 2);
	free(node_of);
	free(local);
	return check_done("plan build");
}
