/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress line; see progress.h. */
#include "common/measure/clock.h"
#include "common/measure/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double FIRST_LINE_S = 5;

const char *fb_duration_text(double seconds, char *buf, size_t n)
{
	long long s = seconds > 0 && seconds < 1e15 ? (long long)(seconds + 0.5) : 0;

	if (s < 60)
		snprintf(buf, n, "%lld s", s);
	else if (s < 3600)
		snprintf(buf, n, "%lld min %lld s", s / 60, s % 60);
	else
		snprintf(buf, n, "%lld h %lld min", s / 3600, s % 3600 / 60);
	return buf;
}

void fb_progress_begin(struct fb_progress *progress, const char *name, size_t total, bool quiet)
{
	*progress = (struct fb_progress){
		.shown = !quiet && total > 0,
		.terminal = isatty(STDERR_FILENO) == 1,
		.name = name,
		.total = total,
		.start_s = fb_monotonic_s(),
		.next_s = FIRST_LINE_S,
	};
	if (progress->shown && progress->terminal)
		fprintf(stderr, "\r\033[K%s: 0 of %zu", name, total);
}

void fb_progress_clear(const struct fb_progress *progress)
{
	if (progress->shown && progress->terminal)
		fputs("\r\033[K", stderr);
}

void fb_progress_done(struct fb_progress *progress, const char *next)
{
	double used = fb_monotonic_s() - progress->start_s;
	int tenth;
	char left[32], line[160];

	progress->done++;
	if (!progress->shown)
		return;
	tenth = (int)(progress->done * 10 / progress->total);
	/* Rows are in random order, so the mean of those done is a fair guess for the rest. */
	fb_duration_text(used / (double)progress->done * (double)(progress->total - progress->done),
			 left, sizeof(left));
	if (progress->terminal) {
		snprintf(line, sizeof(line), "%s: %zu of %zu, %s left%s%.60s", progress->name,
			 progress->done, progress->total, left, next ? ": " : "", next ? next : "");
		fprintf(stderr, "\r\033[K%s", line);
		if (progress->done == progress->total)
			fputs("\r\033[K", stderr);
	} else if (tenth > progress->tenth || used >= progress->next_s) {
		while (progress->next_s <= used)
			progress->next_s *= 2;
		fprintf(stderr, "%s: %zu of %zu, %s left\n", progress->name, progress->done,
			progress->total, left);
	}
	progress->tenth = tenth;
}

void fb_progress_say(const char *name, const char *text, bool quiet)
{
	bool terminal = isatty(STDERR_FILENO) == 1;

	if (!quiet)
		fprintf(stderr, "%s%s: %s%s", terminal ? "\r\033[K" : "", name, text,
			terminal ? "" : "\n");
}
