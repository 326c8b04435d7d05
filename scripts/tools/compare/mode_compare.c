/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two result sets; see modes.h. Everything is read and judged before anything is printed.
 */
#include "common/base/error.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/compare/modes.h"
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/text.h"

#include <errno.h>
#include <string.h>

int fb_output_open(FILE **out, const char *option, const char *path)
{
	*out = path ? fopen(path, "w") : NULL;
	if (path && !*out)
		return fb_error(FB_EINPUT, "--%s '%s': %s: expected a file that can be written",
				option, path, strerror(errno));
	return FB_OK;
}

int fb_output_close(FILE *out, const char *path)
{
	bool failed = out && ferror(out);

	if (out && (fclose(out) || failed))
		return fb_error(FB_EIO, "cannot write '%s'", path);
	return FB_OK;
}

int fb_mode_read(const struct fb_compare_settings *settings, struct fb_keys *keys,
		 struct fb_set *set, const char *path, const char *side)
{
	const struct fb_reading reading = {
		.keys = keys,
		.metric = &settings->metric_name,
		.filter = &settings->key_filter,
		.keep_marked = settings->keep_marked,
	};
	int err = fb_set_read(set, &reading, path, side);

	if (!err && !set->has_metric)
		err = fb_error(FB_EINPUT, "--metric '%s': no file of %s has such a column",
			       settings->metric, path);
	return err;
}

/* A comparison under way. */
struct job {
	const struct fb_compare_settings *settings;
	struct fb_comparison comparison;
	struct fb_differences differences;
	struct fb_limits limits;
	char trait[FB_TRAIT_CHARS];
};

/* Two paths, or one with both sides. */
static int read_sets(struct job *job, const char *base, const char *new)
{
	const struct fb_compare_settings *settings = job->settings;
	struct fb_comparison *c = &job->comparison;
	const char *paths[] = {base, new ? new : base}, *tags[] = {"a", "b"};
	int err = FB_OK;

	c->metric = &settings->metric_name;
	c->set[0].name = "BASE";
	c->set[1].name = "NEW";
	for (int s = 0; s < 2 && !err; s++)
		err = fb_mode_read(settings, &c->keys, &c->set[s], paths[s], new ? NULL : tags[s]);
	if (!err && !settings->keep_marked) {
		struct fb_marks *const marks[] = {c->set[0].marks, c->set[1].marks};

		fb_marks_judge_canaries(marks, 2);
		for (int s = 0; s < 2; s++)
			fb_marks_apply(marks[s], &c->set[s], &c->keys);
	}
	return err;
}

/* Names as many of the differences as fit on the one line of an error. */
static int refuse_machines(const struct job *job)
{
	char text[1024] = "";

	for (size_t i = 0; i < job->differences.count; i++) {
		const struct fb_difference *d = &job->differences.item[i];

		if (d->identity)
			fb_append(text, sizeof(text), "%s%s (%.160s -> %.160s)", *text ? ", " : "",
				  d->name, d->base, d->new);
	}
	return fb_error(FB_EINPUT, "the machines differ in %s: expected the same, or --force",
			text);
}

/* Whether a row of NEW that BASE lacks has this field in a key column. */
static bool new_has(const struct fb_comparison *c, size_t column, const char *field)
{
	for (size_t k = 0; k < c->keys.count; k++)
		if (c->place[k] == FB_PLACE_ONLY_NEW &&
		    !strcmp(c->keys.key[k].field[column], field))
			return true;
	return false;
}

/* Names the key columns that have no value in common, as they are why no row is on both sides. */
static int refuse_disjoint(const struct fb_comparison *c)
{
	size_t columns = fb_keys_columns();
	char text[512] = "";

	for (size_t i = 0; i < columns; i++) {
		const char *value[2] = {NULL, NULL};
		bool common = false;

		for (size_t k = 0; k < c->keys.count && !common; k++) {
			const char *field = c->keys.key[k].field[i];
			bool in_base = c->place[k] != FB_PLACE_ONLY_NEW;
			bool in_new = c->place[k] != FB_PLACE_ONLY_BASE;

			common = in_base && (in_new || new_has(c, i, field));
			value[in_new] = value[in_new] ? value[in_new] : field;
		}
		if (!common && value[0] && value[1])
			fb_append(text, sizeof(text), "%s%s (%.60s, %.60s)",
				  *text ? ", " : ": they differ in ", fb_key_column(i)->name,
				  value[0], value[1]);
	}
	return fb_error(FB_EINPUT, "%s and %s have no row with a %s in common%s", c->set[0].path,
			c->set[1].path, c->metric->column, text);
}

/* The value of a fact if all launches of the side have the same, else "". */
static const char *fact_of(const struct fb_set *set, const char *key)
{
	size_t first;

	return fb_env_find(&set->facts, key, &first) == 1 ? set->facts.fact[first].value : "";
}

