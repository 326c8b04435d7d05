/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Change points over many nights; see modes.h.
 *
 * A night is one value for each row, the median over its launches: launches of one night share
 * the night. Where a row changed, the environments of the nights before and after are compared.
 */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/csv.h"
#include "scripts/tools/compare/history.h"
#include "scripts/tools/compare/modes.h"
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NIGHTS_LEAST = 10, LEAST_PART = 5 };

struct night {
	const char *path;
	struct fb_env facts;
	char utc[FB_UTC_CHARS]; /* its first row */
	double *us;		/* [nkeys] the metric; NAN: none. Shorter than all keys */
	const char **way;	/* [nkeys] what really ran: column `path`. NULL: not known */
	size_t nkeys, wrong;
};

struct point {
	uint32_t key;
	size_t row;   /* place of the key in the order of tables */
	size_t night; /* the first one after the change */
	bool last;    /* no later one of this row */
	struct fb_change change;
};

struct history {
	const struct fb_compare_settings *settings;
	struct fb_keys keys;
	struct night *night; /* [nights] */
	size_t nights;
	struct point *point; /* [points], by night and then as in tables */
	size_t points;
	size_t tested, short_rows; /* rows with enough nights, and without */
};

/* The median over launches of each key. */
static void reduce(struct night *night, const struct fb_comparison *c, const double *value)
{
	const struct fb_set *set = &c->set[0];
	double *x = fb_new(3 * set->nlaunches + 1, sizeof(*x));

	night->nkeys = c->keys.count;
	night->us = fb_new(night->nkeys + 1, sizeof(*night->us));
	night->way = fb_new(night->nkeys + 1, sizeof(*night->way));
	for (size_t k = 0; k < night->nkeys; k++) {
		const char *way = fb_set_path(set, (uint32_t)k);
		size_t n = 0;

		for (size_t i = 0; i < set->nlaunches; i++)
			if (!isnan(value[k * set->nlaunches + i]))
				x[n++] = value[k * set->nlaunches + i];
		night->us[k] = fb_median(x, n, x + set->nlaunches);
		night->wrong += c->outcome[0][k].status[FB_STATUS_WRONG] > 0;
		night->way[k] = *way ? way : NULL;
	}
	for (size_t i = 0; i < set->nlaunches; i++)
		if (!*night->utc || strcmp(set->launch[i].utc, night->utc) < 0)
			stpcpy(night->utc, set->launch[i].utc);
}

/* All nights share the set of keys; of each night's result set only small values are kept. */
static int read_night(struct history *history, struct night *night)
{
	struct fb_comparison c = {
		.metric = &history->settings->metric_name,
		.keys = history->keys,
	};
	double *value[2] = {NULL, NULL};
	int err = fb_mode_read(history->settings, &c.keys, &c.set[0], night->path, NULL);

	if (!err)
		err = fb_join_cells(&c, value);
	if (err)
		return err;
	reduce(night, &c, value[0]);
	night->facts = c.set[0].facts;
	history->keys = c.keys;
	fb_drop(value[0]);
	fb_drop(c.outcome[0]);
	fb_drop(c.set[0].row);
	return FB_OK;
}

/* Change points of one row, in the nights that have it. */
static int find_points(struct history *history, uint32_t key, size_t row, double *y, size_t *of,
		       struct fb_change *change)
{
	const struct fb_compare_settings *settings = history->settings;
	const struct fb_history_options options = {
		.alpha = settings->alpha,
		.rows = history->keys.count,
		.theta = settings->threshold,
		.least_part = LEAST_PART,
		.seed = settings->seed,
	};
	size_t n = 0, count = 0;
	int err;

	for (size_t i = 0; i < history->nights; i++) {
		const struct night *night = &history->night[i];
		double us = key < night->nkeys ? night->us[key] : (double)NAN;

		if (isnan(us))
			continue;
		of[n] = i;
		y[n++] = settings->metric_name.rate ? -log(us) : log(us);
	}
	history->tested += n >= NIGHTS_LEAST;
	history->short_rows += n < NIGHTS_LEAST;
	if (n < NIGHTS_LEAST)
		return FB_OK;
	err = fb_history(y, n, &options, change, &count);
	for (size_t i = 0; i < count && !err; i++)
		*FB_ADD(history->point, history->points) =
			(struct point){key, row, of[change[i].first], i + 1 == count, change[i]};
	return err;
}

