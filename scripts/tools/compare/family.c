/* SPDX-License-Identifier: BSD-3-Clause */
/* Westfall and Young's max-T and Holm's adjustment; see family.h. */
#include "scripts/tools/compare/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/effect.h"
#include "scripts/tools/compare/max_t.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/lib/memory.h"

/* Indices of the rows of each list. */
struct lists {
	size_t *complete, *incomplete;
	size_t ncomplete, nincomplete, untested;
};

/* A number with its place, for sorting one by the other. */
struct ranked {
	double value;
	size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void fb_holm(double *p, size_t n)
{
	struct ranked *order = fb_new(n + 1, sizeof(*order));
	double least = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = (struct ranked){.value = p[i], .index = i};
	qsort(order, n, sizeof(*order), compare_ranked);
	for (size_t i = 0; i < n; i++) {
		least = fmax(least, fmin(1, order[i].value * (double)(n - i)));
		p[order[i].index] = least;
	}
}

static int classify(const struct fb_design *design, const double *y, size_t rows,
		    struct fb_family_row *out, struct lists *lists)
{
	double *room = fb_new(2 * design->launches, sizeof(*room));
	int ret = FB_OK;

	for (size_t i = 0; i < rows && !ret; i++) {
		struct fb_row_values v;

		ret = fb_row_values(design, y + i * design->launches, room, &v);
		if (ret)
			break;
		out[i] = (struct fb_family_row){.list = FB_LIST_UNTESTED, .t = (double)NAN, .p = 1};
		if (v.complete) {
			out[i].list = FB_LIST_MAX_T;
			lists->complete[lists->ncomplete++] = i;
		} else if (v.nb > 0 && (v.na > 0 || design->block)) {
			out[i].list = FB_LIST_HOLM;
			lists->incomplete[lists->nincomplete++] = i;
		} else {
			lists->untested++;
		}
	}
	return ret;
}

static int test_incomplete(const struct fb_design *design, const double *y,
			   const struct lists *lists, struct fb_family_row *out)
{
	size_t n = lists->nincomplete;
	double *p = fb_new(n + 1, sizeof(*p));
	double share = (double)(lists->ncomplete + n) / (double)n;
	int ret = FB_OK;

	for (size_t i = 0; i < n && !ret; i++) {
		struct fb_effect effect;

		ret = fb_effect(design, y + lists->incomplete[i] * design->launches, &effect);
		if (!ret)
			p[i] = effect.p;
	}
	if (!ret)
		fb_holm(p, n);
	for (size_t i = 0; i < n && !ret; i++)
		out[lists->incomplete[i]].p = fmin(1, p[i] * share);
	return ret;
}

/* The smallest |t| with p <= alpha: at most that share of the maxima exceeds it. */
static double critical_t(const struct fb_statistic *s, const double *sorted, size_t n, double alpha)
{
	size_t allowed = (size_t)(alpha * (double)n * (1 + 1e-12));

	if (allowed == 0)
		return (double)INFINITY;
	return allowed >= n ? 0 : fb_statistic_t(s, sorted[n - 1 - allowed]);
}

/* What the test of complete rows works on. */
struct work {
	struct fb_ready_rows rows;
	struct fb_assignments assignments;
	struct ranked *by_z2;
	size_t *order;
	double *threshold, *maximum;
	uint32_t *reached;
};

static int make_work(const struct fb_design *design, const struct fb_design_size *size,
		     const double *y, const struct lists *lists,
		     const struct fb_family_options *options, struct work *w)
{
	const struct fb_assign_options assign = {
		.most = FB_FAMILY_EXHAUSTIVE,
		.draws = options->draws,
		.seed = options->seed,
		.mirrored_once = true,
	};
	size_t n = lists->ncomplete;
	int ret = fb_ready_rows_make(design, size, y, lists->complete, n, &w->rows);

	if (ret)
		return ret;
	fb_assignments_make(design, size, &assign, &w->assignments);
	w->by_z2 = fb_new(n, sizeof(*w->by_z2));
	w->order = fb_new(n, sizeof(*w->order));
	w->threshold = fb_new(n, sizeof(*w->threshold));
	w->reached = fb_new(n, sizeof(*w->reached));
	w->maximum = fb_new(2 * w->assignments.count, sizeof(*w->maximum));
	return FB_OK;
}

/* Sorts rows by z^2, which gives their thresholds, and sets out[].t. */
static void order_rows(const struct fb_design *design, const struct lists *lists, struct work *w,
		       struct fb_family_row *out)
{
	size_t units = w->assignments.units;
	unsigned char *label = fb_new(units, 1), *real = fb_new(w->assignments.groups, 1);
	double *room = fb_new(3 * units, sizeof(*room));

