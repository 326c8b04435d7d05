/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps with and without a transfer under way; see interference.h. */
#include "kvtransfer/serve/interference.h"

void fb_step_times_add(struct fb_step_times *t, enum fb_step_kind kind, double seconds)
{
	t->seconds[kind] += seconds;
	t->steps[kind]++;
	if (kind == FB_STEP_ALONE)
		t->squares += seconds * seconds;
}

void fb_step_times_sum(const struct fb_step_times *times, size_t n, double *with, double *without)
{
	for (const struct fb_step_times *t = times; t < times + n; t++) {
		double alone = t->seconds[FB_STEP_ALONE];

		if (alone <= 0)
			continue;
		*with += t->seconds[FB_STEP_UNDER_WAY] + t->seconds[FB_STEP_BEGINNING];
		*without += alone / (double)t->steps[FB_STEP_ALONE] *
				    (double)t->steps[FB_STEP_UNDER_WAY] +
			    t->squares / alone * (double)t->steps[FB_STEP_BEGINNING];
	}
}

void fb_step_watch_begin(struct fb_step_watch *w, uint32_t seen, uint32_t left, double began)
{
	enum fb_step_kind kind = w->moving ? FB_STEP_UNDER_WAY
				 : seen	   ? FB_STEP_BEGINNING
					   : FB_STEP_ALONE;

	if (w->seconds > 0)
		fb_step_times_add(&w->times[w->requests], kind, w->seconds);
	w->seconds = 0;
	w->moving = left;
	w->began = began;
}

void fb_step_watch_end(struct fb_step_watch *w, uint32_t requests, double now)
{
	w->requests = requests;
	w->seconds = now - w->began;
}
