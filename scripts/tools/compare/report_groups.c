/* SPDX-License-Identifier: BSD-3-Clause */
/* Means over rows of one operation, engine and algorithm; see report_verdict.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/group.h"
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 160, NAME_WIDTH = 46 };

struct member {
	char name[NAME_CHARS];
	size_t row;
};

static int compare(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->row > b->row) - (a->row < b->row);
}

static void name_group(const struct fb_key *key, char *name)
{
	const char *engine = fb_key_text(key, "engine"), *algorithm = fb_key_text(key, "algorithm");
	bool own = !strcmp(engine, "host");

	snprintf(name, NAME_CHARS, "%.50s %s%s%.50s", fb_key_text(key, "operation"),
		 own ? "" : engine, own ? "" : " ", algorithm);
}

static void print_worst(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct fb_judged *worst = NULL;
	char label[FB_ROW_LABEL_CHARS];
	char times[FB_NUMBER_CHARS];
	struct fb_shown_ratio ratio;

	/* Rows that regressed, if there are any: the others are within their noise. */
	for (size_t i = 0; i < c->rows; i++) {
		const struct fb_judged *row = &c->judged[i];

		if (c->verdicts[FB_REGRESSED] && row->verdict != FB_REGRESSED)
			continue;
		if (!worst || row->effect.ratio > worst->effect.ratio)
			worst = row;
	}
	if (!worst)
		return;
	ratio = fb_shown_ratio(c->metric, worst->effect.ratio, 1, 1);
	fprintf(out, "worst row: %.60s: %s, %s\n", fb_row_label(&report->labels, worst->key, label),
		fb_ratio_text(ratio.value, times), fb_verdict_name(worst->verdict));
}

/*
 * Names the rows that vary more, or less, between launches than before. This is a finding by
 * itself: a driver with the same median time that is much slower at times is worse.
 */
static void print_noise(const struct fb_verdicts_report *report, FILE *out)
{
	enum { SHOWN = 5 };
	const struct fb_comparison *c = report->comparison;
	double *p = fb_new(c->rows + 1, sizeof(*p));
	size_t found = 0;

	for (size_t i = 0; i < c->rows; i++)
		p[i] = isnan(c->judged[i].effect.noise_p) ? 1 : c->judged[i].effect.noise_p;
	fb_holm(p, c->rows);
	for (size_t i = 0; i < c->rows; i++) {
		const struct fb_effect *e = &c->judged[i].effect;
		char label[FB_ROW_LABEL_CHARS];

		if (p[i] > report->alpha)
			continue;
		if (found++ == 0)
			fputs("\nvary more or less between launches than before (standard "
			      "deviation, p adjusted for all rows)\n",
			      out);
		if (found <= SHOWN || report->all)
			fprintf(out, "  %-60.60s %6.1f%% -> %6.1f%%  %.4f\n",
				fb_row_label(&report->labels, c->judged[i].key, label),
				100 * e->noise_a, 100 * e->noise_b, p[i]);
	}
	if (found > SHOWN && !report->all)
		fprintf(out, "  and %zu more (--all shows them)\n", found - SHOWN);
}

static int print_group(const struct fb_verdicts_report *report, const char *name,
		       const size_t *index, size_t n, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	struct fb_shown_ratio ratio;
	struct fb_row_group group;
	char interval[FB_INTERVAL_CHARS], value[FB_NUMBER_CHARS];
	int err = fb_group_ratio(&c->design, c->y, index, n, &group);

	if (err)
		return err;
	ratio = fb_shown_ratio(c->metric, group.ratio, group.low, group.high);
	fprintf(out, "%-*.*s %6zu %8s %16s\n", NAME_WIDTH, NAME_WIDTH, name, group.rows,
		fb_ratio_text(ratio.value, value), fb_interval_text(ratio, interval));
	return FB_OK;
}

int fb_verdicts_groups(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	struct member *member = fb_new(c->rows + 1, sizeof(*member));
	size_t *index = fb_new(c->rows + 1, sizeof(*index)), n = 0;
	int err = FB_OK;

	if (c->rows == 0)
		return FB_OK;
	for (size_t i = 0; i < c->rows; i++) {
		name_group(&c->keys.key[c->judged[i].key], member[i].name);
		member[i].row = i;
	}
	qsort(member, c->rows, sizeof(*member), compare);
	fprintf(out, "\n%-*s %6s %8s %16s\n", NAME_WIDTH, "geometric means (no verdict uses them)",
		"rows", "new/base", "95% interval");
	for (size_t i = 0; i < c->rows && !err; i++) {
		index[n++] = member[i].row;
		if (i + 1 < c->rows && !strcmp(member[i].name, member[i + 1].name))
			continue;
		err = print_group(report, member[i].name, index, n, out);
		n = 0;
	}
	if (err)
		return err;
	print_worst(report, out);
	print_noise(report, out);
	return FB_OK;
}
