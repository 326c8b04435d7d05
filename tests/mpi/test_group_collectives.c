/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on parts of the ranks: four ranks as rows and columns of a square, all groups at the
 * same time, by engines host and mpi, over each transport that runs here, on one node and on two
 * pretended ones. Every element is checked; the groups' data differ, so that a message that crosses
 * from one group to another is seen.
 * ranks: 4
 * timeout: 240
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/api.h"
#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/transport/rdma.h"
#include "common/transport/tcp.h"
#include "tests/unit/check.h"

enum { SIDE = 2, LINES = 2, CALLS = 20, MOST_PART = 1 << 20 };

/* A row or a column of the square, and what this rank does in it. */
struct line {
	struct fb_group group;
	struct fb_collectives collectives;
	struct fb_segment segment;
	struct fb_operation op;
	struct fb_data data;
	struct fb_call *call;
};

struct bench {
	struct fb_group world;
	struct fb_settings settings;
	struct fb_session session;
	struct line line[LINES];
	int ran; /* combinations of key and operation */
};

static const enum fb_collective operations[] = {FB_ALL_REDUCE, FB_ALL_GATHER, FB_REDUCE_SCATTER};

/* Rows are 0 1 and 2 3, columns 0 2 and 1 3; the data of each are its own. */
static int open_line(struct bench *b, int which, const char *engine)
{
	struct line *l = &b->line[which];
	int at[LINES] = {b->world.rank / SIDE, b->world.rank % SIDE};

	if (!CHECK_INT(fb_group_split(&b->world, at[which], &l->group), FB_OK))
		return FB_ESYS;
	l->data = (struct fb_data){.seed = 100 + (uint64_t)(which * SIDE + at[which]),
				   .type = FB_I32, .op = FB_SUM, .nranks = l->group.nranks};
	CHECK_INT(fb_segment_open(&l->segment, &l->group, MOST_PART, FB_PAGES_NORMAL), FB_OK);
	return fb_collectives_open(&l->collectives, &b->session, &l->group, engine);
}

static void close_line(struct line *l)
{
	fb_collectives_close(&l->collectives);
	fb_segment_close(&l->segment);
	fb_group_close(&l->group);
}

/* Whether the line's call can be made; prepares it then. */
static bool prepare(struct line *l, const struct fb_case *key, enum fb_collective what,
		    uint64_t count)
{
	char reason[FB_REASON_CHARS];

	l->op = (struct fb_operation){.collective = what, .datatype = FB_I32, .redop = FB_SUM,
				      .count = count, .segment = &l->segment};
	l->data.reduces = fb_collective_info(what)->reduces;
	CHECK(fb_buffers_layout(&l->op, l->group.nranks) <= MOST_PART);
	if (!fb_collectives_can(&l->collectives, key, &l->op, reason))
		return false;
	return CHECK_INT(fb_call_prepare(&l->collectives, key, &l->op, &l->call), FB_OK);
}

/* Both calls of this rank are under way at once, and moved on by turns. */
static void call_both(struct bench *b)
{
	struct fb_spin spin = {.yields = b->world.oversubscribed};
	bool done[LINES] = {false, false};

	for (int i = 0; i < LINES; i++)
		CHECK_INT(fb_call_start(b->line[i].call), FB_OK);
	while (!done[0] || !done[1]) {
		for (int i = 0; i < LINES; i++)
			if (!done[i])
				CHECK_INT(fb_call_test(b->line[i].call, &done[i]), FB_OK);
		(void)fb_spin_again(&spin);
	}
}

/* A line's result is its own, and would be wrong for any other line. */
static void check(const struct line *l)
{
	struct fb_mismatch bad = {0}, other = {0};
	struct fb_data data = l->data;

	CHECK_INT(fb_buffers_check(&l->op, &l->data, l->group.rank, 1, &bad), FB_OK);
	CHECK_INT((int)bad.errors, 0);
	data.seed ^= 1;
	CHECK_INT(fb_buffers_check(&l->op, &data, l->group.rank, 1, &other), FB_OK);
	CHECK(other.errors > 0);
}

static void test_operation(struct bench *b, const struct fb_case *key, enum fb_collective what,
			   uint64_t count)
{
	bool can[LINES];

	for (int i = 0; i < LINES; i++)
		can[i] = prepare(&b->line[i], key, what, count);
	if (can[0] && can[1]) {
		for (int n = 0; n < CALLS; n++) {
			for (int i = 0; i < LINES; i++)
				fb_buffers_prime(&b->line[i].op, &b->line[i].data,
						 b->line[i].group.rank);
			MPI_Barrier(b->world.comm);
			call_both(b);
			for (int i = 0; i < LINES; i++)
				check(&b->line[i]);
			MPI_Barrier(b->world.comm);
		}
		b->ran++;
	}
	for (int i = 0; i < LINES; i++) {
		fb_call_release(b->line[i].call);
		b->line[i].call = NULL;
	}
}

/* All operations by an engine over a transport. Returns how many ran. */
static int test_engine(struct bench *b, const char *engine, const char *transport)
{
	static const uint64_t counts[] = {1, 1003, 40000};
	struct fb_case key = {
		.operation = "-", .engine = engine, .transport = transport, .memory = "host",
		.registration = "registered", .launch = "nonblocking", .redop = FB_SUM, .root = -1,
		.algorithm = strcmp(engine, "mpi") ? "auto" : "library",
		.protocol = strcmp(engine, "mpi") ? "simple" : "library", .datatype = FB_I32,
	};
	int before = b->ran, err = FB_OK;

	for (int i = 0; i < LINES; i++)
		err = err ? err : open_line(b, i, engine);
	if (CHECK_INT(err, FB_OK))
		for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++)
			for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
				key.bytes = counts[c] * sizeof(int32_t);
				test_operation(b, &key, operations[o], counts[c]);
			}
	for (int i = 0; i < LINES; i++)
		close_line(&b->line[i]);
	return b->ran - before;
}

/* What there is to run on so many nodes; rdma runs where there is a device. */
static void test_nodes(struct bench *b, int nodes)
{
	const int all = 3 * 3;

	CHECK_INT(fb_group_pretend_nodes(&b->world, nodes), FB_OK);
	CHECK_INT(test_engine(b, "mpi", "library"), all);
	CHECK_INT(test_engine(b, "host", "tcp"), all);
	CHECK_INT(test_engine(b, "host", "shm"), nodes == 1 ? all : 0);
	(void)test_engine(b, "host", "rdma");
}

int main(int argc, char **argv)
{
	struct bench b = {.settings = {
		.slots = 8, .timeout_s = 60, .transport = "shm,tcp,rdma", .tuning = "none",
		.tcp = fb_tcp_defaults, .rdma = fb_rdma_defaults,
	}};
	int failures, rank;

	if (fb_group_open(&b.world, &argc, &argv))
		return 1;
	rank = b.world.rank;
	b.session = (struct fb_session){.program = "test", .world = &b.world,
					.settings = &b.settings};
	if (CHECK_INT(fb_session_open(&b.session), FB_OK)) {
		test_nodes(&b, 1);
		test_nodes(&b, 2);
	}
	fb_session_close(&b.session);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, b.world.comm);
	fb_group_close(&b.world);
	check_failures = failures;
	return rank == 0 ? check_done("group_collectives") : failures != 0;
}
