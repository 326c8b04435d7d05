/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 3
 * timeout: 120
 *
 * The training step with engines host and mpi: every schedule, buckets of one and of several
 * tensors, several steps back to back, all data right; the parts alone are measured between steps
 * and leave nothing wrong behind; and steps that are wrong in one thing are caught: a bucket that
 * is reduced before its gradients are there, one that is not reduced, a tensor that is forgotten.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/run/run.h"
#include "overlap/program.h"
#include "tests/unit/check.h"

enum { MOST_BUCKETS = 9 };

struct bench {
	struct fb_run run;
	struct fb_program program;
	struct fb_ddp_settings own;
	struct fb_column columns[FB_DDP_COLUMNS];
	void *state;
};

/* As the options' defaults. */
static const struct fb_settings settings = {
	.bytes = "24,70004", .engine = "host,mpi", .algorithm = "ring",
	.protocol = "simple,direct", .transport = "shm", .memory = "host", .datatype = "i32",
	.redop = "sum", .root = "0", .in_place = "no", .cadence = "isolated",
	.launch = "nonblocking", .slots = 8, .timeout_s = 100, .seed = 7,
	.nccl_force = "library", .registration = "none", .copy_direction = "push",
	.tcp = {.congestion = "auto", .interface = "auto"},
};

/* Errors of all ranks after a check on all of them. */
static uint64_t errors_of(const struct bench *b, void *instance, int calls)
{
	struct fb_mismatch bad = {0};
	uint64_t errors;

	CHECK_INT(b->program.check(instance, calls, &bad), FB_OK);
	errors = bad.errors;
	MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_UINT64_T, MPI_SUM, b->run.world.comm);
	return errors;
}

static uint64_t run_fresh(const struct bench *b, void *instance, int calls)
{
	CHECK_INT(b->program.prime(instance), FB_OK);
	CHECK_INT(b->program.ready(instance, calls), FB_OK);
	MPI_Barrier(b->run.world.comm);
	CHECK_INT(b->program.run(instance, calls), FB_OK);
	CHECK_INT(b->program.settle(instance), FB_OK);
	return errors_of(b, instance, calls);
}

/* All buckets begin when the first tensor is computed. Libraries may read what they send late. */
static void check_early(const struct bench *b, struct fb_ddp_instance *i)
{
	struct fb_gradients *g = &i->gradients;
	size_t last[MOST_BUCKETS] = {0};

	if (i->schedule != FB_OVERLAP || g->ntensors < 2 || b->run.world.nranks < 2 ||
	    strcmp(i->key->engine, "host") || !CHECK(g->nbuckets <= MOST_BUCKETS))
		return;
	for (size_t k = 0; k < g->nbuckets; k++) {
		last[k] = g->buckets[k].last;
		g->buckets[k].last = 0;
	}
	CHECK(run_fresh(b, i, 1) > 0);
	for (size_t k = 0; k < g->nbuckets; k++)
		g->buckets[k].last = last[k];
	CHECK_INT(run_fresh(b, i, 1), 0);
}

/* The last bucket is not reduced, or the last tensor's gradient stays where it is. */
static void check_forgotten(const struct bench *b, struct fb_ddp_instance *i)
{
	struct fb_gradients *g = &i->gradients;

	if (fb_schedule_communicates(i->schedule) && b->run.world.nranks > 1) {
		g->nbuckets--;
		CHECK(run_fresh(b, i, 1) > 0);
		g->nbuckets++;
	}
	if (fb_schedule_computes(i->schedule)) {
		g->ntensors--;
		CHECK(run_fresh(b, i, 1) > 0);
		g->ntensors++;
	}
}

/* By turns, and not behind a step that is to be checked; what they leave is the next step's. */
static void check_parts(const struct bench *b, struct fb_ddp_instance *i)
{
	bool both = i->schedule == FB_SEQUENTIAL || i->schedule == FB_OVERLAP;
	struct fb_traits traits = {.operations = 0};
	const double samples[] = {3e6, 1e6, 2e6};

	CHECK_INT(i->baseline[FB_COMPUTE].n + i->baseline[FB_COMMUNICATE].n, 0);
	for (int turn = 0; turn < 5; turn++)
		CHECK_INT(b->program.settle(i), FB_OK);
	CHECK_INT(i->baseline[FB_COMPUTE].n, both ? 3 : 0);
	CHECK_INT(i->baseline[FB_COMMUNICATE].n, both ? 2 : 0);
	CHECK_INT(run_fresh(b, i, 1), 0);
	b->program.describe(i, &traits);
	CHECK(i->schedule == FB_COMPUTE || b->run.world.nranks == 1 || traits.path[0] != '\0');
	CHECK_INT(traits.extra[FB_BUCKETS],
		  i->schedule == FB_COMPUTE ? 0 : i->gradients.nbuckets);
	b->program.summarise(i, samples, 3, &traits);
	if (both) {
		CHECK(traits.extra[FB_COMPUTE_US] > 0 && traits.extra[FB_COMMUNICATION_US] >= 0);
		CHECK(fabs(traits.extra[FB_EXPOSED_US] + traits.extra[FB_COMPUTE_US] - 2e6) < 1);
		CHECK(traits.bound_us >= traits.extra[FB_COMPUTE_US]);
	} else if (i->schedule == FB_COMPUTE) {
		CHECK(fabs(traits.extra[FB_COMPUTE_US] - 2e6) < 1);
	}
}

