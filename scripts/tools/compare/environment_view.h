/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A side's environment as what can be compared: one line of text for each fact, whatever its scope
 * was and in however many launches it was said.
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
 * Makes a view of sorted facts. Left out is what differs between any two runs: moments (load,
 * free memory), durations, where files went. Facts of a program's launches become one line for
 * the program. GPUs and adapters become lines that count models.
 */
void fb_view_make(struct fb_view *view, const struct fb_env *env);

#endif
