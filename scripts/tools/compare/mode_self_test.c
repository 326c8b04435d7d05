/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the gate on launches that were made under the same conditions; see modes.h. The set is one
 * run of many launches, or both sides (folders a and b) of a study whose sides are equal.
 */
#include "common/base/error.h"
#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/compare/label.h"
#include "scripts/tools/compare/modes.h"
#include "scripts/tools/compare/self_test.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/number.h"

#include <math.h>
#include <string.h>

/* Launches of both sides in order of time, and rows of these. */
struct table {
	struct fb_comparison comparison; /* only sets, keys and outcomes are used */
	double *value[2];		 /* see fb_join_cells */
	struct {
		int s;
		size_t launch;
	} * column; /* [launches] */
	size_t launches;
	uint32_t *row_key; /* [rows] with a value in some launch */
	size_t rows;
	double *y, *noise; /* [rows][launches], [rows] */
};

static int read_sets(struct table *table, const struct fb_compare_settings *settings,
		     const char *path)
{
	struct fb_comparison *c = &table->comparison;
	const char *const tags[] = {"a", "b"};
	bool two = fb_folder_has_sides(path);
	int err = FB_OK;

	c->metric = &settings->metric_name;
	for (int s = 0; s < (two ? 2 : 1) && !err; s++)
		err = fb_mode_read(settings, &c->keys, &c->set[s], path, two ? tags[s] : NULL);
	return err ? err : fb_join_cells(c, table->value);
}

static const struct fb_launch *launch_of(const struct table *table, size_t column)
{
	return &table->comparison.set[table->column[column].s].launch[table->column[column].launch];
}

/* Sorts by time, then by index; insertion sort, as launches are few. */
static void sort_columns(struct table *table)
{
	for (size_t i = 1; i < table->launches; i++)
		for (size_t j = i; j > 0; j--) {
			const struct fb_launch *a = launch_of(table, j - 1);
			const struct fb_launch *b = launch_of(table, j);
			int order = strcmp(a->utc, b->utc);
			int s = table->column[j].s;
			size_t launch = table->column[j].launch;

			if (order < 0 || (order == 0 && a->index <= b->index))
				break;
			table->column[j] = table->column[j - 1];
			table->column[j - 1].s = s;
			table->column[j - 1].launch = launch;
		}
}

/* Launches that have less than half of the rows would make nearly every row incomplete. */
static void choose_launches(struct table *table)
{
	struct fb_comparison *c = &table->comparison;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->set[s].nlaunches; i++) {
			size_t n = 0;

			for (size_t k = 0; k < c->keys.count; k++)
				if (!isnan(table->value[s][k * c->set[s].nlaunches + i]))
					n++;
			if (c->set[s].launch[i].out || 2 * n < table->rows)
				continue;
			table->column[table->launches].s = s;
			table->column[table->launches++].launch = i;
		}
	sort_columns(table);
}

static void make_table(struct table *table)
{
	struct fb_comparison *c = &table->comparison;
	size_t most = c->set[0].nlaunches + c->set[1].nlaunches;

	table->column = fb_new(most + 1, sizeof(*table->column));
	table->row_key = fb_new(c->keys.count + 1, sizeof(*table->row_key));
	for (uint32_t k = 0; k < c->keys.count; k++)
		if (c->outcome[0][k].values + c->outcome[1][k].values > 0)
			table->row_key[table->rows++] = k;
	fb_keys_sort(&c->keys, table->row_key, table->rows);
	choose_launches(table);
	table->y = fb_new(table->rows * table->launches + 1, sizeof(*table->y));
	table->noise = fb_new(table->rows + 1, sizeof(*table->noise));
	for (size_t i = 0; i < table->rows; i++)
		for (size_t l = 0; l < table->launches; l++) {
			int s = table->column[l].s;
			size_t at = table->row_key[i] * c->set[s].nlaunches;
			double value = log(table->value[s][at + table->column[l].launch]);

			table->y[i * table->launches + l] = c->metric->rate ? -value : value;
		}
}

