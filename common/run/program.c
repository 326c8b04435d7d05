/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main flow of every program: options, ranks, cases, measurement, files; see program.h.
 *
 * Whatever can be refused is refused before anything is written, in order and on all ranks;
 * from the first measurement on, a fault on one rank ends the job through the watchdog.
 */
#include "common/base/error.h"
#include "common/base/version.h"
#include "common/measure/start.h"
#include "common/option/users.h"
#include "common/run/run.h"
#include "common/system/launcher.h"
#include "common/system/multicast.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_about(const struct fb_run *run)
{
	const char *about = run->program->description;
	char description[8192];
	const struct fb_option_about text = {
		.program = run->program->name,
		.summary = run->program->summary,
		.description = description,
		.version = fb_version_text(),
	};

	snprintf(description, sizeof(description),
		 "%s\n\nExit code: 0 good; 2 wrong data; 3 unusable option, file or variable; 5 a "
		 "fault (a rank died, a limit passed); 6 nothing measured, if a table is printed.",
		 about ? about : "");
	/* MPI may be unable to start where --help is used: ask the launcher for the rank. */
	if (fb_launcher_rank() > 0)
		return FB_EXIT_OK;
	if (run->settings.version)
		printf("%s (fabricbench) %s, revision %s, built with %s %s\n", run->program->name,
		       fb_version_text(), fb_version_revision(), fb_version_compiler(),
		       fb_version_flags());
	else if (run->settings.man)
		fb_option_man(run->chain, &text, stdout);
	else
		fb_option_help(run->chain, &text, stdout);
	return fflush(stdout) ? FB_EXIT_FAULT : FB_EXIT_OK;
}

static int make_chain(struct fb_run *run)
{
	const struct fb_program *program = run->program;

	run->table = fb_settings_table(program->name, program->defaults);
	if (!run->table)
		return FB_ENOMEM;
	run->chain[0] = (struct fb_option_chain){.table = run->table, .values = &run->settings};
	if (!program->options)
		return FB_OK;
	run->own_table = fb_option_copy(program->options);
	run->chain[0].next = &run->chain[1];
	run->chain[1] = (struct fb_option_chain){.table = run->own_table,
						 .values = program->option_values};
	return run->own_table ? FB_OK : FB_ENOMEM;
}

/* A program that has no way to clear caches cannot measure with cold ones. */
static int check_program(const struct fb_run *run, FILE *errors)
{
	const struct fb_program *program = run->program;

	if (run->settings.cache & FB_CACHE_COLD && !program->clear)
		return fb_option_reject(errors, "cache",
					run->settings.cache & FB_CACHE_HOT ? "hot,cold" : "cold",
					"hot: this program clears no caches");
	return fb_option_check_waits(run->settings.rdma.waits, program->name, errors);
}

static int parse(struct fb_run *run, int argc, char **argv, FILE *errors)
{
	int err = fb_option_parse(run->chain, argc, argv, errors);

	if (!err && run->settings.preset)
		err = fb_preset_apply(run->program->presets, run->settings.preset, run->table,
				      run->own_table);
	if (!err && run->settings.preset)
		err = fb_option_parse(run->chain, argc, argv, errors);
	if (!err)
		err = fb_settings_check(&run->settings, errors);
	return err ? err : check_program(run, errors);
}

static void ending(void *arg, const char *reason, bool asked)
{
	struct fb_run *run = arg;

	fb_recorder_emergency(&run->recorder, reason, asked);
}

/* The program's own opening and its cases, in this launch's order. */
static int make_cases(struct fb_run *run)
{
	const struct fb_program *program = run->program;
	int err = FB_OK;

	fb_watchdog_step(run->watchdog, FB_PHASE_OPEN);
	if (program->open)
		err = program->open(run, &run->state);
	run->state_open = !err;
	err = fb_group_agree(&run->world, err);
	if (err)
		return err;
	fb_watchdog_step(run->watchdog, FB_PHASE_EXPAND);
	err = fb_group_agree(&run->world, program->expand(run, run->state));
	if (err || run->settings.list)
		return err;
	return fb_run_shuffle(run);
}

/* Clock, barrier, self test, memory: what measuring needs and does not depend on a case. */
static int open_tools(struct fb_run *run)
{
	int err;

	fb_watchdog_step(run->watchdog, FB_PHASE_SELF_TEST);
	run->extra = calloc(run->program->ncolumns + 1, sizeof(*run->extra));
	err = fb_group_agree(&run->world, run->extra ? fb_clock_open(&run->clock) : FB_ENOMEM);
	if (err)
		return err;
	fb_selftest_share_clock(&run->world, &run->clock);
	err = fb_barrier_open(&run->barrier, &run->world, false);
	if (!err)
		err = fb_selftest_run(&run->world, &run->clock, &run->barrier, run->watchdog,
				      &run->test);
	if (err)
		return err;
	run->meter = (struct fb_meter){
		.world = &run->world,
		.clock = &run->clock,
		.barrier = &run->barrier,
		.watchdog = run->watchdog,
		.settings = &run->settings,
		.timer_us = run->test.timer.median_ns * 1e-3,
		.step_us = run->test.timer.step_ns * 1e-3,
		.one_clock = run->test.one_host && run->test.sync.agrees,
		.skew_us = run->test.skew_median_us,
	};
	return fb_meter_open(&run->meter);
}

