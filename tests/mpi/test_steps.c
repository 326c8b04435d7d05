/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 4
 * timeout: 240
 *
 * Steps of every schedule with engines host and mpi: all data right, with threads and in one thread
 * that polls, several steps back to back; the parts alone are measured behind each step and leave
 * nothing wrong behind; and steps that are wrong in one thing are found by the data: a collective
 * or a copy that is left out, and a write outside of buffers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/run.h"
#include "overlap/frame/frame.h"
#include "tests/unit/check.h"

struct bench {
	struct fb_run run;
	struct fb_program program;
	struct fb_overlap_settings own;
	struct fb_column columns[FB_STEP_COLUMNS];
	void *state;
};

static const struct fb_settings settings = {
	.bytes = "9000", .engine = "host,mpi", .algorithm = "auto", .protocol = "auto",
	.transport = "shm", .memory = "host", .datatype = "i32", .redop = "sum", .root = "0",
	.in_place = "no", .cadence = "isolated", .launch = "nonblocking", .slots = 8,
	.timeout_s = 60, .seed = 7, .nccl_force = "library", .registration = "none",
	.copy_direction = "push", .tcp = {.congestion = "auto", .interface = "auto"},
};

/* As the options' defaults, but small; with threads, in one thread, and with a model. */
static const struct fb_overlap_settings own_settings[] = {
	{
		.schedules = ~UINT64_C(0), .layers = 2, .hidden = 64, .tokens = 4,
		.tensors = "1,3,2", .bucket = {2, {1, 2048}, NULL}, .compute_s = 2e-4,
		.cublas = "none", .blas = "none", .prefetch = {1, {0}, NULL}, .reshard = 3,
		.ffn = 96, .topk = 3, .chunks = {2, {2, 0}, NULL}, .microbatches = {1, {4}, NULL},
		.experts_skew = {1, {100}, NULL}, .token_budget_s = 0.033, .dispatch = 1,
		.first_bucket = {1, {0}, NULL}, .optimizer = 1, .compress = 1, .checkpoint = 1,
		.partition = {2, {0, 1024}, NULL},
		.tensor_ranks = {2, {1, 2}, NULL}, .placement = 3,
		.forward = 1, .order = 1, .keep = 0.1,
		.streams = {1, {2}, NULL}, .repeats = 3, .collective = 63, .cta_policy = 1,
		.delay_s = 1e-5, .storage = 4096, .input = 64,
	},
	{
		.schedules = ~UINT64_C(0), .layers = 3, .hidden = 64, .polls = 2,
		.tensors = "1,3,2", .bucket = {1, {0}, NULL}, .compute_s = 2e-4,
		.cublas = "none", .blas = "none", .prefetch = {1, {2}, NULL}, .reshard = 1,
		.ffn = 96, .topk = 3, .chunks = {1, {1}, NULL}, .microbatches = {1, {2}, NULL},
		.experts_skew = {1, {0}, NULL}, .token_budget_s = 0.033, .dispatch = 2,
		.first_bucket = {1, {1}, NULL}, .optimizer = 6, .compress = 6, .checkpoint = 2,
		.partition = {1, {600}, NULL}, .tensor_ranks = {2, {1, 2}, NULL}, .placement = 1,
		.forward = 2, .order = 2, .keep = 0.1,
		.streams = {1, {2}, NULL}, .repeats = 3, .collective = 1, .cta_policy = 1,
		.delay_s = 1e-5, .storage = 4096, .input = 64,
	},
	{
		.schedules = ~UINT64_C(0), .layers = 1, .tokens = 8, .model = "mixtral-8x7b",
		.shrink = 256, .model_layers = 6, .tp = 2,
		.bucket = {1, {20000}, NULL}, .cublas = "none", .blas = "none",
		.prefetch = {1, {1}, NULL}, .reshard = 1, .chunks = {1, {2}, NULL},
		.microbatches = {1, {4}, NULL}, .experts_skew = {1, {0}, NULL},
		.token_budget_s = 0.033, .dispatch = 3,
		.first_bucket = {1, {0}, NULL}, .optimizer = 4, .compress = 1, .checkpoint = 1,
		.partition = {1, {0}, NULL}, .tensor_ranks = {1, {1}, NULL}, .placement = 1,
		.forward = 3, .order = 1, .keep = 0.1,
		.streams = {1, {2}, NULL}, .repeats = 3, .collective = 2, .cta_policy = 1,
		.delay_s = 1e-5, .storage = 4096, .input = 64,
	},
};

/* Errors of all ranks after a check on all of them. */
static uint64_t run_fresh(const struct bench *b, void *instance, int calls)
{
	struct fb_mismatch bad = {0};
	uint64_t errors;

	CHECK_INT(b->program.prime(instance), FB_OK);
	CHECK_INT(b->program.ready(instance, calls), FB_OK);
	MPI_Barrier(b->run.world.comm);
	CHECK_INT(b->program.run(instance, calls), FB_OK);
	CHECK_INT(b->program.settle(instance), FB_OK);
	CHECK_INT(b->program.check(instance, calls, &bad), FB_OK);
	errors = bad.errors;
	MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_UINT64_T, MPI_SUM, b->run.world.comm);
	return errors;
}

