/* SPDX-License-Identifier: BSD-3-Clause */
/* Naming slow nodes: known answers, and how often noise alone names somebody. */
#include "common/base/rng.h"
#include "scripts/tools/lib/slow_nodes.h"
#include "tests/unit/check.h"

#include <math.h>

enum { NODES_MAX = 8, SETS_MAX = NODES_MAX * NODES_MAX };

/* All pairs of n nodes, and what was found in them. */
struct pairs {
	size_t n, nsets;
	size_t node[SETS_MAX][2];
	struct fb_timed_set set[SETS_MAX];
	struct fb_node_score found[NODES_MAX];
	bool slow_set[SETS_MAX];
};

/* A pair takes as long as the slower of its nodes. */
static void make_pairs(struct pairs *p, size_t n, const double slowness[])
{
	*p = (struct pairs){.n = n};
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			size_t *node = p->node[p->nsets];

			node[0] = i;
			node[1] = j;
			p->set[p->nsets++] = (struct fb_timed_set){
				.node = node,
				.count = 2,
				.time = fmax(slowness[i], slowness[j]),
			};
		}
}

static void set_time(struct pairs *p, size_t i, size_t j, double time)
{
	for (size_t k = 0; k < p->nsets; k++)
		if (p->node[k][0] == i && p->node[k][1] == j)
			p->set[k].time = time;
}

/* Bit i for each slow node i. */
static unsigned slow_nodes(struct pairs *p)
{
	unsigned bits = 0;

	fb_find_slow_nodes(p->set, p->nsets, 0.1, p->found, p->n, p->slow_set);
	for (size_t i = 0; i < p->n; i++)
		bits |= p->found[i].slow ? 1u << i : 0;
	return bits;
}

static size_t slow_sets(const struct pairs *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->nsets; i++)
		count += p->slow_set[i] ? 1 : 0;
	return count;
}

static void test_one(void)
{
	struct pairs p;

	for (size_t n = 3; n <= NODES_MAX; n++)
		for (size_t slow = 0; slow < n; slow++) {
			double slowness[NODES_MAX] = {5, 5, 5, 5, 5, 5, 5, 5};

			make_pairs(&p, n, slowness);
			CHECK_INT(slow_nodes(&p), 0);
			slowness[slow] = 10;
			make_pairs(&p, n, slowness);
			CHECK_INT(slow_nodes(&p), 1u << slow);
			CHECK_INT(slow_sets(&p), 0);
			CHECK_INT(p.found[slow].sets, n - 1);
			CHECK_NEAR(p.found[slow].score, 2, 1e-12);
			CHECK_NEAR(p.found[(slow + 1) % n].score, 1, 1e-12);
			/* Below the threshold it is nobody's business. */
			slowness[slow] = 5.4;
			make_pairs(&p, n, slowness);
			CHECK_INT(slow_nodes(&p), 0);
		}
}

static void test_several(void)
{
	struct pairs p;

	make_pairs(&p, 6, (const double[]){1, 10, 1, 2, 1, 1});
	CHECK_INT(slow_nodes(&p), 1u << 1 | 1u << 3);
	CHECK_NEAR(p.found[1].score, 10, 1e-12);
	CHECK_NEAR(p.found[3].score, 2, 1e-12);
	/* A link: neither node is slow with others. */
	make_pairs(&p, 5, (const double[]){1, 1, 1, 1, 1});
	set_time(&p, 1, 3, 4);
	CHECK_INT(slow_nodes(&p), 0);
	CHECK_INT(slow_sets(&p), 1);
	/* A node and a link; and a time that is not known. */
	make_pairs(&p, 6, (const double[]){1, 1, 1, 1, 3, 1});
	set_time(&p, 1, 3, 4);
	set_time(&p, 0, 4, (double)NAN);
	CHECK_INT(slow_nodes(&p), 1u << 4);
	CHECK_INT(slow_sets(&p), 1);
	CHECK_INT(p.found[4].sets, 4);
	CHECK_INT(p.found[0].sets, 4);
}

/*
 * How sure one can be, by U = n m of Mann-Whitney's test: z = (n m / 2 - 0.5) /
 * sqrt(n m (n + m + 1) / 12) is 1.7457 for 3 sets of 6 and 2.8023 for 6 of 12.
 */