static int write_facts(struct fb_run *run)
{
	fb_watchdog_step(run->watchdog, FB_PHASE_ENVIRONMENT);
	return run->settings.csv ? fb_run_write_facts(run) : FB_OK;
}

/* Facts that are known only at the end: rank 0's figures, the same on all ranks. */
static int write_last_facts(struct fb_run *run)
{
	double used[3] = {run->rows_s, run->program_s, run->meter.work_s}, harness;

	if (!run->settings.csv)
		return FB_OK;
	MPI_Bcast(used, 3, MPI_DOUBLE, 0, run->world.comm);
	harness = used[0] - used[1] - used[2];
	fb_launch_fact(&run->session, "rows_s", "%.3f", used[0]);
	fb_launch_fact(&run->session, "setup_s", "%.3f", used[1]);
	fb_launch_fact(&run->session, "measuring_s", "%.3f", used[2]);
	fb_launch_fact(&run->session, "harness_share", "%.4f",
		       used[0] > 0 ? harness / used[0] : 0.0);
	/* The same with setup and teardown, which are the program's and not the harness's. */
	fb_launch_fact(&run->session, "unmeasured_share", "%.4f",
		       used[0] > 0 ? (harness + used[1]) / used[0] : 0.0);
	fb_launch_fact(&run->session, "exit_code", "%d", run->exit_code);
	return write_facts(run);
}

static int run_cases(struct fb_run *run)
{
	uint64_t start = fb_clock_ticks(&run->clock);
	char text[FB_CASE_CHARS];
	size_t finished = 0;
	int err = FB_OK;

	for (size_t i = 0; run->finished && i < run->count; i++)
		finished += run->finished[i] ? 1 : 0;
	if (run->world.rank == 0)
		fb_progress_begin(&run->progress, run->program->name, run->count - finished,
				  run->settings.quiet);
	for (size_t i = 0; !err && i < run->count; i++) {
		size_t known = run->count;
		bool done = run->finished && run->finished[i];

		if (!done)
			err = fb_case_run(run, i);
		if (!err && run->program->more)
			err = run->program->more(run, run->state, &run->cases[i]);
		for (size_t k = known; k < run->count; k++)
			run->progress.total += run->finished && run->finished[k] ? 0 : 1;
		if (!done && run->world.rank == 0)
			fb_progress_done(&run->progress,
					 i + 1 < run->count ? fb_case_text(&run->cases[i + 1], text)
							    : NULL);
	}
	fb_watchdog_case(run->watchdog, -1, "");
	run->rows_s = fb_clock_seconds(&run->clock, fb_clock_ticks(&run->clock) - start);
	return err;
}

/*
 * Rank 0: if all rows of the launch were skipped, prints a line that says so. If a person reads a
 * table, the exit code says so too. Scripts, which take CSV, find the reasons in the rows.
 */
static void judge_nothing(struct fb_run *run)
{
	const struct fb_recorder *r = &run->recorder;

	if (!r->skipped || r->skipped < r->rows || run->exit_code || run->settings.quiet)
		return;
	fb_error_print("nothing was measured: %s: %s",
		       r->rows > 1 ? "all rows were skipped, the first" : "the row was skipped",
		       r->why);
	if (r->table && !r->to_files)
		run->exit_code = FB_EXIT_NOTHING;
}

static int measure(struct fb_run *run)
{
	int err = run->settings.csv ? fb_run_resume(run) : FB_OK, other;

	if (!err)
		err = open_tools(run);
	if (err)
		return err;
	err = fb_group_agree(&run->world, fb_recorder_open(&run->recorder, run->program,
							   &run->settings, &run->world,
							   run->rows_before));
	if (err)
		return err;
	fb_watchdog_step(run->watchdog, FB_PHASE_ENVIRONMENT);
	fb_run_facts(run);
	err = write_facts(run);
	if (!err)
		err = run_cases(run);
	fb_watchdog_step(run->watchdog, FB_PHASE_CLOSE);
	other = fb_group_agree(&run->world, fb_recorder_close(&run->recorder));
	err = err ? err : other;
	if (run->world.rank == 0)
		judge_nothing(run);
	MPI_Allreduce(MPI_IN_PLACE, &run->exit_code, 1, MPI_INT, MPI_MAX, run->world.comm);
	return err ? err : write_last_facts(run);
}

