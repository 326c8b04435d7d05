/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes exposed time from events; see profile.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/overlap_of/profile.h"

#include <math.h>
#include <stdlib.h>

bool fb_name_is(const regex_t *pattern, const char *name)
{
	return !regexec(pattern, name, 0, NULL, 0);
}

enum fb_activity fb_kernel_kind(const struct fb_profile *profile, const char *name)
{
	return fb_name_is(&profile->names->communication, name) ? FB_DOES_COMMUNICATION
								: FB_DOES_COMPUTE;
}

/* An activity of a device, with the time at which the host launched it. */
struct item {
	const struct fb_activity_event *event;
	double asked_us;
	size_t step;
};

struct work {
	const struct fb_profile *profile;
	const struct fb_activity_event **launch, **mark; /* sorted: by correlation, by begin */
	size_t launches, marks;
	struct item *item; /* by process, device, step, begin */
	size_t items;
	double (*span)[2]; /* scratch: intervals */
};

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_launches(const void *x, const void *y)
{
	const struct fb_activity_event *a = *(const struct fb_activity_event *const *)x;
	const struct fb_activity_event *b = *(const struct fb_activity_event *const *)y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static int compare_marks(const void *x, const void *y)
{
	const struct fb_activity_event *a = *(const struct fb_activity_event *const *)x;
	const struct fb_activity_event *b = *(const struct fb_activity_event *const *)y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return compare_numbers(a->begin_us, b->begin_us);
}

static int compare_devices(const struct item *a, const struct item *b)
{
	if (a->event->process != b->event->process)
		return a->event->process < b->event->process ? -1 : 1;
	return (a->event->device > b->event->device) - (a->event->device < b->event->device);
}

static int compare_items(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int order = compare_devices(a, b);

	if (!order)
		order = (a->step > b->step) - (a->step < b->step);
	return order ? order : compare_numbers(a->event->begin_us, b->event->begin_us);
}

static int compare_spans(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return compare_numbers(a[0], b[0]);
}

/* When the host launched it: at the begin of the launch; without one, when the device began. */
static double asked_at(const struct work *w, const struct fb_activity_event *event)
{
	const struct fb_activity_event **found =
		event->correlation && w->launches ? bsearch(&event, w->launch, w->launches,
							    sizeof(const void *), compare_launches)
						  : NULL;

	return found ? (*found)->begin_us : event->begin_us;
}

/*
 * The number of the mark in which a time is, from 1: the last one of the process that begins before
 * it. 0: before the first; where there are no marks, all is one step, which is 1.
 */
static size_t step_at(const struct work *w, uint64_t process, double time)
{
	size_t number = 0, marks = 0;

	for (size_t m = 0; m < w->marks; m++) {
		if (w->mark[m]->process != process)
			continue;
		marks++;
		if (w->mark[m]->begin_us > time)
			continue;
		number = time < w->mark[m]->end_us ? marks : 0;
	}
	return marks ? number : 1;
}

/* Joins n intervals of w->span to those that do not overlap, and returns how many. */
static size_t join(struct work *w, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(w->span, n, sizeof(*w->span), compare_spans);
	for (size_t i = 0; i < n; i++)
		if (kept && w->span[i][0] <= w->span[kept - 1][1]) {
			w->span[kept - 1][1] = fmax(w->span[kept - 1][1], w->span[i][1]);
		} else {
			w->span[kept][0] = w->span[i][0];
			w->span[kept++][1] = w->span[i][1];
		}
	return kept;
}

/* The time in which one of these kinds (a set of bits) is done by items [i, end). */
static double time_of(struct work *w, size_t i, size_t end, unsigned kinds)
{
	double sum = 0;
	size_t n = 0;

	for (; i < end; i++)
		if (kinds & 1U << w->item[i].event->kind) {
			w->span[n][0] = w->item[i].event->begin_us;
			w->span[n++][1] = w->item[i].event->end_us;
		}
	n = join(w, n);
	for (size_t k = 0; k < n; k++)
		sum += w->span[k][1] - w->span[k][0];
	return sum;
}

static void count_syncs(const struct work *w, struct fb_step_times *t)
{
	for (size_t i = 0; i < w->profile->count; i++) {
		const struct fb_activity_event *e = &w->profile->event[i];

		if (e->kind != FB_DOES_SYNC || e->process != t->process ||
		    step_at(w, e->process, e->begin_us) != t->step + 1)
			continue;
		t->syncs++;
		t->sync_us += e->end_us - e->begin_us;
	}
}

/* Items [i, end) are a step of a device that could begin at `from`; returns when it ends. */
static double measure_step(struct work *w, size_t i, size_t end, double from,
			   struct fb_step_times *t)
{
	const unsigned compute = 1U << FB_DOES_COMPUTE, communication = 1U << FB_DOES_COMMUNICATION;
	double last = from, last_compute = from, first = w->item[i].event->begin_us, both;

	for (size_t k = i; k < end; k++) {
		const struct fb_activity_event *e = w->item[k].event;

		last = fmax(last, e->end_us);
		if (e->kind == FB_DOES_COMPUTE)
			last_compute = fmax(last_compute, e->end_us);
	}
	from = isfinite(from) ? fmin(from, last) : first;
	last_compute = isfinite(last_compute) ? last_compute : from;
	*t = (struct fb_step_times){
		.process = w->item[i].event->process,
		.device = w->item[i].event->device,
		.step = w->item[i].step - 1,
		.step_us = last - from,
		.compute_us = time_of(w, i, end, compute),
		.communication_us = time_of(w, i, end, communication),
		.tail_us = last - last_compute,
	};
	both = time_of(w, i, end, compute | communication);
	t->exposed_us = both - t->compute_us;
	t->hidden_share =
		t->communication_us > 0 ? 1 - t->exposed_us / t->communication_us : (double)NAN;
	t->gap_us = fmax(
		0, t->step_us - time_of(w, i, end, compute | communication | 1U << FB_DOES_COPY));
	count_syncs(w, t);
	return last;
}

static void measure_all(struct work *w, struct fb_step_times *list, size_t *count)
{
	double from = -INFINITY;
	size_t end;

	*count = 0;
	for (size_t i = 0; i < w->items; i = end) {
		for (end = i + 1; end < w->items && !compare_devices(&w->item[i], &w->item[end]) &&
				  w->item[i].step == w->item[end].step;)
			end++;
		if (i && compare_devices(&w->item[i - 1], &w->item[i]))
			from = -INFINITY;
		/* An activity outside of all marks belongs to no step. */
		if (w->item[i].step)
			from = measure_step(w, i, end, from, &list[(*count)++]);
		else
			from = -INFINITY;
	}
}

static void collect(struct work *w)
{
	const struct fb_profile *p = w->profile;

	for (size_t i = 0; i < p->count; i++) {
		const struct fb_activity_event *e = &p->event[i];

		if (e->kind == FB_DOES_LAUNCH)
			w->launch[w->launches++] = e;
		else if (e->kind == FB_DOES_STEP)
			w->mark[w->marks++] = e;
		else if (e->kind != FB_DOES_SYNC)
			w->item[w->items++] = (struct item){.event = e};
	}
	if (w->launches)
		qsort(w->launch, w->launches, sizeof(*w->launch), compare_launches);
	if (w->marks)
		qsort(w->mark, w->marks, sizeof(*w->mark), compare_marks);
	for (size_t i = 0; i < w->items; i++) {
		struct item *item = &w->item[i];

		item->asked_us = asked_at(w, item->event);
		item->step = step_at(w, item->event->process, item->asked_us);
	}
	if (w->items)
		qsort(w->item, w->items, sizeof(*w->item), compare_items);
}

int fb_profile_measure(struct fb_profile *profile, struct fb_step_times **list, size_t *count)
{
	size_t n = profile->count + 1;
	struct work w = {
		.profile = profile,
		.launch = fb_new(n, sizeof(*w.launch)),
		.mark = fb_new(n, sizeof(*w.mark)),
		.item = fb_new(n, sizeof(*w.item)),
		.span = fb_new(n, sizeof(*w.span)),
	};

	*list = fb_new(n, sizeof(**list));
	collect(&w);
	measure_all(&w, *list, count);
	if (*count == 0)
		return fb_error(FB_EINPUT, "the trace has nothing that a device did%s",
				w.items ? " within a step: --step says what marks one" : "");
	return FB_OK;
}