static void test_case(const struct bench *b, const struct fb_case *c)
{
	struct fb_ddp_instance *i;
	void *instance;

	if (!CHECK_INT(b->program.setup(b->state, c, &instance), FB_OK))
		return;
	i = instance;
	CHECK_INT(run_fresh(b, i, 1), 0);
	for (int calls = 2; i->schedule != FB_COMMUNICATE && calls < 4; calls++)
		CHECK_INT(run_fresh(b, i, calls), 0);
	check_parts(b, i);
	if (!strcmp(c->protocol, "direct"))
		goto tear_down; /* who reads when is not known there */
	check_forgotten(b, i);
	check_early(b, i);
tear_down:
	b->program.teardown(i);
}

/* Returns how many cases of each schedule ran. */
static void test_program(struct bench *b, int tried[FB_SCHEDULES])
{
	char reason[FB_REASON_CHARS], why[100];

	if (!CHECK_INT(fb_sizes_parse("1,2K,0", &b->own.bucket, why, sizeof(why)), FB_OK))
		return;
	b->program = fb_ddp_describe(&b->own, b->columns);
	b->run.program = &b->program;
	if (!CHECK_INT(fb_run_open_session(&b->run), FB_OK) ||
	    !CHECK_INT(b->program.open(&b->run, &b->state), FB_OK))
		return;
	CHECK_INT(b->program.expand(&b->run, b->state), FB_OK);
	for (size_t k = 0; k < b->run.count; k++) {
		const struct fb_case *c = &b->run.cases[k];

		reason[0] = '\0';
		if (!b->program.can(b->state, c, reason)) {
			CHECK(reason[0] != '\0');
			continue;
		}
		CHECK(strcmp(c->launch, "blocking") || strcmp(c->operation, "overlap"));
		test_case(b, c);
		for (int s = 0; s < FB_SCHEDULES; s++)
			tried[s] += !strcmp(c->operation, fb_schedules[s]);
	}
	b->program.close(b->state);
	fb_session_close(&b->run.session);
	fb_run_free(&b->run);
	b->run = (struct fb_run){.world = b->run.world, .settings = b->run.settings,
				 .clock = b->run.clock, .barrier = b->run.barrier};
}

int main(int argc, char **argv)
{
	struct bench b = {
		.run = {.settings = settings},
		.own = {.schedules = ~UINT64_C(0), .layers = 3, .hidden = 64, .tokens = 2,
			.polls = 2, .tensors = "1,3,2", .compute_s = 1e-3, .cublas = "none"},
	};
	int tried[FB_SCHEDULES] = {0}, failures, rank;

	if (fb_group_open(&b.run.world, &argc, &argv) || fb_group_pretend_nodes(&b.run.world, 0) ||
	    fb_clock_open(&b.run.clock) || fb_barrier_open(&b.run.barrier, &b.run.world, false))
		return 1;
	test_program(&b, tried);
	/* Buckets times engines and their algorithms and protocols, times sizes and types. */
	CHECK(tried[FB_COMPUTE] > 0 && tried[FB_COMMUNICATE] >= 2 * tried[FB_COMPUTE]);
	CHECK(tried[FB_OVERLAP] > 0);
	/* Found by trying where --tokens is not given; with calls that block no case overlaps. */
	b.own.tokens = 0;
	b.run.settings.bytes = "30000";
	b.run.settings.launch = "blocking";
	test_program(&b, tried);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, b.run.world.comm);
	rank = b.run.world.rank;
	fb_barrier_close(&b.run.barrier);
	fb_group_close(&b.run.world);
	/* Every rank prints its own failures; the line at the end is rank 0's, for all. */
	check_failures = failures;
	return rank == 0 ? check_done("ddp") : failures != 0;
}
