/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of single engines that are neither algorithm nor protocol: what NCCL is forced to use,
 * how buffers are registered with it, and which rank copies with engine copy. Each combination is a
 * pass over all axes. A pass that does not change a case gives an equal case, which counts once.
 */
#ifndef FB_COLLECTIVES_ENGINE_OPTIONS_H
#define FB_COLLECTIVES_ENGINE_OPTIONS_H

#include "common/library/nccl/force.h"
#include "common/run/axes.h"

struct fb_nccl_ctas_lists; /* see settings.h */

/* The options of one pass. All names are of static storage. */
struct fb_engine_options {
	struct fb_nccl_algo_proto nccl;
	const char *registration; /* "none", "registered", "window", "window-copy" */
	const char *direction;    /* "push", "pull", "auto" */
	struct fb_nccl_ctas ctas;
};

/*
 * Returns the engines that --engine stands for, as a list or "all". The default, usual, stands for
 * all engines on processors. Between GPUs (`gpu`) it stands for auto, NCCL, and MPI if MPI takes
 * GPU memory. If the user names algorithms or protocols, it stands for all engines there too,
 * because these two have none. Collective if `gpu`; returns the same on all ranks. The text is
 * static or belongs to the settings.
 */
const char *fb_engine_list(const struct fb_settings *settings, const struct fb_group *world,
			       bool gpu);

/*
 * Calls fb_axes_expand once for each pass, with the pass's options in *options. Unknown names give
 * FB_EINPUT; rank 0 prints errors. *options stays valid while `settings` is. `ctas`: lists of
 * NCCL's CTA options, or NULL.
 */
int fb_engine_options_expand(struct fb_run *run, const struct fb_case *base,
			     const struct fb_axes_accepted *axes, fb_axes_adjust_fn adjust,
			     void *arg, const struct fb_nccl_ctas_lists *ctas,
			     struct fb_engine_options *options);

/*
 * The member `own` of a collective's case (FB_OWN). Programs whose steps call collectives have the
 * first member too.
 */
struct fb_collective_own {
	uint64_t pass; /* fb_collective_state.pass */
	struct fb_nccl_ctas ctas;
};

/*
 * Writes the options of the pass into the key of a case whose engine has no plans. Names that the
 * options do not set become "library"; for engine auto they become "auto", but the transport stays.
 * `any_memory`: the user named no memory, so the function may set the memory that an option needs.
 */
void fb_engine_options_apply(const struct fb_engine_options *options, bool any_memory,
			     struct fb_case *c);

#endif
