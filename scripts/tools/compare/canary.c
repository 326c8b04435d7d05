/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Canaries of launches against each other; see marks.h. The canary of one launch that is as slow
 * before as after says nothing within that launch: beside those of other launches it does.
 */
#include "scripts/tools/compare/marks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Launches of a quiet machine are nearer to each other; an upgrade that moves all may move more. */
static const double near_factor = 1.5;

static bool alike(const struct fb_mark *a, const struct fb_mark *b)
{
	return b->canary_us > 0 && !strcmp(a->ranks, b->ranks) && !strcmp(a->nodes, b->nodes) &&
	       !strcmp(a->variant, b->variant);
}

/* Whether so few are near that the launch stands alone; all figures are of alike launches. */
static bool is_apart(struct fb_marks *const *side, size_t sides, const struct fb_mark *mark)
{
	size_t all = 0, near = 0, smaller = SIZE_MAX;

	for (size_t s = 0; s < sides; s++) {
		size_t of_side = 0;

		for (size_t i = 0; i < side[s]->count; i++) {
			const struct fb_mark *other = &side[s]->mark[i];

			if (!alike(mark, other))
				continue;
			of_side++;
			near += fabs(log(other->canary_us / mark->canary_us)) <= log(near_factor);
		}
		all += of_side;
		smaller = of_side < smaller ? of_side : smaller;
	}
	return 4 * near < all && near < smaller;
}

void fb_marks_judge_canaries(struct fb_marks *const *side, size_t sides)
{
	for (size_t s = 0; s < sides; s++)
		for (size_t i = 0; i < side[s]->count; i++) {
			struct fb_mark *mark = &side[s]->mark[i];
			size_t used = strlen(mark->flags);

			if (mark->canary_us > 0 && is_apart(side, sides, mark))
				snprintf(mark->flags + used, sizeof(mark->flags) - used,
					 "%scanary-apart", used ? ";" : "");
		}
}
