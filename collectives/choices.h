/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What engines that are no product of algorithms and protocols can be told: what NCCL is forced
 * to use, how buffers are registered with it, who copies with engine copy. Each combination is a
 * pass over all axes; what a pass does not change is the same case again and counts once.
 */
#ifndef FB_COLLECTIVES_CHOICES_H
#define FB_COLLECTIVES_CHOICES_H

#include "common/library/nccl/force.h"
#include "common/run/axes.h"

struct fb_nccl_ctas_lists; /* see settings.h */

/* One pass. Names of static storage. */
struct fb_choices {
	struct fb_nccl_choice nccl;
	const char *registration; /* "none", "registered", "window", "window-copy" */
	const char *direction;    /* "push", "pull", "auto" */
	struct fb_nccl_ctas ctas;
};

/*
 * The engines that --engine stands for, as a list or "all". Its default, usual, stands for all on
 * processors. Between GPUs (`gpu`) it stands for what a user gets, not for every engine: auto
 * beside NCCL, and MPI where it takes GPU memory; but who names algorithms or protocols wants the
 * engines that have them. Collective where `gpu`, and the same on all ranks. Static, or of the
 * settings.
 */
const char *fb_choices_engines(const struct fb_settings *settings, const struct fb_group *world,
			       bool gpu);

/*
 * fb_axes_expand once for every pass, with *now set to it. Errors are printed by rank 0, with
 * FB_EINPUT for unknown names. now stays valid while `settings` is. `ctas` may be NULL: NCCL's.
 */
int fb_choices_expand(struct fb_run *run, const struct fb_case *base,
		      const struct fb_axes_choices *axes, fb_axes_adjust_fn adjust, void *arg,
		      const struct fb_nccl_ctas_lists *ctas, struct fb_choices *now);

/*
 * What a collective's case has in `own`. The first member is that of programs whose steps call
 * collectives, too; see FB_OWN.
 */
struct fb_collective_own {
	uint64_t pass; /* fb_collective_state.pass */
	struct fb_nccl_ctas ctas;
};

/*
 * Puts into a case of an engine without plans what the pass says, "library" elsewhere, and "auto"
 * of engine auto, whose transport stays.
 * `any_memory`: the user named no memory, so that it may be what the choice needs.
 */
void fb_choices_apply(const struct fb_choices *now, bool any_memory, struct fb_case *c);

#endif
