/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of collective algorithms. Adding one is one file in this folder and one line in
 * algorithms.def; tests, programs and engines find it from there.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_ALGORITHM_H
#define FB_COLLECTIVES_ALGORITHM_ALGORITHM_H

#include "common/plan/builder.h"

/* All algorithms, grouped by collective, in the order of algorithms.def. */
extern const struct fb_algorithm *const fb_algorithms[];
extern const int fb_algorithm_count;

#define FB_ALGORITHM(collective, name) \
	extern const struct fb_algorithm fb_##collective##_##name;
#include "collectives/algorithm/algorithms.def"
#undef FB_ALGORITHM

/* The algorithm of that name for that collective, or NULL. */
const struct fb_algorithm *fb_algorithm_find(enum fb_collective collective, const char *name);

/*
 * The same for a case's text, which may name parts: "hierarchical:ring+tree+ring". *stages points
 * into the text, or is NULL without parts.
 */
const struct fb_algorithm *fb_algorithm_of_text(enum fb_collective collective, const char *text,
						const char **stages);

/* Whether it works for the shape; writes the reason otherwise. */
bool fb_algorithm_can(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
		      char *why, size_t n);

#endif