/* The first and the last collective of each name are left out on all ranks. */
static void leave_out_collectives(const struct bench *b, struct fb_step_instance *i)
{
	for (int t = 0; t < i->dag.ntasks; t++) {
		struct fb_task *task = &i->dag.tasks[t];
		const struct fb_task kept = *task;
		bool before = false, behind = false;

		for (int u = 0; u < i->dag.ntasks; u++)
			if (!strcmp(i->dag.tasks[u].name, task->name)) {
				before |= u < t;
				behind |= u > t;
			}
		if (before && behind)
			continue;
		if (task->kind != FB_TASK_COLLECTIVE ||
		    i->dag.partitions[task->partition].members < 2)
			continue;
		task->kind = FB_TASK_HOST;
		task->action = FB_HOST_WAIT_LANE;
		if (!check_that(run_fresh(b, i, 1) > 0, "a collective left out", __FILE__,
				__LINE__))
			printf("\t%s %s: %s %d\n", i->key->operation, i->key->variant, task->name,
			       task->number);
		*task = kept;
	}
}

/* The last task of this rank that copies; negative: none does. */
static int last_copies(const struct fb_dag *d)
{
	for (int t = d->ntasks - 1; t >= 0; t--)
		for (int a = d->tasks[t].accesses; a != FB_NONE; a = d->accesses[a].next)
			if (d->accesses[a].use >= FB_ACCESS_TO)
				return t;
	return -1;
}

/*
 * The copies of the last task that has some, as others may be overwritten: poison stays. All ranks
 * run the step, those that copy nothing too, so that none waits for another one.
 */
static void leave_out_copies(const struct bench *b, struct fb_step_instance *i)
{
	int last = last_copies(&i->dag), most = last, kept = FB_NONE;

	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, b->run.world.comm);
	if (most < 0)
		return;
	if (last >= 0) {
		kept = i->dag.tasks[last].accesses;
		i->dag.tasks[last].accesses = FB_NONE;
	}
	if (!check_that(run_fresh(b, i, 1) > 0, "a copy left out", __FILE__, __LINE__))
		printf("\t%s %s: task %d\n", i->key->operation, i->key->variant, last);
	if (last >= 0)
		i->dag.tasks[last].accesses = kept;
}

/* Something wrote behind a buffer, or in front of the first one. */
static void write_outside(const struct bench *b, struct fb_step_instance *i)
{
	const struct fb_collective_state *c = i->state->collective;
	char *memory = fb_segment_part(&c->stores.segment[fb_store_of(&c->stores, i->key)],
				       b->run.world.rank);
	size_t size = i->build.element_bytes;

	for (int k = -1; memory && k < i->dag.nbuffers; k++) {
		const struct fb_dag_buffer *buffer = &i->dag.buffers[k < 0 ? 0 : k];
		char *at = memory + (size_t)buffer->offset * size;
		struct fb_mismatch bad = {0};

		at += k < 0 ? -1 : (ptrdiff_t)((size_t)buffer->count * size);
		*at ^= 1;
		CHECK_INT(b->program.check(i, 1, &bad), FB_OK);
		CHECK_INT(bad.errors, 1);
		*at ^= 1;
	}
}

/* Parts alone: not behind a step that is to be checked; what they leave is the next step's. */
static void check_parts(const struct bench *b, struct fb_step_instance *i)
{
	bool all = i->parts == FB_PART_ALL;
	double extra[FB_STEP_COLUMNS];
	struct fb_traits traits = {.extra = extra};
	const double samples[] = {3e6, 1e6, 2e6};
	size_t before = i->nsamples;

	for (int turn = 0; turn < 3; turn++)
		CHECK_INT(b->program.settle(i), FB_OK);
	CHECK_INT(i->nsamples, before + 3);
	for (size_t k = before; k < i->nsamples; k++)
		CHECK(all == isfinite(i->samples[k].us[FB_MEASURE_COMPUTE]));
	CHECK(isnan(i->samples[before - 1].us[FB_MEASURE_COMPUTE]));
	b->program.describe(i, &traits);
	CHECK(traits.path[0] != '\0');
	b->program.summarise(i, samples, 3, &traits);
	if (all && traits.extra[FB_STEP_COLLECTIVES] > 0) {
		CHECK(traits.extra[FB_COMPUTE_US] >= 0 && traits.extra[FB_COMMUNICATION_US] >= 0);
		CHECK(traits.extra[FB_EXPOSED_US] < 3e6);
		CHECK(traits.bound_us >= traits.extra[FB_COMPUTE_US]);
	} else if (all) {
		CHECK(fabs(traits.extra[FB_COMPUTE_US] - 2e6) < 1);
	}
	CHECK_INT(run_fresh(b, i, 1), 0);
}

