/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A benchmark program is a description: names, options, axes, and the functions below. It holds
 * no timing, no statistics, no MPI start-up and no CSV code; fb_program_main() does all of that
 * in the same way for every program.
 *
 * For each case, in an order shuffled by seed:
 *   can -> setup -> prime -> run -> check -> warm up -> repetitions -> check -> row -> teardown
 */
#ifndef FB_COMMON_RUN_PROGRAM_H
#define FB_COMMON_RUN_PROGRAM_H

#include "common/base/data.h"
#include "common/option/settings.h"
#include "common/record/case.h"
#include "common/record/schema.h"
#include "common/record/traits.h"
#include "common/session.h"
#include "common/system/group.h"

struct fb_run; /* the harness's state; programs only pass it on */

struct fb_program {
	const char *name;	 /* "all_reduce" */
	const char *summary;	 /* one line for --help and the man page */
	const char *description; /* paragraphs for both, separated by an empty line; or NULL */
	const struct fb_option *options;   /* the program's own, ending in FB_OPTION_END; or NULL */
	void *option_values;		   /* what `options` writes into; or NULL */
	const struct fb_default *defaults; /* differences from the common defaults; or NULL */
	/* [FB_PRESETS]: defaults of common and own options, for --preset; or NULL. */
	const struct fb_default *const *presets;
	const struct fb_column *columns;   /* its own CSV columns, [ncolumns]; or NULL */
	size_t ncolumns;
	/* The columns that a table on a terminal shows, ending in NULL; or NULL. */
	const char *const *shown;

	/*
	 * Checks options against each other and the world; allocates what outlives a case.
	 * Either may be NULL.
	 */
	int (*open)(struct fb_run *run, void **state);
	void (*close)(void *state);

	/* Calls fb_run_add() for every combination of axes, valid or not. Same on all ranks. */
	int (*expand)(struct fb_run *run, void *state);

	/*
	 * Collective, after each case, those included that --resume finds in the folder: may call
	 * fb_run_add() for cases that follow from what was measured; they run behind all others. An
	 * error ends the job. NULL: there are none.
	 */
	int (*more)(struct fb_run *run, void *state, const struct fb_case *done);

	/*
	 * Pure and equal on all ranks: true, or false with the reason why the case is skipped.
	 * NULL: every case can be run.
	 */
	bool (*can)(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);

	/*
	 * Pure: about how many seconds a sample takes, and a repetition that is no sample, at
	 * least. NULL: not known.
	 */
	void (*seconds)(void *state, const struct fb_case *c, double *sample, double *other);

	/*
	 * Collective. Allocates, registers, connects, builds the plan. Timed as setup_us. An
	 * error has to be the same on all ranks (fb_group_agree), with nothing left to tear
	 * down: then it costs this row only (FB_EUNSUPPORTED: skipped, else: fault). Where
	 * ranks differ the job ends.
	 */
	int (*setup)(void *state, const struct fb_case *c, void **instance);

	/* Local. Writes input data and poisons what the operation must write. May be NULL. */
	int (*prime)(void *instance);

	/*
	 * Local, before each repetition of a case that is `cold`, before ready(), not timed: drives
	 * the operation's buffers out of the caches. An error ends the job. NULL: the program
	 * refuses --cache cold.
	 */
	int (*clear)(void *instance);

	/*
	 * Local, before the barrier of each repetition of `calls` calls, not timed: makes ready
	 * what need not be in the time (a captured graph). Cheap when nothing is to do. May be
	 * NULL. An error ends the job.
	 */
	int (*ready)(void *instance, int calls);

	/*
	 * Collective. The operation, `calls` times back to back, complete on return. Timed. An
	 * error ends the job, as other ranks may be waiting inside of the operation.
	 */
	int (*run)(void *instance, int calls);

	/*
	 * Local: whether each repetition creates all that it works with (a communicator, say). Then
	 * the first call is like all others: it counts as a call of the warm-up, and if it takes
	 * long it is the whole warm-up. NULL: no.
	 */
	bool (*anew)(void *instance);

	/*
	 * Local, once, behind the first call and the warm-up: repetitions from now on are samples.
	 * Returns true if those before did less work than a sample does, so that their times say
	 * nothing about the time of a sample. NULL: all are alike.
	 */
	bool (*begin_samples)(void *instance);

	/*
	 * Collective, behind begin_samples: how many of the last `runs` runs are whole. The others
	 * ended early because --max-time was over. They come after the whole ones, and are no
	 * samples. Same value on all ranks. NULL: all are whole.
	 */
	size_t (*whole)(void *instance, size_t runs);

	/*
	 * Collective, after each run(), not timed: a rank that has finished helps the others, for
	 * engines that move bytes only while somebody calls them. Afterwards a rank may wait for
	 * others in MPI. NULL: no rank needs help. An error ends the job.
	 */
	int (*settle)(void *instance);

	/*
	 * Local. Checks every element of this rank; `calls` as in the run() after the last
	 * prime(). Wrong elements go to *bad (zeroed before). NULL: nothing to check.
	 */
	int (*check)(void *instance, int calls, struct fb_mismatch *bad);

	/*
	 * Local: whether this rank's times count; ranks that have no part in the operation, or
	 * are its background, say no. At least one rank's do. NULL: all count.
	 */
	bool (*counts)(void *instance);

	/*
	 * Local, rank 0, after describe: fills traits->extra from the n samples, in order, of
	 * one call each. NULL: no column needs them.
	 */
	void (*summarise)(void *instance, const double *samples_us, size_t n,
			  struct fb_traits *traits);

	/*
	 * Collective, equal on all ranks except path: fills *traits (zeroed) for the row, which
	 * is rank 0's.
	 */
	void (*describe)(void *instance, struct fb_traits *traits);

	/* Collective. */
	void (*teardown)(void *instance);

	/*
	 * --check-plan: proves the case's plan without running it: 0, or FB_EPLAN with what is
	 * wrong in `report`; rank 0 only, no communication. NULL: program has no plans.
	 */
	int (*check_plan)(void *state, const struct fb_case *c, FILE *report);
};

static inline size_t fb_program_whole(const struct fb_program *p, void *instance, size_t runs)
{
	return p->whole ? p->whole(instance, runs) : runs;
}

/* Runs the program from start to end; returns the process's exit code. */
int fb_program_main(const struct fb_program *program, int argc, char **argv);

/* For open and expand: what the program hands to its engines, and two members of it. */
const struct fb_session *fb_run_session(const struct fb_run *run);
const struct fb_group *fb_run_world(const struct fb_run *run);
const struct fb_settings *fb_run_settings(const struct fb_run *run);

/*
 * Adds a case (copied with its texts; `program` may be NULL). Called from expand and more. A case
 * that is there already is not added again. Returns 0, FB_ENOMEM, or FB_EINPUT where the case's
 * keys are too long for the column `variant`, or --tag cannot be joined with them (both printed).
 */
int fb_run_add(struct fb_run *run, const struct fb_case *c);

#endif
