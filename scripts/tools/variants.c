/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants: how much longer each variant of a sweep takes than one of them, over all rows together,
 * and whether what ran changed. With two folders it compares these, as the sides of a sweep.
 *
 * The unit is the launch, as in compare: the interval of a row within one launch says nothing of
 * the next launch. Launches of equal index ran next to each other, so each index gives one ratio:
 * the geometric mean over the rows that both have. The interval is Student's over these.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "common/record/schema.h"
#include "scripts/tools/compare/metric.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/query/query.h"
#include "scripts/tools/variants/variants.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	const char *metric, *base;
	bool keep_marked, lines;
};

static int check_metric(const char *value, char *accepted, size_t n)
{
	struct fb_metric_name metric;

	fb_metric_accepted(accepted, n);
	return fb_metric_parse(value, &metric);
}

static const struct fb_option table_of_options[] = {
	FB_OPTION_STRING(struct settings, metric, 'm', "metric", "COLUMN", "median_us",
			 check_metric, "the column that is compared"),
	FB_OPTION_STRING(struct settings, base, 0, "base", "NAME=VALUE;...", NULL, NULL,
			 "the variables of the variant that all others are compared with; without "
			 "this option that without any"),
	FB_OPTION_FLAG(struct settings, keep_marked, 0, "keep-marked",
		       "use launches that launches.csv marks as disturbed"),
	FB_OPTION_FLAG(struct settings, lines, 0, "lines",
		       "tab-separated lines without a header, for scripts"),
	FB_OPTION_END,
};

static const char description[] =
	"variants [option...] DIR [COLUMN=VALUE[,VALUE]...]...\n"
	"variants [option...] BASE NEW [COLUMN=VALUE[,VALUE]...]...\n\n"
	"Compares each variant of a sweep (a combination of variables of the lines env) with one "
	"of them, or the rows of two folders. Of each launch index it takes the geometric mean "
	"over all rows of the metric divided by that of the base; the ratio is the geometric mean "
	"over launches, with Student's 95% interval. The best comes first. Conditions are those of "
	"query. `ran` counts rows whose path or channels differ from those of the base. Launches "
	"that launches.csv marks as disturbed are left out, as by compare.\n\n"
	"Exit code: 0 good; 3 the input cannot be used.";

/* The sum over the rows of one launch index. */
struct launch {
	uint64_t index;
	double sum;
	size_t rows;
};

/* A variant against the base. */
struct effect {
	const char *variant;
	double ratio, low, high;
	size_t launches, rows; /* in all launches */
	size_t lacking;	       /* rows of the base that the variant has not measured */
	size_t marked;	       /* rows that do not count, as a launch of the two is disturbed */
	size_t other_path, other_channels, other, untold;
};

/* Attempts that failed come behind the one that was measured. */
static int by_place(const void *a, const void *b)
{
	const struct fb_variant_row *x = a, *y = b;
	int order = strcmp(x->variant, y->variant);

	if (!order)
		order = strcmp(x->key, y->key);
	if (!order)
		order = (x->launch > y->launch) - (x->launch < y->launch);
	return order ? order : isnan(x->value) - isnan(y->value);
}

/* The row of a variant that belongs to a row of the base; NULL: none, or not measured. */
static const struct fb_variant_row *partner(const struct fb_variant_rows *rows,
					    const char *variant,
					    const struct fb_variant_row *base)
{
	size_t low = 0, high = rows->count;
	struct fb_variant_row wanted = *base;

	wanted.variant = variant;
	wanted.value = 1; /* the first of equal place */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_place(&rows->item[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == rows->count || by_place(&rows->item[low], &wanted))
		return NULL;
	return &rows->item[low];
}

static struct launch *launch_of(struct launch **launch, size_t *count, uint64_t index)
{
	for (size_t i = 0; i < *count; i++)
		if ((*launch)[i].index == index)
			return &(*launch)[i];
	FB_ADD(*launch, *count)->index = index;
	return &(*launch)[*count - 1];
}

static void note_ran(struct effect *effect, const struct fb_variant_row *base,
		     const struct fb_variant_row *row)
{
	bool path = strcmp(base->path, row->path) != 0;
	bool channels = strcmp(base->channels, row->channels) != 0;

	effect->untold += !*base->path && !*row->path && !channels;
	effect->other_path += path;
	effect->other_channels += channels;
	effect->other += path || channels;
}

/* The interval of the mean of one logarithm for each launch. */
static void estimate(struct effect *effect, const struct launch *launch, size_t n)
{
	double mean = 0, squares = 0, half;

	for (size_t i = 0; i < n; i++)
		mean += launch[i].sum / (double)launch[i].rows / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = launch[i].sum / (double)launch[i].rows - mean;

		squares += off * off;
	}
	effect->launches = n;
	effect->ratio = n ? exp(mean) : (double)NAN;
	effect->low = effect->high = (double)NAN;
	if (n < 2)
		return;
	half = sqrt(squares / (double)(n - 1) / (double)n);
	half *= fb_student_upper(0.05, (double)(n - 1));
	effect->low = exp(mean - half);
	effect->high = exp(mean + half);
}

