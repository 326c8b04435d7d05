/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A side's environment in a form that can be compared: one line of text for each fact, whatever its
 * scope, and however many launches have it.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_ENVIRONMENT_VIEW_H
#define FB_SCRIPTS_TOOLS_COMPARE_ENVIRONMENT_VIEW_H

#include "scripts/tools/lib/env.h"

struct fb_view_line {
	const char *name;  /* "cpu.model", "option slots of all_reduce" */
	const char *value; /* "0-15", "535.1 on 3, 550.2 on n4" */
};

struct fb_view {
	struct fb_view_line *line; /* [count], by name */
	size_t count;
};

/*
 * Makes a view of sorted facts. Facts that differ between any two runs are left out: load, free
 * memory, durations, paths of results. Facts of a program's launches become one line for the
 * program. GPUs and adapters become lines that count models.
 */
void fb_view_make(struct fb_view *view, const struct fb_env *env);

#endif
