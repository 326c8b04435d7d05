/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes timelines beside the results: spans.csv, which scripts/plot timeline and distribution
 * draw, and trace.json in Chrome's format for its viewers. Rows of one run, and runs of one folder,
 * follow each other.
 */
#ifndef FB_COMMON_RECORD_TIMELINE_H
#define FB_COMMON_RECORD_TIMELINE_H

#include "common/record/case.h"
#include "common/system/group.h"

enum { FB_TIMELINE_NAME_CHARS = 48, FB_TIMELINE_ROW_CHARS = 2 * FB_VARIANT_CHARS };

/* The kind of a span in the figure that marks exposed communication (column `kind`). */
enum fb_timeline_kind { FB_SPAN_OTHER, FB_SPAN_COMPUTE, FB_SPAN_COMMUNICATE };

/* Spans of one lane may overlap. Names have no commas and no quotes. */
struct fb_timeline_span {
	enum fb_timeline_kind kind;
	char lane[FB_TIMELINE_NAME_CHARS], name[FB_TIMELINE_NAME_CHARS];
	double begin_us, end_us; /* of one clock */
	int rank;
};

/* The row that spans are of: "serve replay shm disaggregated rate=20". */
void fb_timeline_row(const char *program, const struct fb_case *c,
		     char row[FB_TIMELINE_ROW_CHARS]);

/*
 * Collective: makes both files in `folder` where they are missing, and the folder, so that a job
 * which could not write them ends before it measures. NULL: nothing. 0, FB_EIO (printed) or what
 * another rank has.
 */
int fb_timeline_open(const char *option, const char *folder, const struct fb_group *world);

/*
 * Local: appends the spans of a row to both files in `folder`, with times from `zero_us` on.
 * `clock_error_us`: how wrong differences of times of two ranks may be. `option` is the option that
 * named the folder, for messages.
 * 0 or FB_EIO (printed).
 */
int fb_timeline_append(const char *option, const char *folder, const char *row,
		       const struct fb_timeline_span *spans, size_t n, double zero_us,
		       double clock_error_us);

#endif
