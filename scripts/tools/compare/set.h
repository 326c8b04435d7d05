/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of reading a result set, each in a file of its own; see launches.h for the whole. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_SET_H
#define FB_SCRIPTS_TOOLS_COMPARE_SET_H

#include "scripts/tools/compare/launches.h"

/*
 * launches.c: adds the rows of one file. With in_folder, files of other kinds are passed over.
 * Returns 0 or FB_EINPUT (printed).
 */
int fb_set_read_rows(struct fb_set *set, const struct fb_reading *reading, const char *path,
		     bool in_folder);

/*
 * plan_facts.c: adds what a sweep's plan.tsv (docs/studies.md) says of a side, its variables as
 * variable.NAME and its build. Returns 0 or FB_EINPUT (no plan; printed).
 */
int fb_env_read_plan(struct fb_env *env, const char *path, const char *side);

/* paths.c: keeps the first reason (NULL: none) and the first path ("": none) of each key. */
void fb_set_note(struct fb_set *set, uint32_t key, const char *reason, const char *path);

#endif
