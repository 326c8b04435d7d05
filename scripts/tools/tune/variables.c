/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a script of exports from measurements of NCCL's variables (studies with `env`, keys
 * env.NAME of `variant`). The setting with the greatest gain is exported, the others are comments.
 * Among many settings some are faster by chance. So a sign test over the cells decides, at a level
 * divided by the number of settings, and only settings with all cells are ranked.
 */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "scripts/tools/lib/report.h"

enum { TEXT_CHARS = 512 };

/* Variables that were set together, and the ratios of cells with them to the cells without. */
struct setting {
	char text[TEXT_CHARS]; /* "NCCL_MIN_CTAS=4;NCCL_MAX_CTAS=16" */
	struct fb_ratio_sum sum;
	double p; /* of the sign test */
	bool gains;
};

struct list {
	struct setting *item;
	size_t count, cells; /* `cells`: the most that a setting has */
};

/* Splits a cell's variant into its variables and the rest. False: it is too long. */
static bool split(const struct fb_cell *cell, char set[TEXT_CHARS], char rest[TEXT_CHARS])
{
	const char *variant = fb_cell_text(cell, "variant");
	struct fb_span_text name, value;

	*set = *rest = '\0';
	while (fb_variant_next(&variant, &name, &value)) {
		bool variable = name.length > 4 && !strncmp(name.text, "env.", 4);
		char *text = variable ? set : rest;
		size_t used = strlen(text), skipped = variable ? 4 : 0;

		if (used + name.length + value.length + 3 > TEXT_CHARS)
			return false;
		snprintf(text + used, TEXT_CHARS - used, "%s%.*s=%.*s", used ? ";" : "",
			 (int)(name.length - skipped), name.text + skipped, (int)value.length,
			 value.text);
	}
	return true;
}

/* The cell without variables; NULL: there is none with a time. */
static const struct fb_cell *base_of(const struct fb_cells *cells, const struct fb_cell *cell,
				     const char *rest)
{
	static const char *const but[] = {"variant", NULL};
	char set[TEXT_CHARS], other[TEXT_CHARS];

	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *base = &cells->cell[i];

		if (fb_cell_has_time(base) && fb_cells_alike(cell, base, but) &&
		    split(base, set, other) && !*set && !strcmp(rest, other))
			return base;
	}
	return NULL;
}

static struct setting *setting_of(struct list *list, const char *text)
{
	struct setting *larger;

	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->item[i].text, text))
			return &list->item[i];
	larger = FB_ADD(list->item, list->count);
	snprintf(larger->text, sizeof(larger->text), "%s", text);
	return larger;
}

static void add(struct list *list, const struct fb_cells *cells, const struct fb_cell *cell)
{
	char set[TEXT_CHARS], rest[TEXT_CHARS];
	const struct fb_cell *base;
	struct setting *setting;

	if (!split(cell, set, rest) || strncmp(set, "NCCL_", 5))
		return;
	base = base_of(cells, cell, rest);
	if (!base)
		return;
	setting = setting_of(list, set);
	fb_ratio_add(&setting->sum, fb_cell_ratio(cell, base));
}

/*
 * The two-sided p of the sign test: how often so many of n differences, or more, have one sign if
 * both signs are as likely. Cells whose intervals overlap count for no side.
 */
static double sign_test(size_t faster, size_t slower)
{
	double n = (double)(faster + slower), p = 0;

	for (size_t k = 0; k <= (faster < slower ? faster : slower); k++)
		p += 2 * exp(lgamma(n + 1) - lgamma((double)k + 1) - lgamma(n - (double)k + 1) -
			     n * log(2));
	return fmin(p, 1);
}

static void judge(struct list *list, double change)
{
	static const double alpha = 0.05;

	for (size_t i = 0; i < list->count; i++)
		if (list->item[i].sum.n > list->cells)
			list->cells = list->item[i].sum.n;
	for (size_t i = 0; i < list->count; i++) {
		struct setting *s = &list->item[i];

		s->p = sign_test(s->sum.faster, s->sum.slower);
		s->gains = s->sum.n == list->cells && fb_ratio_mean(&s->sum) < 1 - change &&
			   s->sum.faster > s->sum.slower &&
			   s->p <= alpha / (double)list->count;
	}
}

static int best_first(const void *a, const void *b)
{
	double x = fb_ratio_mean(&((const struct setting *)a)->sum);
	double y = fb_ratio_mean(&((const struct setting *)b)->sum);
	int gains = ((const struct setting *)b)->gains - ((const struct setting *)a)->gains;

	return gains ? gains : x < y ? -1 : x > y ? 1 : strcmp(((const struct setting *)a)->text,
					       ((const struct setting *)b)->text);
}

/* "export A='1' B='2'  # 0.912 of the time, ..." */
static void print_setting(const struct setting *s, bool chosen, size_t cells, FILE *out)
{
	fprintf(out, "%sexport", chosen ? "" : "# ");
	for (const char *at = s->text; *at; at += *at == ';') {
		size_t name = strcspn(at, "="), whole = strcspn(at, ";");

		fprintf(out, " %.*s='%.*s'", (int)name, at, (int)(whole - name - 1),
			at + name + 1);
		at += whole;
	}
	fprintf(out, "  # %.3f of the time without, mean of %zu cells (%.3f to %.3f); surely "
		"quicker in %zu, slower in %zu: p %.2g", fb_ratio_mean(&s->sum), s->sum.n,
		s->sum.least, s->sum.most, s->sum.faster, s->sum.slower, s->p);
	if (s->sum.n < cells)
		fprintf(out, "; not ranked, others have %zu cells", cells);
	fprintf(out, "\n");
}

int fb_tune_variables(const struct fb_cells *cells, const struct fb_tune_settings *settings,
		      FILE *out)
{
	struct list list = {.count = 0};
	int err = FB_OK;

	for (size_t i = 0; i < cells->count && !err; i++) {
		bool wanted = false;

		if (strcmp(fb_cell_text(&cells->cell[i], "engine"), "nccl"))
			continue;
		err = fb_tune_wants(&cells->cell[i], settings, &wanted);
		if (!err && wanted && fb_cell_has_time(&cells->cell[i]))
			add(&list, cells, &cells->cell[i]);
	}
	if (!err && !list.count)
		err = fb_error(FB_EINPUT, "no rows of engine nccl that differ in variables "
			       "NCCL_... alone: expected results of a study with `env`, as "
			       "nccl-env");
	judge(&list, settings->change);
	if (list.count)
		qsort(list.item, list.count, sizeof(*list.item), best_first);
	for (size_t i = 0; i < list.count && !err; i++) {
		const struct setting *s = &list.item[i];

		if (i == 1)
			fprintf(out, "#\n# Measured too, each alone: gains of several need not add "
				"up.\n");
		else if (!i && !s->gains)
			fprintf(out, "# No setting surely gains more than %.3g%% on all cells.\n",
				100 * settings->change);
		print_setting(s, i == 0 && s->gains, list.cells, out);
	}
	return err;
}