/*
 * environment.csv describes the last launch. Where launches of a side differ on purpose, in their
 * number of ranks or in variables that rows have as keys (docs/studies.md), the last launches of
 * the two sides differ by chance. Differences that follow from this are hidden.
 */
static bool is_by_design(const char *name, const void *arg)
{
	const struct fb_comparison *c = arg;
	char variable[128];

	if (!strncmp(name, "bind.", 5))
		return strcmp(fact_of(&c->set[0], "run.ranks"), fact_of(&c->set[1], "run.ranks"));
	if (strncmp(name, "variable.", 9) != 0)
		return false;
	snprintf(variable, sizeof(variable), "env.%.100s=", name + 9);
	for (size_t k = 0; k < c->keys.count; k++)
		if (strstr(fb_key_text(&c->keys.key[k], "variant"), variable))
			return true;
	return false;
}

static int prepare(struct job *job)
{
	const struct fb_compare_settings *settings = job->settings;
	struct fb_comparison *c = &job->comparison;
	int err = FB_OK;

	fb_differences_find(&job->differences, &c->set[0].facts, &c->set[1].facts);
	fb_differences_hide(&job->differences, is_by_design, c);
	if (job->differences.identities && !settings->force)
		err = refuse_machines(job);
	job->limits.threshold = settings->threshold;
	if (!err && settings->thresholds)
		err = fb_limits_read_thresholds(&job->limits, settings->thresholds);
	if (!err && settings->noise)
		err = fb_limits_read_noise(&job->limits, settings->noise, settings->metric);
	for (int s = 0; s < 2 && !err; s++)
		fb_limits_add_floors(&job->limits, &c->set[s].facts, s);
	return err ? err : fb_join(c, settings->paired);
}

static int judge(struct job *job)
{
	const struct fb_compare_settings *settings = job->settings;
	struct fb_comparison *c = &job->comparison;
	const struct fb_judging judging = {
		.alpha = settings->alpha,
		.seed = settings->seed,
		.limits = &job->limits,
	};
	int err = FB_OK;

	/* Wrong data and faults are a result even where nothing can be compared. */
	if (c->rows == 0 && !c->wrong[1] && !c->faults[1])
		return refuse_disjoint(c);
	if (c->rows)
		err = fb_judge(c, &judging);
	if (!err)
		fb_cause_rank(&job->differences, c, job->trait);
	return err;
}

static int report(const struct job *job, int *code)
{
	const struct fb_compare_settings *s = job->settings;
	const struct fb_verdicts_report report = {
		.comparison = &job->comparison,
		.differences = &job->differences,
		.trait = job->trait,
		.labels = fb_labels_make(&job->comparison.keys),
		.alpha = s->alpha,
		.threshold = s->threshold,
		.seed = s->seed,
		.all = s->all,
		.strict = s->strict,
	};
	const char *const names[] = {"csv", "junit", "forest"};
	const char *const paths[] = {s->csv, s->junit, s->forest};
	FILE *out[3] = {NULL, NULL, NULL};
	int err = FB_OK, close;

	for (int i = 0; i < 3 && !err; i++)
		err = fb_output_open(&out[i], names[i], paths[i]);
	if (!err)
		err = fb_verdicts_text(&report, stdout);
	if (!err && out[0])
		fb_verdicts_csv(&report, out[0]);
	if (!err && out[1])
		fb_verdicts_junit(&report, out[1]);
	if (!err && out[2])
		fb_verdicts_forest(&report, out[2]);
	for (int i = 0; i < 3; i++) {
		close = fb_output_close(out[i], paths[i]);
		err = err ? err : close;
	}
	*code = fb_verdicts_exit(&report);
	return err;
}

int fb_mode_compare(const struct fb_compare_settings *settings, char *const *paths, size_t count)
{
	struct job job = {.settings = settings};
	int err = FB_OK, code = FB_EXIT_OK;

	if (count > 2)
		err = fb_error(FB_EINPUT, "'%s': expected two folders or files: BASE NEW",
			       paths[2]);
	for (size_t i = 0; i < count && count == 2 && !err; i++)
		if (fb_folder_has_sides(paths[i]))
			err = fb_error(FB_EINPUT,
				       "%s holds the sides a and b: expected one of "
				       "them, or this folder alone",
				       paths[i]);
	if (count == 1 && !fb_folder_has_sides(paths[0]))
		err = fb_error(FB_EINPUT,
			       "%s: expected a folder with the sides a and b, or a "
			       "second folder or file to compare it with",
			       paths[0]);
	if (!err)
		err = read_sets(&job, paths[0], count > 1 ? paths[1] : NULL);
	if (!err)
		err = prepare(&job);
	if (!err)
		err = judge(&job);
	if (!err)
		err = report(&job, &code);
	return err ? fb_exit_code(err) : code;
}
