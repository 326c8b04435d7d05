/* SPDX-License-Identifier: BSD-3-Clause */
/* The column that is compared, and whether more or less of it is better. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_METRIC_H
#define FB_SCRIPTS_TOOLS_COMPARE_METRIC_H

#include <stdbool.h>
#include <stddef.h>

struct fb_metric_name {
	const char *column; /* borrowed */
	bool rate;	    /* more is better; else it is a cost, of which less is better */
	bool time;	    /* in us: the clock's own cost hides smaller changes */
};

/*
 * The metric of a column of the schema, or of a program's own one, whose name must end in a unit
 * that shows whether more or less is better. Returns 0, or FB_EINPUT with nothing printed: a count,
 * a text, an unknown unit.
 */
int fb_metric_parse(const char *column, struct fb_metric_name *metric);

/* What fb_metric_parse accepts, as a phrase. Returns buf. */
const char *fb_metric_accepted(char *buf, size_t n);

#endif
