/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cases tests/mpi/test_host.c takes: whatever part of them is asked for, they are a fair part
 * of all, for each algorithm, protocol and number of ranks; and a run of bad ones is noticed.
 */
#include "tests/mpi/choice.h"

#include "tests/unit/check.h"

enum { PAIRS = 200, PROTOCOLS = 4 };

/* As sweep() of the test does; protocols of which the bit is not set cannot be carried out. */
static struct coverage simulate(int nranks, uint64_t every, unsigned protocols, uint64_t *least)
{
	uint32_t seed = choice_seed("rdma", nranks);
	struct coverage v = {.cases = 0};

	*least = UINT64_MAX;
	for (uint32_t pair = 0, walk = 0; pair < PAIRS; pair++) {
		bool could = pair % 11 > 1; /* about as often as with real collectives */
		int n = choice_cases(pair, seed, every, could);
		uint64_t before = v.data;

		if (!(protocols >> pair % PROTOCOLS & 1))
			continue;
		walk += n > 0;
		for (int draw = 0; draw < n; draw++) {
			struct choice c = choice_draw(walk, seed, (uint32_t)draw);

			c.in_place &= could;
			coverage_add(&v, &c, could);
		}
		*least = v.data - before < *least ? v.data - before : *least;
	}
	return v;
}

static void test_share(void)
{
	static const unsigned protocols[] = {0xf, 0xb, 0x9, 0x1};

	for (int nranks = 1; nranks <= 8; nranks++)
		for (uint64_t every = 1; every <= 100; every++)
			for (int p = 0; p < 4; p++) {
				uint64_t least;
				struct coverage v = simulate(nranks, every, protocols[p], &least);

				if (!CHECK(coverage_good(&v)))
					printf("\t%d ranks, one of %lu, protocols %x\n", nranks,
					       (unsigned long)every, protocols[p]);
				/* 9 / 4 cases at least, of which one may have no elements. */
				if (every <= 4)
					CHECK(least >= 1);
			}
}

/* All of them are all of them: each count, in place and not, once for each pair. */
static void test_whole(void)
{
	for (uint32_t pair = 0; pair < PAIRS; pair++) {
		bool seen[CHOICE_COUNTS][2] = {{false}};
		int n = choice_cases(pair, 5, 1, true);

		CHECK_INT(n, 18);
		CHECK_INT(choice_cases(pair, 5, 1, false), 9);
		for (int draw = 0; draw < n; draw++) {
			struct choice c = choice_draw(pair, 5, (uint32_t)draw);

			CHECK(!seen[c.count][c.in_place]);
			seen[c.count][c.in_place] = true;
		}
	}
}

/* Types, operations and roots come up with every count, in place and not. */
static void test_mixed(void)
{
	bool type[CHOICE_COUNTS][2][FB_DATATYPES] = {{{false}}};
	bool redop[FB_DATATYPES][FB_REDOPS] = {{false}}, root[2][8] = {{false}};
	int types = 0, redops = 0, roots = 0;

	for (uint32_t pair = 0; pair < PAIRS; pair++)
		for (uint32_t draw = 0; draw < 18; draw++) {
			struct choice c = choice_draw(pair, 5, draw);

			types += !type[c.count][c.in_place][c.type];
			redops += !redop[c.type][c.redop];
			roots += !root[c.in_place][c.root % 8];
			type[c.count][c.in_place][c.type] = true;
			redop[c.type][c.redop] = root[c.in_place][c.root % 8] = true;
		}
	CHECK_INT(types, CHOICE_PERIOD);
	CHECK_INT(redops, FB_DATATYPES * FB_REDOPS);
	CHECK_INT(roots, 16);
}

/* Every 18th case of 18: no elements at all. In place left out, or one type. And no case. */
static void test_unfair(void)
{
	struct coverage v = {.cases = 0};

	CHECK(!coverage_good(&v));
	for (int kind = 0; kind < 4; kind++) {
		memset(&v, 0, sizeof(v));
		for (uint32_t pair = 0; pair < PAIRS; pair++) {
			struct choice c = choice_draw(pair, 5, 0);

			c.count = kind == 0 ? 0 : kind == 1 && c.count == 3 ? 4 : c.count;
			c.in_place &= kind != 2;
			c.type = kind == 3 ? FB_F32 : c.type;
			coverage_add(&v, &c, true);
		}
		if (CHECK(!coverage_good(&v)))
			continue;
		printf("\tkind %d\n", kind);
	}
}

int main(void)
{
	test_share();
	test_whole();
	test_mixed();
	test_unfair();
	return check_done("choice");
}
