/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the canaries of launches with each other; see marks.h. A canary that is slow both before
 * and after its launch is only noticed in this way.
 */
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

/* On a quiet machine launches are nearer to each other than this. */
static const double near_factor = 1.5;

static bool alike(const struct fb_mark *a, const struct fb_mark *b)
{
	return b->canary_us > 0 && !strcmp(a->ranks, b->ranks) && !strcmp(a->nodes, b->nodes) &&
	       !strcmp(a->variant, b->variant);
}

/* Whether too few canaries of launches like this one are near its canary. */
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
	static const char flag[] = "canary-apart";

	for (size_t s = 0; s < sides; s++)
		for (size_t i = 0; i < side[s]->count; i++) {
			struct fb_mark *mark = &side[s]->mark[i];

			if (mark->canary_us > 0 && is_apart(side, sides, mark))
				fb_add_flag(mark->flags, sizeof(mark->flags), flag, strlen(flag));
		}
}