static void test_chance(void)
{
	struct pairs p;
	size_t nsets;

	make_pairs(&p, 4, (const double[]){1, 1.01, 9, 1.02});
	CHECK_INT(slow_nodes(&p), 1u << 2);
	CHECK_NEAR(p.found[2].chance, 4 * 0.040430, 1e-5);
	CHECK(p.found[2].chance > FB_SLOW_NODE_SURE);
	/* A second lap. */
	nsets = p.nsets;
	memcpy(p.set + nsets, p.set, nsets * sizeof(*p.set));
	p.nsets += nsets;
	CHECK_INT(slow_nodes(&p), 1u << 2);
	CHECK_NEAR(p.found[2].chance, 4 * 0.0025371, 1e-5);
	CHECK(p.found[2].chance <= FB_SLOW_NODE_SURE);
	make_pairs(&p, 8, (const double[]){1, 1, 9, 1, 1, 1, 1, 1});
	CHECK_INT(slow_nodes(&p), 1u << 2);
	CHECK(p.found[2].chance < 1e-3);
}

/* Two nodes are left when the third has gone; 20% between them is nothing, 60% is. */
static void test_few(void)
{
	struct pairs p;

	make_pairs(&p, 4, (const double[]){1, 1.2, 100, 1});
	CHECK_INT(slow_nodes(&p), 1u << 2);
	make_pairs(&p, 4, (const double[]){1, 1.6, 100, 1});
	CHECK_INT(slow_nodes(&p), 1u << 1 | 1u << 2);
}

/* Too little to judge by: nobody is named, and the score says so. */
static void test_little(void)
{
	struct pairs p;

	make_pairs(&p, 2, (const double[]){1, 10});
	CHECK_INT(slow_nodes(&p), 0);
	CHECK(isnan(p.found[0].score));
	make_pairs(&p, 4, (const double[]){1, 1, 1, 10});
	set_time(&p, 0, 3, (double)NAN);
	set_time(&p, 1, 3, (double)NAN);
	CHECK_INT(slow_nodes(&p), 0);
	CHECK_INT(p.found[3].sets, 1);
	CHECK(isnan(p.found[3].score));
	CHECK_INT(slow_sets(&p), 1);
	/* A set of all nodes names nobody. */
	p.set[0].node = (const size_t[]){0, 1, 2, 3};
	p.set[0].count = 4;
	p.set[0].time = 100;
	CHECK_INT(slow_nodes(&p), 0);
	CHECK(!p.slow_set[0]);
	CHECK_INT(p.found[0].sets, 1);
	p.nsets = 0;
	CHECK_INT(slow_nodes(&p), 0);
	CHECK(isnan(p.found[0].score));
}

/* Pairs that differ by 5% of noise: who is 50% slower is named, and hardly ever anybody else. */
static void test_noise(void)
{
	enum { TRIES = 1000 };
	int named = 0, false_alarms = 0;
	struct fb_rng rng;
	struct pairs p;

	fb_rng_seed(&rng, 7);
	for (int try = 0; try < TRIES; try++) {
		double slowness[NODES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};

		if (try % 2)
			slowness[5] = 1.5;
		make_pairs(&p, NODES_MAX, slowness);
		for (size_t i = 0; i < p.nsets; i++) {
			double sum = 0;

			for (int k = 0; k < 12; k++)
				sum += fb_rng_unit(&rng);
			p.set[i].time *= 1 + 0.05 * (sum - 6);
		}
		if (try % 2)
			named += slow_nodes(&p) == 1u << 5 ? 1 : 0;
		else
			false_alarms += slow_nodes(&p) ? 1 : 0;
	}
	printf("named %d of %d, false alarms %d of %d\n", named, TRIES / 2, false_alarms,
	       TRIES / 2);
	CHECK(named >= TRIES / 2 * 95 / 100);
	CHECK(false_alarms <= TRIES / 2 / 100);
}

int main(void)
{
	test_one();
	test_several();
	test_chance();
	test_few();
	test_little();
	test_noise();
	return check_done("test_slow_nodes");
}
