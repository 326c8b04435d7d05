/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thousands of calls of an engine, of many operations of different kinds, sizes and types, each
 * prepared once, in a random order and without any barrier between ranks.
 *
 * Calls come in bursts, in which an operation comes once at most: before a burst its operations get
 * new input and poison for output, behind it all of their results are checked. So a call that
 * did nothing, or did what the call before did, is seen, whichever it is.
 */
#ifndef FB_TESTS_MPI_MIXED_H
#define FB_TESTS_MPI_MIXED_H

#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/run/run.h"
#include "tests/unit/check.h"

enum { MIXED_OPERATIONS = 60, MIXED_BURST = 24, MIXED_LARGEST_LOG = 17 };

struct mixed {
	struct fb_engine *engine;
	const struct fb_group *world;
	const char *transport, *memory;
	const char *launches[2]; /* operations by turns */
	int calls;
	int skip; /* every so many calls does nothing, on all ranks; 0: all do */
	/* Memory of a rank's part, from `arg`. */
	int (*open)(struct fb_segment *segment, const void *arg, size_t bytes);
	const void *arg;
	int wrong; /* out: calls whose results are not right */
};

struct mixed_item {
	struct fb_case key;
	struct fb_operation op;
	struct fb_data data;
	struct fb_segment segment;
	struct fb_request *request;
};

/* Powers of two, and odd numbers below the next one. */
static uint64_t mixed_count(int i)
{
	uint64_t power = (uint64_t)1 << i % MIXED_LARGEST_LOG;

	return i % 2 ? power : (power + fb_mix64((uint64_t)i) % power) | 1;
}

/* Operation i, the same on all ranks; false where there is no such one. */
static bool mixed_prepare(const struct mixed *m, int i, struct mixed_item *item)
{
	static const char *const protocols[] = {"simple", "ll", "ll128", "direct"};
	static const enum fb_datatype types[] = {FB_F32, FB_F16, FB_U8, FB_BF16, FB_F32};
	const struct fb_algorithm *a = fb_algorithms[i * 7 % fb_algorithm_count];
	const struct fb_collective_info *info = fb_collective_info(a->collective);
	const struct fb_engine_ops *ops = m->engine->ops;
	char reason[FB_REASON_CHARS];

	if (a->collective == FB_BARRIER || info->unequal)
		return false;
	item->key = (struct fb_case){
		.program = "test", .operation = info->name, .engine = ops->name,
		.algorithm = a->name, .protocol = protocols[i % 4], .transport = m->transport,
		.memory = m->memory, .launch = m->launches[i % 3 == 0]};
	item->op = (struct fb_operation){
		.collective = a->collective, .datatype = types[i % 5],
		.redop = i % 3 == 1 ? FB_MAX : FB_SUM, .in_place = info->in_place && i % 4 == 2,
		.count = mixed_count(i), .segment = &item->segment};
	item->data = (struct fb_data){.type = item->op.datatype, .op = item->op.redop,
				      .nranks = m->world->nranks, .reduces = info->reduces};
	if (!ops->can(m->engine, &item->key, &item->op, reason))
		return false;
	if (!CHECK_INT(m->open(&item->segment, m->arg,
			       fb_buffers_layout(&item->op, m->world->nranks)), FB_OK))
		return false;
	if (CHECK_INT(fb_engine_prepare(m->engine, &item->key, &item->op, &item->request), FB_OK))
		return true;
	fb_segment_close(&item->segment);
	return false;
}

static int mixed_call(const struct mixed *m, struct mixed_item *item)
{
	const struct fb_engine_ops *ops = m->engine->ops;
	int err = ops->ready ? ops->ready(item->request, 1) : FB_OK;

	if (!err)
		err = ops->start(item->request);
	return err ? err : ops->wait(item->request);
}

/* Calls [first, first + n) of the run: these operations in this order. */
static int mixed_burst(struct mixed *m, struct mixed_item **items, int n, int first)
{
	int err = FB_OK, rank = m->world->rank;

	for (int i = 0; i < n && !err; i++) {
		items[i]->data.seed = (uint64_t)first + (uint64_t)i + 1;
		err = fb_buffers_prime(&items[i]->op, &items[i]->data, rank);
	}
	for (int i = 0; i < n && !err; i++)
		if (!m->skip || (first + i) % m->skip != m->skip - 1)
			err = mixed_call(m, items[i]);
	for (int i = 0; i < n && !err; i++) {
		struct fb_mismatch bad = {0};
		const struct mixed_item *item = items[i];

		err = fb_buffers_check(&item->op, &item->data, rank, 1, &bad);
		if (err == FB_EDATA)
			err = FB_OK;
		if (bad.errors && m->wrong++ == 0 && !m->skip)
			printf("\trank %d, call %d: %s %s %s %s %llu elements: element %llu is %s, "
			       "not %s\n",
			       rank, first + i, item->key.operation, item->key.algorithm,
			       item->key.protocol, fb_datatype_name(item->op.datatype),
			       (unsigned long long)item->op.count, (unsigned long long)bad.index,
			       bad.got, bad.expected);
	}
	return err;
}

/* Prepares, calls, checks, releases; m->wrong is what this rank found. Collective. */
static void mixed_run(struct mixed *m)
{
	static struct mixed_item items[MIXED_OPERATIONS];
	struct mixed_item *order[MIXED_OPERATIONS];
	struct fb_rng rng;
	int n = 0, err = FB_OK, done = 0;

	m->wrong = 0;
	for (int i = 0; i < MIXED_OPERATIONS; i++)
		n += mixed_prepare(m, i, &items[n]);
	CHECK(n >= MIXED_OPERATIONS / 3);
	for (int i = 0; i < n; i++)
		order[i] = &items[i];
	MPI_Barrier(m->world->comm);
	fb_rng_seed(&rng, 3);
	while (done < m->calls && n && !err) {
		int most = n < MIXED_BURST ? n : MIXED_BURST;
		int burst = 1 + (int)fb_rng_below(&rng, (uint64_t)most);

		burst = burst < m->calls - done ? burst : m->calls - done;
		fb_shuffle(order, (size_t)n, sizeof(*order), &rng);
		err = mixed_burst(m, order, burst, done);
		done += burst;
	}
	CHECK_INT(err, FB_OK);
	for (int i = 0; i < n; i++) {
		fb_request_release(items[i].request);
		fb_segment_close(&items[i].segment);
	}
}

#endif
