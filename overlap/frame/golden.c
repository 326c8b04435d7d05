/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden-section search; see golden.h. */
#include "overlap/frame/golden.h"

#include <math.h>
#include <stddef.h>

static const double ratio = 0.6180339887498949;

void fb_golden_open(struct fb_golden *g, double from, double to, double least)
{
	*g = (struct fb_golden){.from = from, .to = to, .least = least};
}

static const struct fb_golden_point *at(const struct fb_golden *g, double x)
{
	for (int i = 0; i < g->npoints; i++)
		if (fabs(g->point[i].x - x) <= g->least / 8)
			return &g->point[i];
	return NULL;
}

/* Separate intervals, and which is the slower one. */
static bool slower(const struct fb_golden_point *a, const struct fb_golden_point *b)
{
	return a->low > b->high;
}

bool fb_golden_next(struct fb_golden *g, double *x)
{
	while (g->to - g->from > g->least && g->close < 2 && g->npoints < FB_GOLDEN_MOST) {
		double inner[2] = {g->to - ratio * (g->to - g->from),
				   g->from + ratio * (g->to - g->from)};
		const struct fb_golden_point *left = at(g, inner[0]), *right = at(g, inner[1]);

		if (!left || !right) {
			*x = inner[left ? 1 : 0];
			return true;
		}
		if (slower(left, right)) {
			g->from = inner[0];
			g->close = 0;
		} else if (slower(right, left)) {
			g->to = inner[1];
			g->close = 0;
		} else {
			g->from = inner[0];
			g->to = inner[1];
			g->close++;
		}
	}
	return false;
}

void fb_golden_put(struct fb_golden *g, struct fb_golden_point point)
{
	if (g->npoints < FB_GOLDEN_MOST)
		g->point[g->npoints++] = point;
}

const struct fb_golden_point *fb_golden_best(const struct fb_golden *g)
{
	const struct fb_golden_point *best = NULL;

	for (int i = 0; i < g->npoints; i++)
		if (!best || g->point[i].median < best->median)
			best = &g->point[i];
	return best;
}