/* The rows that vary most, so that nobody gates on them unaware. */
static void print_noisy(const struct table *table)
{
	enum { SHOWN = 10 };
	struct fb_labels labels = fb_labels_make(&table->comparison.keys);
	size_t shown[SHOWN], n = 0;

	for (size_t i = 0; i < table->rows; i++) {
		size_t at = n;

		if (isnan(table->noise[i]))
			continue;
		while (at > 0 && table->noise[shown[at - 1]] < table->noise[i])
			at--;
		if (at == SHOWN)
			continue;
		n += n < SHOWN;
		memmove(&shown[at + 1], &shown[at], (n - 1 - at) * sizeof(*shown));
		shown[at] = i;
	}
	printf("\n%-70s %9s %9s\n", "the rows that vary most between launches", "noise",
	       "3 x noise");
	for (size_t i = 0; i < n; i++) {
		char label[FB_ROW_LABEL_CHARS], once[FB_NUMBER_CHARS], thrice[FB_NUMBER_CHARS];

		printf("%-70.70s %9s %9s\n", fb_row_label(&labels, table->row_key[shown[i]], label),
		       fb_percent_text(table->noise[shown[i]], once),
		       fb_percent_text(FB_THETA_NOISES * table->noise[shown[i]], thrice));
	}
}

static size_t count_quiet(const struct table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->rows; i++)
		if (FB_THETA_NOISES * table->noise[i] <= FB_LARGEST_NOISE_THETA)
			n++;
	return n;
}

static int print(const struct table *table, const struct fb_self_test *test, uint64_t seed)
{
	if (isnan(test->share)) {
		fb_error(FB_EINPUT,
			 "%s: nothing to split: expected at least 4 launches and a row "
			 "that is in all of them",
			 table->comparison.set[0].path);
		return FB_EXIT_INPUT;
	}
	printf("self-test of %s\n%zu launches, %zu of %zu rows in each of them, seed %llu\n",
	       table->comparison.set[0].path, test->launches, test->rows, table->rows,
	       (unsigned long long)seed);
	printf("random splits: %zu of %zu (%.1f%%) would have raised a false alarm, at most 10%% "
	       "may;\n               %zu a verdict REGRESSED or IMPROVED\n",
	       test->alarms, test->splits, 100 * test->share, test->flagged);
	printf("first half against second half in time: p %.4f%s\n", test->halves_p,
	       test->halves_p <= 0.05 ? ": the machine drifted; interleave sides" : "");
	printf("interleaved A B B A:                    p %.4f%s\n", test->interleaved_p,
	       test->interleaved_p <= 0.05 ? ": interleaving does not help" : "");
	print_noisy(table);
	printf("rows that can be gated, as 3 x noise is at most %.0f%%: %zu of %zu\n",
	       100 * FB_LARGEST_NOISE_THETA, count_quiet(table), table->rows);
	if (!test->enough)
		printf("\n%zu launches are too few to show that false alarms are rare: make %d\n",
		       test->launches, FB_SELF_TEST_LAUNCHES);
	if (test->enough || !test->good)
		printf("\n%s\n", test->good ? "good: false alarms are as rare as they should be"
					    : "NOT GOOD: false alarms are too frequent");
	return test->good ? FB_EXIT_OK : FB_EXIT_UNSURE;
}

static int test(struct table *table, const struct fb_compare_settings *settings)
{
	struct fb_self_test test;
	FILE *out = NULL;
	int err, code;

	err = fb_self_test(table->y, table->rows, table->launches, NULL, settings->seed,
			   table->noise, &test);
	if (!err)
		err = fb_output_open(&out, "noise", settings->noise);
	if (err)
		return fb_exit_code(err);
	code = print(table, &test, settings->seed);
	if (out && code != FB_EXIT_INPUT) {
		fb_noise_write(out, &table->comparison.keys, table->row_key, table->rows,
			       table->noise, settings->metric, table->launches);
		printf("noise of %zu rows written to %s\n", table->rows, settings->noise);
	}
	err = fb_output_close(out, settings->noise);
	return err ? fb_exit_code(err) : code;
}

int fb_mode_self_test(const struct fb_compare_settings *settings, char *const *paths, size_t count)
{
	struct table table = {.rows = 0};
	int err;

	if (count != 1) {
		fb_error(FB_EINPUT, "'%s': --self-test expects one folder or file", paths[1]);
		return FB_EXIT_INPUT;
	}
	err = read_sets(&table, settings, paths[0]);
	if (err)
		return fb_exit_code(err);
	make_table(&table);
	return test(&table, settings);
}