static void test_case(const struct bench *b, const struct fb_case *c)
{
	struct fb_step_instance *i;
	void *instance;

	if (!CHECK_INT(b->program.setup(b->state, c, &instance), FB_OK))
		return;
	i = instance;
	if (!check_that(run_fresh(b, i, 1) == 0, "data", __FILE__, __LINE__))
		printf("\t%s %s %s %s\n", c->program, c->operation, c->engine, c->variant);
	if (i->parts == FB_PART_ALL)
		CHECK_INT(run_fresh(b, i, 2), 0);
	check_parts(b, i);
	/* Libraries may read late what they send, and ranks of a pipeline have unlike tasks. */
	if (!strcmp(c->engine, "host") && strcmp(b->program.name, "pipeline")) {
		leave_out_collectives(b, i);
		leave_out_copies(b, i);
		CHECK_INT(run_fresh(b, i, 1), 0);
		write_outside(b, i);
	}
	b->program.teardown(i);
}

/* All cases of a program. Returns how many could run. */
static int test_program(struct bench *b, const struct fb_schedule_program *schedule)
{
	char reason[FB_REASON_CHARS];
	int ran = 0;

	b->program = fb_step_describe(schedule, &b->own, b->columns);
	b->run.program = &b->program;
	if (!CHECK_INT(fb_run_open_session(&b->run), FB_OK) ||
	    !CHECK_INT(b->program.open(&b->run, &b->state), FB_OK))
		return 0;
	CHECK_INT(b->program.expand(&b->run, b->state), FB_OK);
	for (size_t k = 0; k < b->run.count; k++) {
		const struct fb_case *c = &b->run.cases[k];

		reason[0] = '\0';
		if (!b->program.can(b->state, c, reason)) {
			CHECK(reason[0] != '\0');
			continue;
		}
		if (b->run.world.rank == 0)
			CHECK_INT(b->program.check_plan(b->state, c, stdout), FB_OK);
		test_case(b, c);
		ran++;
	}
	b->program.close(b->state);
	fb_session_close(&b->run.session);
	fb_run_free(&b->run);
	b->run = (struct fb_run){.world = b->run.world, .settings = b->run.settings,
				 .clock = b->run.clock, .barrier = b->run.barrier};
	return ran;
}

/* Whether all cases run: with sanitizers, several times as slow, in the full set only. */
static bool all_cases(void)
{
#ifdef __SANITIZE_ADDRESS__
	return check_full();
#else
	return true;
#endif
}

/* Groups of two ranks where they divide the world; in one thread also tokens by time. */
static void test_all(struct bench *b)
{
	for (int i = 0; fb_schedule_programs[i]; i++) {
		const struct fb_schedule_program *p = fb_schedule_programs[i];

		for (int k = 0; k < 3; k++) {
			int ran;

			b->own = own_settings[k];
			b->run.settings = settings;
			b->run.settings.engine = k ? "host" : "host,mpi";
			/* With a model the default says that the size follows from it. */
			for (const struct fb_default *d = p->defaults; k == 2 && d->option; d++)
				if (!strcmp(d->option, "bytes"))
					b->run.settings.bytes = p->bytes ? d->value : "9000";
			b->own.degree = b->own.shard = (struct fb_sizes){1, {0}, NULL};
			b->own.background = (struct fb_sizes){2, {0, 3000}, NULL};
			b->own.background.count = k ? 1 : 2;
			/* What is left out here, the other settings have: no background, and two
			 * collectives. Here are the two that the others do not resemble. */
			if (k == 0 && !all_cases()) {
				b->own.background = (struct fb_sizes){1, {3000}, NULL};
				b->own.collective = 36; /* reduce_scatter, all_to_all_v */
			}
			b->own.background_operation = i % 2;
			b->own.compute_sms = (struct fb_sizes){1, {0}, NULL};
			if (b->run.world.nranks % 2 == 0)
				b->own.shard.value[0] = b->own.degree.value[0] = 2;
			if (p->bytes)
				b->own.tokens = 4;
			ran = test_program(b, p);
			CHECK(ran > 0 || (p == &fb_schedule_pipeline && b->run.world.nranks == 1));
		}
	}
}

int main(int argc, char **argv)
{
	struct bench b = {.run = {.settings = settings}};
	int failures, rank;

	if (fb_group_open(&b.run.world, &argc, &argv) || fb_group_pretend_nodes(&b.run.world, 0) ||
	    fb_clock_open(&b.run.clock) || fb_barrier_open(&b.run.barrier, &b.run.world, false))
		return 1;
	test_all(&b);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, b.run.world.comm);
	rank = b.run.world.rank;
	fb_barrier_close(&b.run.barrier);
	fb_group_close(&b.run.world);
	/* Every rank prints its own failures; the line at the end is rank 0's, for all. */
	check_failures = failures;
	return rank == 0 ? check_done("steps") : failures != 0;
}
