/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that the NCCL engine makes, given to a library that writes them down. What a call
 * that moves data means, by NCCL's manual, is then done here for all ranks, and every element is
 * checked as after a real run. Of reductions the arguments are checked.
 */
#include "collectives/engine/nccl/calls.h"
#include "common/base/error.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_nccl.h"
#include "tests/unit/world_in_one.h"

struct job {
	struct fb_nccl nccl;
	struct fake_calls *fake;
	struct world_in_one world;
	fb_nccl_comm comm[WORLD_MOST];
};

static size_t size_of(const struct fake_call *c)
{
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return sizes[c->type];
}

static void move(void *to, const void *from, size_t bytes)
{
	if (to != from)
		memmove(to, from, bytes);
}

/* The i-th call of a name by a rank; NULL where there are fewer. */
static const struct fake_call *find(const struct job *job, const char *name, int rank, int other,
				    int i)
{
	for (int k = 0; k < job->fake->count; k++) {
		const struct fake_call *c = &job->fake->call[k];

		if (!strcmp(c->name, name) && c->rank == rank &&
		    (other < 0 || c->other == other) && i-- == 0)
			return c;
	}
	return NULL;
}

/* Each receive gets what the matching send has; all of both must match. */
static void do_sends(const struct job *job)
{
	int sends = 0, receives = 0, seen[WORLD_MOST][WORLD_MOST] = {{0}};

	for (int k = 0; k < job->fake->count; k++) {
		const struct fake_call *r = &job->fake->call[k], *s;

		sends += !strcmp(r->name, "Send");
		if (strcmp(r->name, "Recv"))
			continue;
		receives++;
		CHECK_INT(r->group, 1);
		s = find(job, "Send", r->other, r->rank, seen[r->other][r->rank]++);
		if (!CHECK(s != NULL))
			continue;
		CHECK_INT(s->group, 1);
		CHECK_INT(s->count, r->count);
		CHECK_INT(s->type, r->type);
		move(r->out, s->in, r->count * size_of(r));
	}
	CHECK_INT(sends, receives);
}

/* Functions that move blocks: rank `from`'s for rank `to`, as the manual has it. */
static void do_block(const struct job *job, const char *name, int from, int to)
{
	const struct fake_call *s = find(job, name, from, -1, 0), *d = find(job, name, to, -1, 0);
	size_t bytes;

	if (!CHECK(s && d))
		return;
	bytes = d->count * size_of(d);
	if (!strcmp(name, "AllGather") || (!strcmp(name, "Gather") && to == d->other))
		move((char *)d->out + (size_t)from * bytes, s->in, bytes);
	if (!strcmp(name, "AlltoAll"))
		move((char *)d->out + (size_t)from * bytes,
		     (const char *)s->in + (size_t)to * bytes, bytes);
	if (!strcmp(name, "Scatter") && from == s->other)
		move(d->out, (const char *)s->in + (size_t)to * bytes, bytes);
}

/* One broadcast of each root, or of some. */
static void do_broadcasts(const struct job *job)
{
	int n = job->world.nranks;

	for (int k = 0; k < n * n; k++) {
		const struct fake_call *s = find(job, "Broadcast", k / n, k / n, 0);
		const struct fake_call *d = find(job, "Broadcast", k % n, k / n, 0);

		CHECK_INT(s != NULL, d != NULL);
		if (!s || !d)
			continue;
		CHECK_INT(d->count, s->count);
		CHECK_INT(d->group, job->world.op.collective == FB_ALL_GATHER_V);
		move(d->out, s->in, d->count * size_of(d));
	}
}

static void do_functions(const struct job *job)
{
	static const char *const names[] = {"AllGather", "AlltoAll", "Gather", "Scatter"};
	int n = job->world.nranks;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int k = 0; k < n * n && find(job, names[i], 0, -1, 0); k++)
			do_block(job, names[i], k / n, k % n);
}

