/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a study to an order of launches.
 *
 * A launch is one round of all programs of the study, on one side, in one variant (ranks, nodes,
 * environment). `launch_index` counts the launches of a variant and side from 0. Launches of
 * different variants or sides with the same launch_index belong together, because they ran at about
 * the same time. `index` is the place in the order, by which users name a launch.
 *
 * Order: what drifts while a study runs must not look like a difference of variants or sides.
 * Without sides every launch_index is a block of all variants in random order. With sides two
 * launch_indexes make a block; in it each variant runs ABBA or BAAB, chosen at random, which
 * cancels a steady drift; an odd last launch_index is AB or BA. Source: the randomised complete
 * block design of textbooks; ABBA is that of weighing (Student, 1931).
 */
#ifndef FB_SCRIPTS_TOOLS_STUDY_PLAN_H
#define FB_SCRIPTS_TOOLS_STUDY_PLAN_H

#include "scripts/tools/study/study.h"

/* Ranks, nodes and environment of a launch. */
struct fb_sweep_variant {
	uint64_t ranks, nodes; /* nodes 0: as the launcher places them */
	char *variables;       /* "A=1;B=2", sorted by name; "" for none */
};

struct fb_sweep_launch {
	size_t launch_index;
	size_t variant; /* index into fb_sweep_plan.variant */
	int side;	/* FB_SIDE_A or FB_SIDE_B; FB_SIDE_A where there is one side only */
};

struct fb_sweep_plan {
	struct fb_sweep_variant *variant; /* [nvariants] */
	size_t nvariants;
	struct fb_sweep_launch *launch; /* [count] in running order */
	size_t count;
};

/*
 * Makes the plan. `ranks` is for studies that do not say how many. Numbers of ranks that do not
 * divide among the nodes are left out, which a line on stderr says. The same seed gives the same
 * order. Returns 0 or FB_EINPUT (printed: nothing is left).
 */
int fb_sweep_plan_make(struct fb_sweep_plan *plan, const struct fb_study *study, uint64_t ranks,
		       uint64_t seed);

#endif
