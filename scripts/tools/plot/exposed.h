/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which parts of spans are exposed communication: the rank communicates and does not compute. Lists
 * of spans are sorted by begin here. What a span's kind and rank are: spans.h.
 */
#ifndef FB_SCRIPTS_TOOLS_PLOT_EXPOSED_H
#define FB_SCRIPTS_TOOLS_PLOT_EXPOSED_H

#include "scripts/tools/plot/spans.h"

/* One rank of one row, in us. Spans at the same time count once. */
struct fb_exposed {
	int rank;
	double communication_us, exposed_us;
};

/* Called with each exposed part of a span, in the order of time. */
typedef void (*fb_exposed_part)(void *data, double begin_us, double end_us);

/*
 * The exposed time of span `i` from `from_us` on: 0 for spans that do not communicate. `part` may
 * be NULL.
 */
double fb_exposed_of(const struct fb_spans *spans, size_t i, double from_us, fb_exposed_part part,
		     void *data);

/*
 * The rank of a row with the longest exposed communication. communication_us is 0 where the file
 * does not say what spans are.
 */
struct fb_exposed fb_exposed_most(const struct fb_spans *spans, const char *row);

#endif