/* A call of every rank, and what has come of it. */
static void run(struct job *job, bool grouped)
{
	const struct fb_data data = world_data(&job->world, 5);
	int n = job->world.nranks, stream;

	job->fake->count = 0;
	for (int r = 0; r < n; r++)
		CHECK_INT(fb_buffers_prime(&job->world.op, &data, r), 0);
	for (int r = 0; r < n; r++) {
		struct fb_nccl_call call;

		CHECK_INT(fb_nccl_call_open(&call, &job->nccl, &job->world.op, r, n, grouped), 0);
		call.comm = job->comm[r];
		CHECK_INT(fb_nccl_call_enqueue(&call, &stream), 0);
		fb_nccl_call_close(&call);
	}
	CHECK_INT(job->fake->depth, 0);
	for (int k = 0; k < job->fake->count; k++)
		CHECK(job->fake->call[k].stream == &stream);
	do_sends(job);
	do_functions(job);
	do_broadcasts(job);
	for (int r = 0; r < n; r++) {
		struct fb_mismatch bad = {0};

		CHECK_INT(fb_buffers_check(&job->world.op, &data, r, 1, &bad), 0);
		if (!CHECK_INT(bad.errors, 0))
			printf("\t%s of %d ranks, rank %d: [%llu] is %s, not %s\n",
			       fb_collective_info(job->world.op.collective)->name, n, r,
			       (unsigned long long)bad.index, bad.got, bad.expected);
	}
}

static void open_comms(struct job *job)
{
	struct fb_nccl_id id;

	CHECK_INT(job->nccl.GetUniqueId(&id), 0);
	for (int r = 0; r < WORLD_MOST; r++)
		CHECK_INT(job->nccl.CommInitRank(&job->comm[r], WORLD_MOST, id, r), 0);
}

/* Every collective that moves, by functions and by sends and receives. */
static void test_moves(struct job *job)
{
	static const enum fb_collective moving[] = {
		FB_ALL_GATHER, FB_BROADCAST, FB_ALL_TO_ALL, FB_ALL_TO_ALL_V, FB_GATHER,
		FB_SCATTER, FB_SEND_RECV, FB_ALL_GATHER_V};

	for (int k = 0; k < 8 * 5 * 4; k++) {
		const struct fb_operation op = {
			.collective = moving[k / 20], .datatype = k % 2 ? FB_F32 : FB_U8,
			.root = k / 4 % 5 / 2, .in_place = k / 2 % 2, .count = 11,
		};
		char why[FB_REASON_CHARS];
		bool grouped = k % 2;

		if (!fb_nccl_call_can(&job->nccl, &op, grouped, why, sizeof(why)))
			continue;
		if (!CHECK_INT(world_open(&job->world, k / 4 % 5 + 1, op), 0))
			return;
		run(job, grouped);
		world_close(&job->world);
	}
}

static void test_reductions(struct job *job)
{
	static const struct {
		enum fb_collective collective;
		const char *name;
	} table[] = {{FB_ALL_REDUCE, "AllReduce"}, {FB_REDUCE, "Reduce"},
		     {FB_REDUCE_SCATTER, "ReduceScatter"}};

	for (size_t i = 0; i < 3 * FB_REDOPS * 2; i++) {
		const struct fb_operation op = {
			.collective = table[i % 3].collective, .datatype = FB_BF16,
			.redop = (enum fb_redop)(i / 6), .root = 1, .in_place = i / 3 % 2,
			.count = 9,
		};
		struct fb_nccl_call call;
		const struct fake_call *c = &job->fake->call[0];

		if (!CHECK_INT(world_open(&job->world, 3, op), 0))
			return;
		job->fake->count = 0;
		CHECK_INT(fb_nccl_call_open(&call, &job->nccl, &job->world.op, 2, 3, false), 0);
		call.comm = job->comm[2];
		CHECK_INT(fb_nccl_call_enqueue(&call, NULL), 0);
		fb_nccl_call_close(&call);
		CHECK_INT(job->fake->count, 1);
		CHECK_STR(c->name, table[i % 3].name);
		CHECK(c->in == fb_operation_in(&job->world.op, 2));
		CHECK(c->out == fb_operation_out(&job->world.op, 2));
		CHECK_INT(c->count, 9);
		CHECK_INT(c->type, 9);
		CHECK_INT(c->op, fb_nccl_op(op.redop));
		CHECK_INT(c->other, op.collective == FB_REDUCE ? 1 : -1);
		/* NCCL knows reduce_scatter in place by this address. */
		if (op.in_place && op.collective == FB_REDUCE_SCATTER)
			CHECK((char *)c->out - (const char *)c->in == 2 * 9 * 2);
		world_close(&job->world);
	}
}

