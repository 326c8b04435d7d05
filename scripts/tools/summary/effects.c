/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of each variable; see summary.h. */
#include "common/record/csv.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/summary/summary.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_CHARS = 64, VALUE_CHARS = 256 };

/* A value of a key, and the cells that have it against those that have the base. */
struct effect {
	char key[KEY_CHARS], value[VALUE_CHARS], base[VALUE_CHARS];
	struct fb_ratio_sum sum;
};

struct effects {
	struct effect *item; /* [count] */
	size_t count;
};

static const char *variant_of(const struct fb_cell *cell)
{
	return fb_cell_text(cell, "variant");
}

/* A variant without a key; "" and false: it is too long. */
static bool without(const char *variant, const char *key, char rest[VALUE_CHARS])
{
	struct fb_span_text name, value;
	size_t used = 0;

	rest[0] = '\0';
	while (fb_variant_next(&variant, &name, &value)) {
		if (strlen(key) == name.length && !strncmp(name.text, key, name.length))
			continue;
		if (used + name.length + value.length + 3 > VALUE_CHARS)
			return false;
		used += (size_t)snprintf(rest + used, VALUE_CHARS - used, "%s%.*s=%.*s",
					 used ? ";" : "", (int)name.length, name.text,
					 (int)value.length, value.text);
	}
	return true;
}

/* Whether two cells are the same experiment but for this key. */
static bool alike(const struct fb_cell *a, const struct fb_cell *b, const char *key)
{
	static const char *const but[] = {"variant", NULL};
	char x[VALUE_CHARS], y[VALUE_CHARS];

	return fb_cells_alike(a, b, but) && without(variant_of(a), key, x) &&
	       without(variant_of(b), key, y) && !strcmp(x, y);
}

/* The one that has the base: no such key, else the first value. */
static const struct fb_cell *base_of(const struct fb_cells *cells, const struct fb_cell *cell,
				     const char *key)
{
	const struct fb_cell *base = NULL;
	char value[VALUE_CHARS], least[VALUE_CHARS] = "";

	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *other = &cells->cell[i];

		if (!fb_cell_has_time(other) || !alike(cell, other, key))
			continue;
		if (!fb_variant_value(variant_of(other), key, value, sizeof(value)))
			return other;
		if (!base || fb_axis_compare(value, least) < 0) {
			base = other;
			memcpy(least, value, sizeof(least));
		}
	}
	return base;
}

static struct effect *effect_of(struct effects *effects, const char *key, const char *value,
				const char *base)
{
	struct effect *larger;

	for (size_t i = 0; i < effects->count; i++)
		if (!strcmp(effects->item[i].key, key) && !strcmp(effects->item[i].value, value) &&
		    !strcmp(effects->item[i].base, base))
			return &effects->item[i];
	larger = FB_ADD(effects->item, effects->count);
	snprintf(larger->key, sizeof(larger->key), "%s", key);
	snprintf(larger->value, sizeof(larger->value), "%s", value);
	snprintf(larger->base, sizeof(larger->base), "%s", base);
	return larger;
}

static void add(struct effects *effects, const struct fb_cells *cells, const struct fb_cell *cell)
{
	const char *variant = variant_of(cell);
	struct fb_span_text name, span;

	while (fb_variant_next(&variant, &name, &span)) {
		char key[KEY_CHARS], value[VALUE_CHARS], before[VALUE_CHARS];
		const struct fb_cell *base;
		struct effect *effect;

		snprintf(key, sizeof(key), "%.*s", (int)name.length, name.text);
		snprintf(value, sizeof(value), "%.*s", (int)span.length, span.text);
		base = base_of(cells, cell, key);
		if (!base || base == cell)
			continue;
		if (!fb_variant_value(variant_of(base), key, before, sizeof(before)))
			snprintf(before, sizeof(before), "none");
		effect = effect_of(effects, key, value, before);
		fb_ratio_add(&effect->sum, fb_cell_ratio(cell, base));
	}
}

static int by_key(const void *a, const void *b)
{
	const struct effect *x = a, *y = b;
	int less = strcmp(x->key, y->key);

	return less ? less : fb_axis_compare(x->value, y->value);
}

/* What plots/forest.gp draws: an effect is worse if cells are surely slower and none faster. */
static void put_forest(const struct effects *effects, FILE *out)
{
	fputs("label,ratio,low,high,verdict,bars\n", out);
	for (size_t i = 0; i < effects->count; i++) {
		const struct effect *e = &effects->item[i];
		const struct fb_ratio_sum *sum = &e->sum;
		char label[KEY_CHARS + 2 * VALUE_CHARS + 16];

		snprintf(label, sizeof(label), "%s=%s against %s (%zu)", e->key, e->value, e->base,
			 sum->n);
		fb_csv_put_field(out, label);
		fprintf(out, ",%.6g,%.6g,%.6g,%s,cells\n", fb_ratio_mean(sum), sum->least,
			sum->most,
			sum->slower && sum->faster ? "UNSURE"
			: sum->slower		   ? "REGRESSED"
			: sum->faster		   ? "IMPROVED"
			: sum->known		   ? "SAME"
						   : "");
	}
}

void fb_summary_effects(const struct fb_report *report, FILE *forest)
{
	struct effects effects = {0};

	for (size_t i = 0; i < report->cells->count; i++)
		if (fb_cell_has_time(&report->cells->cell[i]))
			add(&effects, report->cells, &report->cells->cell[i]);
	if (effects.count)
		qsort(effects.item, effects.count, sizeof(*effects.item), by_key);
	fprintf(report->out, "effects: time by that of the same cell with the base\n");
	if (!effects.count)
		fprintf(report->out, "  none: no cells that differ in one key alone\n");
	for (size_t i = 0; i < effects.count; i++) {
		const struct effect *e = &effects.item[i];

		fprintf(report->out,
			"  %s=%s against %s: %.3g, geometric mean of %zu (%.3g to %.3g); surely "
			"faster %zu, slower %zu\n",
			e->key, e->value, e->base, fb_ratio_mean(&e->sum), e->sum.n,
			e->sum.least, e->sum.most, e->sum.faster, e->sum.slower);
	}
	if (forest)
		put_forest(&effects, forest);
}
