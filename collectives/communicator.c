/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program communicator: what it costs to make a communicator, to call it first, and to end it.
 * What it repeats is in communicator/life.h.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/communicator/state.h"
#include "common/base/error.h"
#include "common/library/nccl/comm.h"
#include "common/option/option.h"
#include "common/run/run.h" /* fb_run.program, for the options */

static const char *const misuses[] = {"none", "create", "destroy", "buffer", "register",
				       "offset", NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Communicators"),
	FB_OPTION_STRING(struct fb_life_options, operation, 0, "operation", "LIST", "all", NULL,
			 "how they are made and ended; --list has the names"),
	FB_OPTION_STRING(struct fb_life_options, communicators, 0, "communicators", "LIST",
			 "1", NULL, "how many there are at a time"),
	FB_OPTION_STRING(struct fb_life_options, grid, 0, "grid", "LIST", "none", NULL,
			 "none: of all ranks; TPxPPxDP: three of each, for the groups of tensor "
			 "parallel ranks, of pipeline stages and of replicas"),
	FB_OPTION_CHOICE(struct fb_life_options, misuse, 0, "misuse", "none", misuses,
			 "what the last rank does wrong: it makes none (create), does not end "
			 "them (destroy), frees the buffers before the call (buffer), does not "
			 "register its buffers (register), or registers them from a page "
			 "further on (offset)"),
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {
	{"bytes", "8"},	       {"datatype", "f32"},    {"redop", "sum"},
	{"algorithm", "auto"}, {"protocol", "auto"},   {"min-samples", "6"},
	{"max-samples", "200"}, {"max-time", "2s"},    {NULL, NULL},
};

#define TIME(name_, help_) {.name = (name_), .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_TIME_US,   \
			    .unit = "us", .help = (help_)}
#define COUNT(name_, unit_, help_) {.name = (name_), .kind = FB_COLUMN_VALUE,                      \
				    .type = FB_COLUMN_I64, .unit = (unit_), .help = (help_)}

static const struct fb_column columns[FB_LIFE_COLUMNS] = {
	[FB_CREATE_US] = TIME("create_us", "to make all communicators, slowest rank, median"),
	[FB_CREATE_P95_US] = TIME("create_p95_us", "the same, 95th percentile"),
	[FB_CREATE_MAX_US] = TIME("create_max_us", "the same, maximum"),
	[FB_CALL_US] = TIME("call_us", "a first call on each of them, slowest rank, median"),
	[FB_CALL_P95_US] = TIME("call_p95_us", "the same, 95th percentile"),
	[FB_CALL_MAX_US] = TIME("call_max_us", "the same, maximum"),
	[FB_DESTROY_US] = TIME("destroy_us", "to end all of them, slowest rank, median"),
	[FB_DESTROY_P95_US] = TIME("destroy_p95_us", "the same, 95th percentile"),
	[FB_DESTROY_MAX_US] = TIME("destroy_max_us", "the same, maximum"),
	[FB_DEVICE_BYTES] = COUNT("device_bytes", "bytes",
				  "GPU memory that they take once called, most of a rank"),
	[FB_HOST_BYTES] = COUNT("host_bytes", "bytes",
				"resident memory that they take, most of a rank"),
	[FB_SOCKETS] = COUNT("sockets", "", "sockets that they hold open, most of a rank"),
	[FB_CREATE_EARLY_US] = TIME("create_early_us", "create_us of the first third of them"),
	[FB_CREATE_LATE_US] = TIME("create_late_us", "create_us of the last third of them"),
	[FB_DEVICE_EARLY_BYTES] = COUNT("device_early_bytes", "bytes",
					"fragment: GPU memory taken since before the first of "
					"them, in the first third, median, most of a rank"),
	[FB_DEVICE_LATE_BYTES] = COUNT("device_late_bytes", "bytes", "the same, in the last third"),
	[FB_HOST_EARLY_BYTES] = COUNT("host_early_bytes", "bytes",
				      "the same of resident memory, in the first third"),
	[FB_HOST_LATE_BYTES] = COUNT("host_late_bytes", "bytes", "the same, in the last third"),
};

static void close_program(void *arg)
{
	struct fb_life_state *state = arg;

	for (int i = 0; i < FB_LIFE_MOST_ENGINES; i++)
		if (state->engine[i].engine)
			fb_collectives_close(&state->engine[i]);
	free(state);
}

/* An engine that this machine does not have is no error: its rows say so. */
static int open_engines(struct fb_life_state *state)
{
	bool shared = false;
	int err = FB_OK;

	for (int i = 0; fb_engines[i] && !err; i++) {
		if (!fb_option_names(state->settings->engine, fb_engines[i]->name))
			continue;
		err = fb_collectives_open(&state->engine[i], state->session, state->world,
					  fb_engines[i]->name);
		if (!err && state->engine[i].has_gpu)
			shared = state->engine[i].gpu.shared;
	}
	if (!err && (fb_option_names(state->settings->engine, "nccl") ||
		     fb_option_names(state->settings->engine, "nccl-process")))
		(void)fb_nccl_find(&state->nccl, state->session, state->world, shared,
				   state->no_nccl);
	return err;
}

static int open_program(struct fb_run *run, void **result)
{
	struct fb_life_state *state = calloc(1, sizeof(*state));
	int err = fb_group_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->session = fb_run_session(run);
	state->world = fb_run_world(run);
	state->settings = fb_run_settings(run);
	state->options = run->program->option_values;
	err = open_engines(state);
	if (err) {
		close_program(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

int main(int argc, char **argv)
{
	struct fb_life_options values = {.operation = NULL};
	const struct fb_program program = {
		.name = "communicator",
		.summary = "what it costs to make, to call first and to end communicators",
		.description =
			"Each repetition makes communicators, runs an all_reduce on each and ends "
			"them; columns create_us, call_us and destroy_us have the parts. Rows "
			"`reuse` make communicators once and only call them: compare other rows "
			"with these.\n\n"
			"Engine mpi: MPI_Comm_dup, split, create_group. Engine nccl: every way to "
			"make, to shrink, to suspend and to end that the loaded version has; "
			"registering buffers and capturing graphs in each repetition; and "
			"`fragment`, which registers and frees blocks of random sizes. Engine "
			"nccl-process: several GPUs in each process (--gpus-per-process), by "
			"ncclCommInitAll, by a thread for each or in one group. Own engines: "
			"opened on a group with one operation prepared.\n\n"
			"--misuse shows how a faulty job ends: instead of hanging it ends within "
			"--timeout, with a fault that names the rank and the step.",
		.options = options,
		.option_values = &values,
		.defaults = defaults,
		.columns = columns,
		.ncolumns = FB_LIFE_COLUMNS,
		.open = open_program,
		.close = close_program,
		.expand = fb_life_expand,
		.can = fb_life_can,
		.seconds = fb_life_seconds,
		.setup = fb_life_set_up,
		.prime = fb_life_prime,
		.run = fb_life_run,
		.anew = fb_life_anew,
		.check = fb_life_check,
		.describe = fb_life_describe,
		.summarise = fb_life_summarise,
		.teardown = fb_life_tear_down,
	};

	return fb_program_main(&program, argc, argv);
}