/* Of reduce_scatter_v: a reduction of each block that is not empty, to its rank, in one group. */
static void test_reductions_of_blocks(struct job *job)
{
	const struct fb_operation op = {.collective = FB_REDUCE_SCATTER_V, .datatype = FB_F32,
					.redop = FB_MAX};
	int calls = 0, n = 4;
	struct fb_nccl_call call;

	if (!CHECK_INT(world_open(&job->world, n, op), 0))
		return;
	job->fake->count = 0;
	CHECK_INT(fb_nccl_call_open(&call, &job->nccl, &job->world.op, 2, n, false), 0);
	call.comm = job->comm[2];
	CHECK_INT(fb_nccl_call_enqueue(&call, NULL), 0);
	fb_nccl_call_close(&call);
	for (int root = 0; root < n; root++) {
		const struct fake_call *c = find(job, "Reduce", 2, root, 0);

		CHECK_INT(c != NULL, job->world.elements[root] > 0);
		if (!c)
			continue;
		calls++;
		CHECK_INT(c->group, 1);
		CHECK_INT(c->count, job->world.elements[root]);
		CHECK_INT(c->op, fb_nccl_op(FB_MAX));
		CHECK(c->out == fb_operation_out(&job->world.op, 2));
		CHECK_INT((const char *)c->in - (char *)fb_operation_in(&job->world.op, 2),
			  4 * fb_buffers_first(&job->world.op, false, 2, root));
	}
	CHECK_INT(job->fake->count, calls);
	world_close(&job->world);
}

/* What an older version lacks is done by sends and receives, what it cannot do is said. */
static void test_old(struct job *job)
{
	const struct fb_operation op = {.collective = FB_ALL_TO_ALL, .datatype = FB_F32,
					.count = 3};
	struct fb_operation other = op;
	char why[FB_REASON_CHARS], path[PATH_MAX];

	CHECK_STR(fb_nccl_call_name(&job->nccl, &op, false), "AlltoAll");
	CHECK_STR(fb_nccl_call_name(&job->nccl, &op, true), "Send and ncclRecv");
	if (!CHECK_INT(fb_nccl_open(&job->nccl, beside_program("libfake_nccl_2_18.so", path), why,
				    sizeof(why)), 0))
		return;
	job->fake = fake_calls_of(&job->nccl);
	open_comms(job);
	CHECK_STR(fb_nccl_call_name(&job->nccl, &op, false), "Send and ncclRecv");
	if (CHECK_INT(world_open(&job->world, 4, op), 0)) {
		run(job, false);
		world_close(&job->world);
	}
	other.datatype = FB_F8E5M2;
	CHECK(!fb_nccl_call_can(&job->nccl, &other, false, why, sizeof(why)));
	CHECK_STR(why, "NCCL 2.18.5 has no type f8e5m2");
	other = op;
	other.in_place = true;
	CHECK(!fb_nccl_call_can(&job->nccl, &other, false, why, sizeof(why)));
	CHECK_STR(why, "NCCL has no all_to_all in place");
	for (int r = 0; r < WORLD_MOST; r++)
		job->nccl.CommDestroy(job->comm[r]);
}

