/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists what a run would do: --list, --dry-run, --check-plan; see run.h. */
#include "common/base/error.h"
#include "common/run/run.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

/* A row's warm-up and repetitions, in seconds, without setup and verification. */
static const double quickest_row_s = 0.03;

/* The cases as rows on standard output: what their keys will be, and the reasons. */
static int list_rows(struct fb_run *run)
{
	struct fb_settings settings = run->settings;
	char reason[FB_REASON_CHARS];
	int err, other;

	settings.csv = NULL;
	settings.raw = settings.raw_ranks = false;
	err = fb_recorder_open(&run->recorder, run->program, &settings, &run->world, 0);
	for (size_t i = 0; i < run->count && !err; i++) {
		struct fb_row row = fb_recorder_row(&run->recorder, &run->cases[i]);
		bool good = fb_run_can(run, &run->cases[i], reason);

		row.status = FB_STATUS_SKIPPED;
		row.reason = good ? "only listed" : reason;
		err = fb_recorder_put(&run->recorder, &row, NULL, 0);
	}
	other = fb_recorder_close(&run->recorder);
	return err ? err : other;
}

int fb_list_cases(struct fb_run *run)
{
	char text[FB_CASE_CHARS], reason[FB_REASON_CHARS];
	size_t skipped = 0;

	if (run->world.rank != 0)
		return FB_OK;
	if (run->settings.format == FB_FORMAT_CSV)
		return list_rows(run);
	for (size_t i = 0; i < run->count; i++) {
		bool good = fb_run_can(run, &run->cases[i], reason);

		skipped += good ? 0 : 1;
		printf("%s%s%s\n", fb_case_text(&run->cases[i], text),
		       good ? "" : "  skipped: ", reason);
	}
	printf("%zu cases, of which %zu would be skipped\n", run->count, skipped);
	return FB_OK;
}

/* Adds the seconds of a row, at least and at most. */
static void add_seconds(const struct fb_run *run, const struct fb_case *c, double *least,
			double *most)
{
	double sample = 0, other = 0;

	if (run->program->seconds)
		run->program->seconds(run->state, c, &sample, &other);
	*least += fmax(quickest_row_s, 2 * other + 2 * sample);
	/* The warm-up may take half of the time that the repetitions may; both may overrun. */
	*most += 1.5 * run->settings.max_time_s + 2 * other + 2 * sample;
}

int fb_list_order(struct fb_run *run)
{
	char text[FB_CASE_CHARS], reason[FB_REASON_CHARS], least[32], most[32];
	double least_s = 0, most_s = 0;
	size_t measured = 0;

	if (run->world.rank != 0)
		return FB_OK;
	for (size_t i = 0; i < run->count; i++) {
		bool good = fb_run_can(run, &run->cases[i], reason);

		measured += good ? 1 : 0;
		if (good)
			add_seconds(run, &run->cases[i], &least_s, &most_s);
		printf("%5zu  %s%s%s\n", i, fb_case_text(&run->cases[i], text),
		       good ? "" : "  skipped: ", reason);
	}
	printf("%zu cases, %zu to measure: from %s to %s, and setup\n", run->count, measured,
	       fb_duration_text(least_s, least, sizeof(least)),
	       fb_duration_text(most_s, most, sizeof(most)));
	return FB_OK;
}

/* Proves one case's plan; what is wrong is printed in one piece. */
static int check_plan(struct fb_run *run, const struct fb_case *c)
{
	char text[FB_CASE_CHARS], *report = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&report, &length);
	int err;

	if (!file)
		return fb_error(FB_ENOMEM, "out of memory for a report");
	err = run->program->check_plan(run->state, c, file);
	fclose(file);
	if (err)
		fb_error(err, "%s: %s: %s", fb_case_text(c, text), fb_strerror(err),
			 report ? report : "");
	free(report);
	return err;
}

int fb_check_plans(struct fb_run *run)
{
	long long counts[3] = {0, 0, 0}; /* checked, skipped, wrong */
	char reason[FB_REASON_CHARS];
	int worst = FB_OK;
	sigset_t set;

	if (!run->program->check_plan) {
		if (run->world.rank == 0)
			fb_error(FB_EINPUT, "--check-plan: %s has no plans to check",
				 run->program->name);
		return FB_EINPUT;
	}
	/* Ranks check different cases and finish at different times, which is no hang. */
	fb_watchdog_close(run->watchdog);
	run->watchdog = NULL;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (size_t i = (size_t)run->world.rank; i < run->count; i += (size_t)run->world.nranks) {
		int err;

		if (!fb_run_can(run, &run->cases[i], reason)) {
			counts[1]++;
			continue;
		}
		err = check_plan(run, &run->cases[i]);
		counts[0]++;
		counts[2] += err ? 1 : 0;
		worst = err < worst ? err : worst;
	}
	MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_LONG_LONG, MPI_SUM, run->world.comm);
	if (run->world.rank == 0)
		printf("%lld plans checked, %lld wrong, %lld cases skipped\n", counts[0], counts[2],
		       counts[1]);
	return fb_group_agree(&run->world, worst);
}