	for (size_t u = 0; u < units; u++)
		label[u] = design->block ? 1 : design->side[u] == FB_SIDE_B;
	fb_assignment_pack(label, units, real);
	for (size_t i = 0; i < lists->ncomplete; i++) {
		double z = fb_ready_z(&w->rows, i, real, room);

		w->by_z2[i] = (struct ranked){.value = z * z, .index = i};
		out[lists->complete[i]].t = copysign(fb_statistic_t(&w->rows.statistic, z * z), z);
	}
	qsort(w->by_z2, lists->ncomplete, sizeof(*w->by_z2), compare_ranked);
	for (size_t i = 0; i < lists->ncomplete; i++) {
		w->order[i] = w->by_z2[i].index;
		w->threshold[i] = w->by_z2[i].value * (1 - FB_Z2_ROUNDING);
	}
}

static void take_p(const struct lists *lists, const struct work *w, bool single_step,
		   struct fb_family_row *out)
{
	size_t n = lists->ncomplete, all = w->assignments.count;
	double share = (double)(n + lists->nincomplete) / (double)n, most = 0;

	for (size_t i = n; i-- > 0;) {
		size_t reached = single_step ? fb_count_reaching(w->maximum, all, w->threshold[i])
					     : w->reached[i];

		most = fmax(most, (double)reached / (double)all);
		out[lists->complete[w->order[i]]].p = fmin(1, most * share);
	}
}

static int test_complete(const struct fb_design *design, const struct fb_design_size *size,
			 const double *y, const struct lists *lists,
			 const struct fb_family_options *options, struct fb_family_row *out,
			 struct fb_family *family)
{
	struct work w = {0};
	int ret = make_work(design, size, y, lists, options, &w);

	if (!ret) {
		order_rows(design, lists, &w, out);
		fb_scan(&(struct fb_scan){
			.rows = &w.rows,
			.assignments = &w.assignments,
			.order = w.order,
			.threshold = w.threshold,
			.reached = w.reached,
			.maximum = w.maximum,
		});
		size_t n = w.assignments.count;
		double share =
			(double)(lists->ncomplete + lists->nincomplete) / (double)lists->ncomplete;

		fb_sort(w.maximum, n, w.maximum + n);
		take_p(lists, &w, options->single_step, out);
		family->assignments = n;
		family->exhaustive = w.assignments.exhaustive;
		family->least_p = fmin(1, share / (double)n);
		family->degrees = w.rows.statistic.plain.degrees;
		family->critical_t =
			critical_t(&w.rows.statistic, w.maximum, n, options->alpha / share);
	}
	return ret;
}

int fb_family_test(const struct fb_design *design, const double *y, size_t rows,
		   const struct fb_family_options *options, struct fb_family_row *out,
		   struct fb_family *family)
{
	struct fb_family_options chosen = {.seed = FB_FAMILY_SEED};
	struct fb_family result = {.critical_t = (double)NAN, .least_p = 1};
	struct fb_design_size size;
	struct lists lists = {0};
	int ret = fb_design_check(design, &size);

	if (ret)
		return ret;
	if (options)
		chosen = *options;
	if (chosen.draws == 0)
		chosen.draws = FB_FAMILY_DRAWS;
	if (!(chosen.alpha > 0))
		chosen.alpha = FB_ALPHA;
	lists.complete = fb_new(rows + 1, sizeof(*lists.complete));
	lists.incomplete = fb_new(rows + 1, sizeof(*lists.incomplete));
	struct fb_family_row *made = fb_new(rows + 1, sizeof(*made));

	if (!ret)
		ret = classify(design, y, rows, made, &lists);
	if (!ret && lists.nincomplete > 0)
		ret = test_incomplete(design, y, &lists, made);
	if (!ret && lists.ncomplete > 0)
		ret = test_complete(design, &size, y, &lists, &chosen, made, &result);
	if (!ret) {
		result.complete = lists.ncomplete;
		result.incomplete = lists.nincomplete;
		result.untested = lists.untested;
		memcpy(out, made, rows * sizeof(*made));
		*family = result;
	}
	return ret;
}