/* Sorts by night, then in the order of tables, in which the points were found. */
static int compare(const void *x, const void *y)
{
	const struct point *a = x, *b = y;

	if (a->night != b->night)
		return a->night < b->night ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int find(struct history *history)
{
	size_t n = history->nights, rows = history->keys.count;
	uint32_t *order = fb_new(rows + 1, sizeof(*order));
	double *y = fb_new(n + 1, sizeof(*y));
	size_t *of = fb_new(n + 1, sizeof(*of));
	struct fb_change *change = fb_new(n + 1, sizeof(*change));
	int err = FB_OK;

	for (uint32_t i = 0; i < rows; i++)
		order[i] = i;
	fb_keys_sort(&history->keys, order, rows);
	for (size_t i = 0; i < rows && !err; i++)
		err = find_points(history, order[i], i, y, of, change);
	if (history->points && !err)
		qsort(history->point, history->points, sizeof(*history->point), compare);
	return err;
}

/* The rows that ran another way in this night than in the last one before it that has them. */
static struct fb_path_changes path_changes_of(const struct history *history, size_t night)
{
	const struct night *at = &history->night[night];
	struct fb_path_changes ways = {.kinds = 0};

	for (uint32_t k = 0; k < at->nkeys; k++) {
		const struct night *before = at;

		while (at->way[k] && before > history->night &&
		       (before == at || k >= before->nkeys || !before->way[k]))
			before--;
		if (before < at && k < before->nkeys && before->way[k])
			fb_path_changes_add(&ways, k, before->way[k], at->way[k]);
	}
	return ways;
}

static void print_path_changes(const struct history *history, const struct fb_labels *labels)
{
	for (size_t i = 1; i < history->nights; i++) {
		const struct fb_path_changes ways = path_changes_of(history, i);
		char title[FB_UTC_CHARS + 128];

		snprintf(title, sizeof(title),
			 "night %zu, %.16s: REROUTED: rows that ran another way than before "
			 "(column path)", i, history->night[i].utc);
		fb_path_changes_print(&ways, labels, title, stdout);
	}
}

static const char *short_path(const char *path, size_t most)
{
	size_t n = strlen(path);

	return n > most ? path + n - most : path;
}

/* What the environments of the two nights around a change say. */
static void print_differences(const struct history *history, size_t night)
{
	static const struct fb_comparison nothing;
	struct fb_differences differences;
	char trait[FB_TRAIT_CHARS];

	fb_differences_find(&differences, &history->night[night - 1].facts,
			    &history->night[night].facts);
	fb_cause_rank(&differences, &nothing, trait);
	fb_differences_text(&differences, trait, stdout);
}

static void print(const struct history *history)
{
	const struct fb_metric_name *metric = &history->settings->metric_name;
	struct fb_labels labels = fb_labels_make(&history->keys);

	printf("%zu nights, %.16s to %.16s, %s, seed %llu\n", history->nights,
	       history->night[0].utc, history->night[history->nights - 1].utc, metric->column,
	       (unsigned long long)history->settings->seed);
	printf("%zu rows with at least %d nights", history->tested, NIGHTS_LEAST);
	printf(history->short_rows ? "; %zu with fewer are left out\n" : "\n", history->short_rows);
	for (size_t i = 0; i < history->points; i++) {
		const struct point *p = &history->point[i];
		const struct night *night = &history->night[p->night];
		char label[FB_ROW_LABEL_CHARS], a[FB_NUMBER_CHARS], b[FB_NUMBER_CHARS];
		double before = p->change.before_us, after = p->change.after_us;
		bool ends = i + 1 == history->points || p[1].night != p->night;

		if (i == 0 || p[-1].night != p->night)
			printf("\nnight %zu, %.16s, %s\n%-57s %9s %9s %11s %9s\n", p->night,
			       night->utc, short_path(night->path, 60), "row", "before", "after",
			       "after/before", "p");
		printf("%-57.57s %9s %9s %11.3f%s %9.4f\n", fb_row_label(&labels, p->key, label),
		       fb_number_text(metric->rate ? 1 / before : before, a),
		       fb_number_text(metric->rate ? 1 / after : after, b),
		       metric->rate ? 1 / p->change.ratio : p->change.ratio,
		       p->change.ratio > 1 ? "!" : " ", p->change.p);
		if (ends)
			print_differences(history, p->night);
	}
	print_path_changes(history, &labels);
	printf("\nchanges: %zu\n", history->points);
}

static int write_csv(const struct history *history)
{
	const struct fb_metric_name *metric = &history->settings->metric_name;
	FILE *out;
	int err = fb_output_open(&out, "csv", history->settings->csv);

	if (err || !out)
		return err;
	fb_keys_put_header(out);
	fputs("metric,night,path,utc,ratio,before,after,p,worse,last\n", out);
	for (size_t i = 0; i < history->points; i++) {
		const struct point *p = &history->point[i];
		const struct fb_change *change = &p->change;
		bool rate = metric->rate;

		fb_key_put(&history->keys.key[p->key], out);
		fprintf(out, "%s,%zu,", metric->column, p->night);
		fb_csv_put_field(out, history->night[p->night].path);
		fprintf(out, ",%s,%.6g,%.6g,%.6g,%.6g,%s,%s\n", history->night[p->night].utc,
			rate ? 1 / change->ratio : change->ratio,
			rate ? 1 / change->before_us : change->before_us,
			rate ? 1 / change->after_us : change->after_us, change->p,
			change->ratio > 1 ? "yes" : "no", p->last ? "yes" : "no");
	}
	return fb_output_close(out, history->settings->csv);
}

/* A row whose last change made it worse is worse now than it was. */
static int exit_of(const struct history *history)
{
	int code = FB_EXIT_OK;

	for (size_t i = 0; i < history->points; i++)
		if (history->point[i].last && history->point[i].change.ratio > 1)
			code = FB_EXIT_REGRESSION;
	if (!code && history->settings->strict &&
	    path_changes_of(history, history->nights - 1).rows)
		code = FB_EXIT_UNSURE;
	return history->night[history->nights - 1].wrong ? FB_EXIT_WRONG : code;
}

int fb_mode_history(const struct fb_compare_settings *settings, char *const *paths, size_t count)
{
	struct history history = {.settings = settings};
	int err = FB_OK;

	if (count < NIGHTS_LEAST) {
		fb_error(FB_EINPUT, "--history: %zu folders: expected at least %d, one a night",
			 count, NIGHTS_LEAST);
		return FB_EXIT_INPUT;
	}
	history.night = fb_new(count, sizeof(*history.night));
	for (; history.nights < count && !err; history.nights++) {
		history.night[history.nights].path = paths[history.nights];
		err = read_night(&history, &history.night[history.nights]);
	}
	if (!err)
		err = find(&history);
	if (!err) {
		print(&history);
		err = write_csv(&history);
	}
	return err ? fb_exit_code(err) : exit_of(&history);
}