static struct effect compare(const struct fb_variant_rows *rows, const char *base,
			     const char *variant)
{
	struct effect effect = {.variant = variant};
	struct launch *launch = NULL;
	size_t launches = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct fb_variant_row *from = &rows->item[i], *row;
		struct launch *sum;

		if (strcmp(from->variant, base) || isnan(from->value))
			continue;
		row = partner(rows, variant, from);
		if (!row) {
			effect.lacking++;
			continue;
		}
		if (from->marked || row->marked) {
			effect.marked++;
			continue;
		}
		sum = launch_of(&launch, &launches, from->launch);
		sum->sum += log(row->value / from->value);
		sum->rows++;
		effect.rows++;
		note_ran(&effect, from, row);
	}
	estimate(&effect, launch, launches);
	return effect;
}

static const char *verdict_of(const struct effect *effect, bool rate)
{
	bool less = effect->high < 1, more = effect->low > 1;

	if (effect->lacking)
		return "lacks rows";
	if (!effect->rows && effect->marked)
		return "disturbed";
	return (rate ? more : less) ? "better" : (rate ? less : more) ? "worse" : "unsure";
}

static const char *ran_text(const struct effect *effect)
{
	if (!effect->rows || effect->untold == effect->rows)
		return "untold";
	if (!effect->other)
		return "same";
	return fb_new_text("%s%s%s of %zu/%zu", effect->other_path ? "path" : "",
			   effect->other_path && effect->other_channels ? ", " : "",
			   effect->other_channels ? "channels" : "", effect->other, effect->rows);
}

static int by_ratio(const void *a, const void *b)
{
	const struct effect *x = a, *y = b;

	if (isnan(x->ratio) || isnan(y->ratio))
		return isnan(x->ratio) - isnan(y->ratio);
	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

static void print(const struct effect *effect, size_t count, const char *base,
		  const struct fb_metric_name *metric, bool lines)
{
	size_t marked = 0, good = 0; /* those without a ratio come last in each order */

	while (good < count && !isnan(effect[good].ratio))
		good++;
	if (!lines)
		printf("%6s %15s %8s %6s  %-10s %-24s %s\n", "ratio", "95% interval", "launches",
		       "rows", "", "ran", "variant");
	for (size_t i = 0; i < count; i++) {
		const struct effect *e = &effect[metric->rate && i < good ? good - 1 - i : i];
		const char *variant = *e->variant ? e->variant : "-";
		const char *ratio = isnan(e->ratio) ? "-" : fb_new_text("%.3f", e->ratio);
		const char *interval = isnan(e->low)
			? "-" : fb_new_text("%.3f to %5.3f", e->low, e->high);
		const char *verdict = verdict_of(e, metric->rate), *ran = ran_text(e);

		if (lines)
			printf("%s\t%.4f\t%.4f\t%.4f\t%zu\t%zu\t%s\t%s\n", variant, e->ratio,
			       e->low, e->high, e->launches, e->rows, verdict, ran);
		else
			printf("%6s %15s %8zu %6zu  %-10s %-24s %s\n", ratio, interval,
			       e->launches, e->rows, verdict, ran, variant);
	}
	if (!lines)
		printf("\nratio: %s by that of %s, geometric mean. Each interval is computed "
		       "alone: on average one of 20 variants that change nothing has an interval "
		       "without 1. It needs two launches.\n",
		       metric->column, *base ? base : "the variant without variables");
	for (size_t i = 0; i < count; i++)
		marked += effect[i].marked;
	if (!lines && marked)
		printf("%zu pairs of rows are left out: launches.csv marks a launch of each as "
		       "disturbed (see --keep-marked).\n", marked);
}

static int report(struct fb_variant_rows *rows, const char *base,
		  const struct fb_metric_name *metric, bool lines)
{
	struct effect *effect = NULL;
	size_t count = 0, based = 0;

	if (rows->count)
		qsort(rows->item, rows->count, sizeof(*rows->item), by_place);
	for (size_t i = 0; i < rows->count; i++)
		based += !strcmp(rows->item[i].variant, base) && !isnan(rows->item[i].value);
	if (!based)
		return fb_error(FB_EINPUT, "no measured row of %s: expected rows of the base",
				*base ? base : "the variant without variables");
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->item[i].variant, base) &&
		    (i == 0 || strcmp(rows->item[i].variant, rows->item[i - 1].variant)))
			*FB_ADD(effect, count) = compare(rows, base, rows->item[i].variant);
	if (count)
		qsort(effect, count, sizeof(*effect), by_ratio);
	print(effect, count, base, metric, lines);
	return FB_OK;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	size_t paths = fb_query_split(words, count);
	struct fb_metric_name metric;
	struct fb_variant_rows rows = {.item = NULL};
	const char *base = fb_variant_sorted(settings->base ? settings->base : "");
	int err = fb_metric_parse(settings->metric, &metric);

	if (!err && (paths < 1 || paths > 2))
		err = fb_error(FB_EINPUT, "%zu folders: expected one, or two to compare", paths);
	else if (!err && paths == 2 && *base)
		err = fb_error(FB_EINPUT, "--base '%s': expected one folder, or no base", base);
	if (!err && paths == 2)
		base = words[0];
	if (!err)
		err = fb_variant_rows_read(&rows, words, paths, words + paths, count - paths,
					   settings->metric, settings->keep_marked);
	if (!err)
		err = report(&rows, base, &metric, settings->lines);
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = fb_error(FB_EIO, "cannot write to standard output");
	return fb_exit_code(err);
}

static const struct fb_tool tool = {
	.name = "variants",
	.summary = "how each variant of a sweep compares with one of them",
	.description = description,
	.table = table_of_options,
	.input = FB_TOOL_RESULTS,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
