/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective programs with the MPI engine: every collective's cases run and verify, and
 * wrong results of every kind are caught.
 * timeout: 120
 *
 * The functions that the harness would call are called here, so that results can be damaged
 * between run and check. Persistent calls are left out but for send_recv, and 8-bit sums too:
 * there are libraries in use that are wrong about them, which is for rows to say, not for tests.
 */
#include <stdlib.h>

#include "collectives/buffers.h"
#include "collectives/program.h"
#include "collectives/state.h"
#include "common/base/error.h"
#include "common/run/run.h"
#include "tests/unit/check.h"

struct bench {
	struct fb_run run;
	struct fb_program program;
	struct fb_collective_settings own;
	void *state;
};

static const struct fb_settings settings = {
	.bytes = "0,1,13,100,70000", .engine = "mpi", .algorithm = "all",
	.protocol = "all", .transport = "auto", .memory = "host", .datatype = "i32,f64,f16,f8e4m3",
	.redop = "sum,max", .root = "all", .in_place = "both", .cadence = "isolated",
	.launch = "blocking,nonblocking", .slots = 8, .timeout_s = 100, .seed = 7,
	.nccl_force = "library", .registration = "none", .copy_direction = "push",
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

static void run_fresh(const struct bench *b, void *instance, int calls)
{
	b->program.prime(instance);
	MPI_Barrier(b->run.world.comm);
	CHECK_INT(b->program.run(instance, calls), FB_OK);
}

/* Flips a bit of a byte, which `rank` alone does, and wants exactly `want` errors. */
static void flip(const struct bench *b, void *instance, int rank, char *byte, uint64_t want,
		 const char *what)
{
	uint64_t errors;

	if (b->run.world.rank == rank)
		*byte ^= 1;
	errors = errors_of(b, instance, 1);
	if (!check_that(errors == want, what, __FILE__, __LINE__))
		printf("\tgot %llu errors, want %llu\n", (unsigned long long)errors,
		       (unsigned long long)want);
	if (b->run.world.rank == rank)
		*byte ^= 1;
}

/* Single bytes changed around and in the buffers of each rank, after a right result. */
static void damage(const struct bench *b, struct fb_collective_instance *i)
{
	const struct fb_operation *op = &i->op;
	int n = b->run.world.nranks;
	size_t size = fb_datatype_size(op->datatype);

	for (int rank = 0; rank < n; rank++) {
		size_t in = fb_buffers_elements(op, false, rank, n) * size;
		size_t out = fb_buffers_elements(op, true, rank, n) * size;
		size_t whole = op->in_place && in > out ? in : out;
		char *part = fb_segment_part(op->segment, rank);

		flip(b, i, rank, part + op->out_offset - 1, 1, "the canary in front");
		flip(b, i, rank, part + op->out_offset - FB_CANARY_BYTES, 1, "its first byte");
		flip(b, i, rank, part + op->out_offset + whole, 1, "the canary behind");
		flip(b, i, rank, part + op->out_offset + whole + FB_CANARY_BYTES - 1, 1,
		     "its last byte");
		if (out > 0) {
			char *first = fb_operation_out(op, rank);

			flip(b, i, rank, first, 1, "the first element");
			flip(b, i, rank, first + out - 1, 1, "the last element");
		}
		if (in > 0 && !op->in_place) {
			char *input = fb_operation_in(op, rank);

			flip(b, i, rank, input, 1, "the input's first element");
			flip(b, i, rank, input + in - 1, 1, "the input's last element");
		}
	}
}

/*
 * Nothing ran: the poison is found; in place the data of others is missed, if there is enough of
 * it (a single maximum may well be this rank's own).
 */
static void check_stale(const struct bench *b, struct fb_collective_instance *i)
{
	const struct fb_operation *op = &i->op;
	int n = b->run.world.nranks;
	uint64_t elements = 0, errors;

	for (int rank = 0; rank < n; rank++)
		elements += fb_buffers_elements(op, true, rank, n);
	b->program.prime(i);
	errors = errors_of(b, i, 1);
	/* What moves may have any value, so a byte of poison is right once in a while. */
	if (elements > 0 && !op->in_place)
		CHECK(errors <= elements && errors * 100 >= elements * 98);
	else if (elements >= 64 && n > 1)
		CHECK(errors > 0);
}

/* Two blocks of the output change places. */
static void check_swapped(const struct bench *b, struct fb_collective_instance *i)
{
	const struct fb_operation *op = &i->op;
	int rank = b->run.world.rank, n = b->run.world.nranks, root = op->root;
	size_t bytes = (size_t)op->count * fb_datatype_size(op->datatype);
	char *out = fb_operation_out(op, rank), *copy;

	if (op->counts || bytes == 0 || n < 2 ||
	    fb_collective_blocks(op->collective, true, root, n, root) < 2)
		return;
	run_fresh(b, i, 1);
	copy = malloc(bytes);
	if (copy && rank == root) {
		memcpy(copy, out, bytes);
		memcpy(out, out + bytes, bytes);
		memcpy(out + bytes, copy, bytes);
	}
	free(copy);
	CHECK(errors_of(b, i, 1) >= 2);
}

static int lazy_start(struct fb_request *request)
{
	(void)request;
	return FB_OK;
}

/* A barrier that waits for nobody, between right ones. */
static void check_barriers(const struct bench *b, struct fb_collective_instance *i)
{
	const struct fb_engine_ops *right = i->ops;
	struct fb_engine_ops lazy = *right;

	lazy.start = lazy_start;
	lazy.wait = lazy_start;
	CHECK_INT(errors_of(b, i, 1), 0);
	i->ops = &lazy;
	if (b->run.world.nranks > 1)
		CHECK(errors_of(b, i, 1) > 0);
	i->ops = right;
	MPI_Barrier(b->run.world.comm);
	CHECK_INT(errors_of(b, i, 1), 0);
}

static void test_case(const struct bench *b, const struct fb_case *c)
{
	void *instance;
	struct fb_collective_instance *i;
	double extra[FB_COLLECTIVE_COLUMNS];
	struct fb_traits traits = {.extra = extra};
	bool twice = !c->in_place || c->redop < 0;

	if (!CHECK_INT(b->program.setup(b->state, c, &instance), FB_OK))
		return;
	i = instance;
	run_fresh(b, i, 1);
	CHECK_INT(errors_of(b, i, 1), 0);
	if (i->op.collective == FB_BARRIER)
		check_barriers(b, i);
	else if (c->bytes <= 100)
		damage(b, i); /* each of many changes looks at everything */
	for (int calls = 2; twice && calls < 5; calls++) {
		run_fresh(b, i, calls);
		CHECK_INT(errors_of(b, i, calls), 0);
	}
	check_swapped(b, i);
	check_stale(b, i);
	b->program.describe(i, &traits);
	CHECK(traits.path[0] != '\0');
	CHECK_STR(traits.flags, (uint64_t)traits.algorithm_bytes == c->bytes ? "" : "rounded");
	b->program.teardown(i);
}

static int test_collective(struct bench *b, const struct fb_collective_program *described)
{
	char reason[FB_REASON_CHARS];
	int tried = 0;

	b->program = fb_collective_describe(described, &b->own);
	b->run.program = &b->program;
	if (!CHECK_INT(fb_run_open_session(&b->run), FB_OK) ||
	    !CHECK_INT(b->program.open(&b->run, &b->state), FB_OK))
		return 0;
	CHECK_INT(b->program.expand(&b->run, b->state), FB_OK);
	for (size_t k = 0; k < b->run.count; k++) {
		reason[0] = '\0';
		if (!b->program.can(b->state, &b->run.cases[k], reason)) {
			CHECK(reason[0] != '\0');
			continue;
		}
		test_case(b, &b->run.cases[k]);
		tried++;
	}
	b->program.close(b->state);
	fb_session_close(&b->run.session);
	fb_run_free(&b->run);
	b->run = (struct fb_run){.world = b->run.world, .settings = settings};
	return tried;
}

int main(int argc, char **argv)
{
	/* NCCL's CTAs as its options leave them: one value of each. */
	static const struct fb_sizes once = {.count = 1};
	struct bench b = {.run = {.settings = settings},
			  .own = {.numa = "any", .ctas = {once, once, 1, 1, 1}}};
	int failures, ranks;

	if (fb_group_open(&b.run.world, &argc, &argv) || fb_group_pretend_nodes(&b.run.world, 0))
		return 1;
	for (int c = 0; c < FB_COLLECTIVES; c++) {
		const struct fb_collective_program described = {
			.collective = (enum fb_collective)c, .options = fb_traffic_options};

		b.own.traffic.skew = 1.25;
		if (c == FB_SEND_RECV)
			b.run.settings.launch = "all";
		CHECK(test_collective(&b, &described) > 0);
	}
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, b.run.world.comm);
	ranks = b.run.world.rank;
	fb_group_close(&b.run.world);
	/* Every rank prints its own failures; the line at the end is rank 0's, for all. */
	check_failures = failures;
	return ranks == 0 ? check_done("collectives") : failures != 0;
}
