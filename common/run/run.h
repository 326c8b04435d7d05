/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of one run of a program: everything that the parts of the harness's main flow
 * (program.c, listing.c, case_run.c, run.c) share. Programs see only `struct fb_run *`.
 */
#ifndef FB_COMMON_RUN_RUN_H
#define FB_COMMON_RUN_RUN_H

#include "common/measure/progress.h"
#include "common/measure/selftest.h"
#include "common/run/counters.h"
#include "common/run/measure.h"
#include "common/run/program.h"
#include "common/run/record.h"

enum { FB_CASE_CHARS = 256 };

struct fb_run {
	const struct fb_program *program;
	struct fb_settings settings;
	struct fb_option *table;	 /* the common options with the program's defaults */
	struct fb_option *own_table;	 /* the program's own; NULL: it has none */
	struct fb_option_chain chain[2]; /* common, own */

	struct fb_group world;
	struct fb_watchdog *watchdog;
	struct fb_clock clock;
	struct fb_barrier barrier;
	struct fb_selftest test;
	struct fb_meter meter;

	void *state; /* the program's */
	bool state_open;

	struct fb_case *cases; /* in running order once shuffled */
	uint64_t *hashes;      /* [count], of cases, in the order of fb_run_add */
	char **texts;	       /* [ntexts], the cases' texts */
	bool *finished;	       /* [count], by --resume; NULL: none */
	double *extra;	       /* [ncolumns], the program's own columns of the row under way */
	uint64_t rows_before;  /* rank 0: rows of this launch that the file has */
	size_t count, capacity, ntexts;

	struct fb_recorder recorder; /* rank 0 */
	struct fb_progress progress; /* rank 0 */
	struct fb_facts facts;	     /* this rank's */
	struct fb_counters counters;
	struct fb_session session;   /* of the members above, by fb_run_open_session */
	double rows_s, program_s;    /* in the loop over cases; of it in setup and teardown */
	int exit_code;		     /* worst so far; equal on all ranks at the end */
};

/* A case in one line: "all_reduce host ring simple shm f32 sum 1024 B". Returns buf. */
const char *fb_case_text(const struct fb_case *c, char buf[FB_CASE_CHARS]);

/*
 * Local, once MPI has begun: 0, or FB_EINPUT (printed by the job's first process) when the launcher
 * has started several ranks and MPI knows of one only: it is another MPI library's launcher.
 */
int fb_run_check_launcher(const struct fb_run *run);

/*
 * Collective: FB_EINPUT on all ranks when their programs or options differ, but for those that name
 * a thing of a host. The first rank that differs from rank 0 prints the option and both values.
 */
int fb_run_check_options(const struct fb_run *run);

/* Collective: the lowest rank that gives true; the number of ranks where none does. */
int fb_run_first_rank(const struct fb_run *run, bool mine);

/* A worse exit code replaces the run's (fault over wrong data over good). */
void fb_run_worsen(struct fb_run *run, int exit_code);

/* Collective. Puts the cases in this launch's order, and proves that all ranks have the same. */
int fb_run_shuffle(struct fb_run *run);

/* Collective, with --csv: marks the cases that need no second run. Rank 0 reads. */
int fb_run_resume(struct fb_run *run);

/*
 * Collective. With --resume: whether the folder has a row of the case, and its median (NULL: not
 * wanted). The same on all ranks.
 */
bool fb_run_known(struct fb_run *run, const struct fb_case *c, struct fb_csv_median *median);

/* Local: the session of the run's own members. As fb_session_open; closed by fb_session_close. */
int fb_run_open_session(struct fb_run *run);

/* Frees the cases. */
void fb_run_free(struct fb_run *run);

/* Whether a case can be run, as far as the harness and fb_program.can know; else the reason. */
bool fb_run_can(const struct fb_run *run, const struct fb_case *c, char reason[FB_REASON_CHARS]);

/*
 * Collective. One case from `can` to `teardown`, one that is not finished. Returns 0, or an error
 * that ends the run.
 */
int fb_case_run(struct fb_run *run, size_t index);

/* Collective: facts that the harness knows, and those of the machine. */
void fb_run_facts(struct fb_run *run);

/* Collective: gathers all ranks' facts and writes environment.csv. Same value on all ranks. */
int fb_run_write_facts(struct fb_run *run);

/* --list, --dry-run and --check-plan; collective. Same value on all ranks. */
int fb_list_cases(struct fb_run *run);
int fb_list_order(struct fb_run *run);
int fb_check_plans(struct fb_run *run);

#endif