/* Each function with a configuration gets what the function without gets, and the configuration. */
static void test_configured(struct job *job)
{
	static const enum fb_collective all[] = {
		FB_ALL_REDUCE, FB_ALL_GATHER, FB_REDUCE_SCATTER, FB_BROADCAST, FB_REDUCE,
		FB_ALL_TO_ALL, FB_GATHER, FB_SCATTER};
	static const int clusters[] = {0, 1, 2, 4, 8};
	const struct fb_nccl_algo_proto choice = {"tree", "library"};
	struct fb_operation op = {.datatype = FB_F32, .redop = FB_MAX, .root = 1, .count = 9};
	const struct fake_call *c = &job->fake->call[0];
	char why[FB_REASON_CHARS];

	for (size_t i = 0; i < 2 * sizeof(all) / sizeof(all[0]); i++) {
		struct fb_nccl_call call;
		struct fake_call plain;

		op.collective = all[i / 2];
		CHECK(fb_nccl_call_can_configure(&job->nccl, &op, false, why, sizeof(why)));
		if (!CHECK_INT(world_open(&job->world, 3, op), 0))
			return;
		CHECK_INT(fb_nccl_call_open(&call, &job->nccl, &job->world.op, 2, 3, false), 0);
		call.comm = job->comm[2];
		job->fake->count = job->fake->configured = 0;
		CHECK_INT(fb_nccl_call_enqueue(&call, &call), 0);
		CHECK_INT(job->fake->configured, 0);
		plain = *c;
		job->world.op.ctas = (struct fb_nccl_ctas){.max = i % 3 ? 5 : 0, .policy = 2,
							   .cluster = 1 + (int)i % 5};
		fb_nccl_call_configure(&call, &choice, i % 2 ? 3 : 0);
		job->fake->count = 0;
		CHECK_INT(fb_nccl_call_enqueue(&call, &call), 0);
		CHECK_INT(job->fake->configured, 1);
		CHECK_STR(job->fake->selection, "TREE_SIMPLE,TREE_LL,TREE_LL128");
		CHECK_INT(job->fake->call_min_ctas, i % 2 ? 3 : FB_NCCL_UNDEFINED_INT);
		CHECK_INT(job->fake->call_max_ctas, i % 3 ? 5 : i % 2 ? 3 : FB_NCCL_UNDEFINED_INT);
		CHECK_INT(job->fake->call_cta_policy, 1);
		CHECK_INT(job->fake->call_cluster, clusters[i % 5]);
		CHECK_STR(c->name, plain.name);
		CHECK(c->in == plain.in && c->out == plain.out && c->stream == plain.stream);
		CHECK(c->count == plain.count && c->type == plain.type);
		CHECK(c->op == plain.op && c->other == plain.other && c->rank == plain.rank);
		fb_nccl_call_close(&call);
		world_close(&job->world);
	}
	op.collective = FB_ALL_TO_ALL;
	CHECK(!fb_nccl_call_can_configure(&job->nccl, &op, true, why, sizeof(why)));
	CHECK_STR(why, "NCCL's sends and receives take no configuration of a call");
}

static void test_new(struct job *job)
{
	const struct fb_operation op = {.collective = FB_ALL_REDUCE, .datatype = FB_F32};
	char why[FB_REASON_CHARS], path[PATH_MAX];

	CHECK(!fb_nccl_call_can_configure(&job->nccl, &op, false, why, sizeof(why)));
	CHECK_STR(why, "NCCL 2.18.5 has no configurations of calls (2.31 has)");
	if (!CHECK_INT(fb_nccl_open(&job->nccl, beside_program("libfake_nccl_2_31.so", path), why,
				    sizeof(why)), 0))
		return;
	job->fake = fake_calls_of(&job->nccl);
	open_comms(job);
	test_configured(job);
	for (int r = 0; r < WORLD_MOST; r++)
		job->nccl.CommDestroy(job->comm[r]);
}

static void test_failure(struct job *job)
{
	const struct fb_operation op = {.collective = FB_ALL_REDUCE, .datatype = FB_F32,
					.count = 3};
	struct fb_nccl_call call;

	if (!CHECK_INT(world_open(&job->world, 2, op), 0))
		return;
	CHECK_INT(fb_nccl_call_open(&call, &job->nccl, &job->world.op, 0, 2, false), 0);
	call.comm = job->comm[0];
	job->fake->fail_with = FB_NCCL_INVALID_USAGE;
	CHECK_INT(fb_nccl_call_enqueue(&call, NULL), FB_EUNSUPPORTED);
	job->fake->fail_with = 1;
	CHECK_INT(fb_nccl_call_enqueue(&call, NULL), FB_ESYS);
	job->fake->fail_with = 0;
	fb_nccl_call_close(&call);
	world_close(&job->world);
}

int main(void)
{
	struct job job = {.fake = NULL};
	char why[192], path[PATH_MAX];

	if (!CHECK_INT(fb_nccl_open(&job.nccl, beside_program("libfake_nccl.so", path), why,
				    sizeof(why)), 0))
		return check_done("nccl_calls");
	job.fake = fake_calls_of(&job.nccl);
	open_comms(&job);
	test_moves(&job);
	test_reductions_of_blocks(&job);
	test_reductions(&job);
	test_failure(&job);
	for (int r = 0; r < WORLD_MOST; r++)
		job.nccl.CommDestroy(job.comm[r]);
	test_old(&job);
	test_new(&job);
	return check_done("nccl_calls");
}
