/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spans of time on lanes, what a timeline is made of: from a CSV file with the columns lane, name,
 * begin_us, end_us and perhaps row, rank and kind, or from a trace in Chrome's format.
 */
#ifndef FB_SCRIPTS_TOOLS_PLOT_SPANS_H
#define FB_SCRIPTS_TOOLS_PLOT_SPANS_H

#include <stddef.h>

enum fb_span_kind { FB_SPAN_ANY, FB_SPAN_COMPUTES, FB_SPAN_COMMUNICATES };

struct fb_span {
	const char *row, *lane, *name; /* row: "" where the file has no rows */
	double begin_us, end_us;
	enum fb_span_kind kind; /* FB_SPAN_ANY where the file does not say */
	int rank;
};

struct fb_spans {
	struct fb_span *span; /* [count], in the order of the file */
	size_t count;
};

/*
 * Reads either kind of file; a trace is what begins with { or [. Returns 0 or FB_EINPUT (printed).
 */
int fb_spans_read(struct fb_spans *spans, const char *path);

/*
 * Reads a trace: an array of events, or an object whose traceEvents is one. Complete events (ph X)
 * and pairs of begin and end (B, E) become spans; names of threads and processes (M) name lanes.
 * Times are in microseconds, as that format has them.
 */
int fb_trace_read(struct fb_spans *spans, const char *path);

#endif
