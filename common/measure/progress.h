/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the progress of a run to stderr. On a terminal one line is rewritten. Elsewhere, as under
 * most mpiruns, there is a line for each tenth of the run, and one after 5, 10, 20, 40 s and so on,
 * so that a person soon sees progress and logs of batch jobs stay short.
 */
#ifndef FB_COMMON_MEASURE_PROGRESS_H
#define FB_COMMON_MEASURE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct fb_progress {
	bool shown, terminal;
	const char *name;
	size_t total, done;
	double start_s, next_s; /* a line is due at next_s, counted from start_s */
	int tenth; /* the last one that was printed */
};

/* Local, on the rank that prints. With quiet nothing is ever printed. */
void fb_progress_begin(struct fb_progress *progress, const char *name, size_t total, bool quiet);

/* Removes the line, so that something else can be printed. */
void fb_progress_clear(const struct fb_progress *progress);

/* One more is done; `next` says what comes (NULL: nothing). */
void fb_progress_done(struct fb_progress *progress, const char *next);

/* Says what goes on within one case; on a separate line unless on a terminal. */
void fb_progress_say(const char *name, const char *text, bool quiet);

/* A duration as people say it: "12 s", "3 min 20 s", "2 h 5 min". Returns buf. */
const char *fb_duration_text(double seconds, char *buf, size_t n);

#endif
