/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts as data: CSV of everything, and what plots/forest.gp draws; see report_verdict.h. */
#include "common/record/csv.h"
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <stdlib.h>

static const char *const columns[] = {
	"metric",	 "verdict",	  "ratio",     "ratio_low",    "ratio_high",
	"p_row",	 "p_adjusted",	  "test",      "base",	       "new",
	"base_launches", "new_launches",  "theta",     "theta_from",   "noise",
	"base_noise",	 "new_noise",	  "noise_p",   "least_change", "launches_needed",
	"drift_rho",	 "without_drift", "base_path", "new_path",     "reason",
};

static void put_judged(const struct fb_comparison *c, const struct fb_judged *row, FILE *out)
{
	static const char *const tests[] = {
		[FB_LIST_MAX_T] = "max-t", [FB_LIST_HOLM] = "holm", [FB_LIST_UNTESTED] = "none"};
	const struct fb_effect *e = &row->effect;
	struct fb_shown_ratio ratio = fb_shown_ratio(c->metric, e->ratio, e->low, e->high);

	fprintf(out, "%s", fb_verdict_name(row->verdict));
	fb_put_number(out, ratio.value);
	fb_put_number(out, ratio.low);
	fb_put_number(out, ratio.high);
	fb_put_number(out, e->p);
	fb_put_number(out, row->test.p);
	fprintf(out, ",%s", tests[row->test.list]);
	fb_put_number(out, fb_shown_value(c->metric, row, 0));
	fb_put_number(out, fb_shown_value(c->metric, row, 1));
	fprintf(out, ",%zu,%zu", e->na, e->nb);
	fb_put_number(out, row->limit.theta);
	fprintf(out, ",%s", fb_limit_from_name(row->limit.from));
	fb_put_number(out, e->noise);
	fb_put_number(out, e->noise_a);
	fb_put_number(out, e->noise_b);
	fb_put_number(out, e->noise_p);
	fb_put_number(out, row->least_change - 1);
	fputc(',', out);
	if (row->launches_needed)
		fprintf(out, "%zu", row->launches_needed);
	fb_put_number(out, row->rho);
	fprintf(out, ",%s,", fb_verdict_name(row->before));
	fb_csv_put_field(out, fb_set_path(&c->set[0], row->key));
	fputc(',', out);
	fb_csv_put_field(out, fb_set_path(&c->set[1], row->key));
	fputc(',', out);
}

void fb_verdicts_csv(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const size_t n = FB_COUNT_OF(columns);

	fb_keys_put_header(out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", columns[i], i + 1 < n ? "," : "\n");
	for (size_t i = 0; i < c->rows; i++) {
		fb_key_put(&c->keys.key[c->judged[i].key], out);
		fprintf(out, "%s,", c->metric->column);
		put_judged(c, &c->judged[i], out);
		fputc('\n', out);
	}
	for (uint32_t k = 0; k < c->keys.count; k++) {
		if (c->place[k] == FB_PLACE_JUDGED)
			continue;
		fb_key_put(&c->keys.key[k], out);
		fprintf(out, "%s,%s", c->metric->column, fb_place_name((enum fb_place)c->place[k]));
		for (size_t i = 2; i < n; i++)
			fputc(',', out);
		fb_csv_put_field(out, fb_place_reason(c, k));
		fputc('\n', out);
	}
}

/* Sorts by ratio; rows without a ratio cannot be drawn and come last. */
static int compare(const void *x, const void *y)
{
	const struct fb_judged *a = *(const struct fb_judged *const *)x;
	const struct fb_judged *b = *(const struct fb_judged *const *)y;
	double p = a->effect.ratio, q = b->effect.ratio;

	if (isnan(p) != isnan(q))
		return isnan(p) ? 1 : -1;
	if (p < q || p > q)
		return p < q ? -1 : 1;
	return (a > b) - (a < b);
}

void fb_verdicts_forest(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct fb_judged **order = fb_new(c->rows + 1, sizeof(*order));

	for (size_t i = 0; i < c->rows; i++)
		order[i] = &c->judged[i];
	qsort(order, c->rows, sizeof(*order), compare);
	fputs("label,ratio,low,high,verdict\n", out);
	for (size_t i = 0; i < c->rows; i++) {
		const struct fb_effect *e = &order[i]->effect;
		struct fb_shown_ratio ratio = fb_shown_ratio(c->metric, e->ratio, e->low, e->high);
		char label[FB_ROW_LABEL_CHARS];

		fb_csv_put_field(out, fb_row_label(&report->labels, order[i]->key, label));
		fb_put_number(out, ratio.value);
		fb_put_number(out, ratio.low);
		fb_put_number(out, ratio.high);
		fprintf(out, ",%s\n", fb_verdict_name(order[i]->verdict));
	}
}
