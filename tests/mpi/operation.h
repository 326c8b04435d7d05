/* SPDX-License-Identifier: BSD-3-Clause */
/* An operation whose time and whose mistakes are known, as a program for fb_measure. */
#ifndef FB_TESTS_MPI_OPERATION_H
#define FB_TESTS_MPI_OPERATION_H

#include "common/base/error.h"
#include "common/run/measure.h"
#include "tests/unit/check.h"

struct operation {
	const struct fb_clock *clock;
	double call_s;				/* what a call takes on this rank */
	int rank, wrong_rank, wrong_from_prime; /* -1: never */
	int primes, calls, last_calls, batches;
	int clears, readies; /* cold: each repetition has one of both, in this order */
};

static int prime(void *instance)
{
	struct operation *op = instance;

	op->primes++;
	return FB_OK;
}

static int run(void *instance, int calls)
{
	struct operation *op = instance;
	double end = fb_clock_now(op->clock) + op->call_s * calls;

	op->calls += calls;
	op->batches++;
	op->last_calls = calls;
	while (fb_clock_now(op->clock) < end)
		;
	return FB_OK;
}

static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	struct operation *op = instance;

	CHECK_INT(calls, op->last_calls);
	if (op->rank != op->wrong_rank || op->wrong_from_prime < 0 ||
	    op->primes < op->wrong_from_prime)
		return FB_OK;
	*bad = (struct fb_mismatch){.errors = 3, .index = 17, .got = "1", .expected = "2"};
	return FB_OK;
}

static const struct fb_program program = {
	.name = "measure", .prime = prime, .run = run, .check = check};

static struct operation op_of(const struct fb_meter *m, double call_s)
{
	return (struct operation){.clock = m->clock,
				  .call_s = call_s,
				  .rank = m->world->rank,
				  .wrong_rank = -1,
				  .wrong_from_prime = -1};
}

#endif