static int do_what_is_asked(struct fb_run *run)
{
	const struct fb_settings *s = &run->settings;

	if (s->list)
		return fb_list_cases(run);
	if (s->dry_run)
		return fb_list_order(run);
	return s->check_plan ? fb_check_plans(run) : measure(run);
}

/* Everything between the start and the end of MPI; the same value on all ranks. */
static int run_all(struct fb_run *run, struct fb_start *start)
{
	const struct fb_watchdog_config config = {
		.timeout_s = run->settings.timeout_s, .ending = ending, .arg = run};
	int err = fb_group_pretend_nodes(&run->world, run->settings.nodes_as);

	if (!err)
		err = fb_watchdog_open(&run->watchdog, &run->world, &config);
	fb_start_end(start);
	if (!err)
		err = fb_group_agree(&run->world, fb_run_open_session(run));
	if (!err)
		err = make_cases(run);
	if (!err)
		err = do_what_is_asked(run);
	if (run->watchdog)
		fb_watchdog_step(run->watchdog, FB_PHASE_CLOSE);
	fb_meter_close(&run->meter);
	fb_barrier_close(&run->barrier);
	if (run->state_open && run->program->close)
		run->program->close(run->state);
	fb_session_close(&run->session);
	return err;
}

/* Collective: 0 if all ranks can go on, else one that cannot prints why. The same on all ranks. */
static int check_ranks(struct fb_run *run, int argc, char **argv, int parsed)
{
	int err = fb_run_check_launcher(run), worst, rank;

	if (err)
		return err;
	worst = fb_group_agree(&run->world, parsed);
	if (!worst)
		return fb_run_check_options(run);
	/* Only with MPI can one rank be chosen to print: it parses again to print its error. */
	rank = fb_run_first_rank(run, parsed != FB_OK);
	if (rank == run->world.rank)
		parse(run, argc, argv, stderr);
	if (rank == run->world.rank && rank > 0)
		fb_error(worst, "rank %d on %s has this option, rank 0 has not", rank,
			 run->world.host);
	return worst;
}

static int mpi_level(const struct fb_run *run)
{
	static const int levels[] = {
		[FB_MPI_SINGLE] = MPI_THREAD_SINGLE,
		[FB_MPI_FUNNELED] = MPI_THREAD_FUNNELED,
		[FB_MPI_SERIALIZED] = MPI_THREAD_SERIALIZED,
		[FB_MPI_MULTIPLE] = MPI_THREAD_MULTIPLE,
	};

	return levels[run->settings.mpi_threads];
}

static int run_with_ranks(struct fb_run *run, int argc, char **argv, int parsed)
{
	struct fb_start *start = NULL;
	/* The value of --timeout is known only if the options are good. */
	int err = fb_start_begin(&start, parsed ? 30 : run->settings.timeout_s);

	if (!err)
		err = fb_group_open_threads(&run->world, mpi_level(run), &argc, &argv);
	if (err)
		return fb_exit_code(err);
	err = check_ranks(run, argc, argv, parsed);
	if (err)
		fb_start_end(start);
	else
		err = run_all(run, start);
	if (err)
		fb_run_worsen(run, fb_exit_code(err));
	if (run->watchdog)
		fb_watchdog_step(run->watchdog, FB_PHASE_FINALIZE);
	fb_group_close(&run->world);
	fb_watchdog_close(run->watchdog);
	return run->exit_code;
}

/*
 * Appends a line to the file by which scripts/launch finds out how a launch ended. Returns whether
 * that was possible. On other hosts than the launcher's there is no such file.
 */
static bool report_to_launch(const struct fb_run *run, const char *what)
{
	const char *path = getenv("FABRICBENCH_CLOSING");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	bool written;

	if (fd < 0)
		return false;
	written = dprintf(fd, "%s %s\n", what, run->program->name) > 0;
	close(fd);
	return written;
}

static bool is_first(const struct fb_run *run)
{
	return run->world.rank == 0 && fb_launcher_rank() <= 0;
}

int fb_program_main(const struct fb_program *program, int argc, char **argv)
{
	struct fb_run *run = calloc(1, sizeof(*run));
	int err, code;

	if (!run)
		return fb_exit_code(fb_error(FB_ENOMEM, "out of memory"));
	run->program = program;
	if (is_first(run))
		report_to_launch(run, "began");
	err = make_chain(run);
	if (err) {
		code = fb_exit_code(err);
		goto free_run;
	}
	err = parse(run, argc, argv, NULL);
	fb_multicast_set(run->settings.multicast == FB_MULTICAST_ALLOW);
	if (!err && (run->settings.help || run->settings.man || run->settings.version))
		code = print_about(run);
	else
		code = run_with_ranks(run, argc, argv, err);
free_run:
	if (is_first(run))
		report_to_launch(run, "ended");
	/* After another exit code mpirun prints a dozen lines below the error message. */
	if (code == FB_EXIT_INPUT && report_to_launch(run, "refused"))
		code = FB_EXIT_OK;
	fb_run_free(run);
	free(run);
	return code;
}
