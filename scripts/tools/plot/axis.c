/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures over any key. One key is a figure of curves: the time of each engine and algorithm, and
 * below it another column, as what of the communication is exposed. Two keys are a heat map of the
 * best time at each pair of values. Sizes are a key like others where they differ of themselves: a
 * sweep over a variable and over sizes is a heat map.
 */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/plot/panel.h"

#include <math.h>
#include <string.h>

enum { SERIES = 8, VALUE_CHARS = 64 };

/* A key that cells of a section differ in; FB_AXES stands for their sizes. */
static const char *value_of(const struct fb_cell *cell, size_t key, char buf[VALUE_CHARS])
{
	if (key < FB_AXES)
		return cell->place->text[key];
	return fb_size_text(cell->bytes, buf);
}

static const char *name_of(const struct fb_section *section, size_t key)
{
	return key < FB_AXES ? section->axes->name[key] : "bytes";
}

static int compare_at(const struct fb_cell *a, const struct fb_cell *b, size_t key)
{
	char left[VALUE_CHARS], right[VALUE_CHARS];

	return fb_axis_compare(value_of(a, key, left), value_of(b, key, right));
}

static bool differs(const struct fb_section *section, size_t key)
{
	for (size_t i = 1; i < section->count; i++)
		if (compare_at(section->cell, &section->cell[i], key))
			return true;
	return false;
}

/* Whether each value of the first key goes with one size only, so that sizes are no key. */
static bool sizes_follow(const struct fb_section *section, const size_t *key, size_t keys)
{
	for (size_t i = 0; i < section->count; i++)
		for (size_t j = 0; j < i; j++) {
			bool same = true;

			for (size_t k = 0; k < keys; k++)
				same &= !compare_at(&section->cell[i], &section->cell[j], key[k]);
			if (same && section->cell[i].bytes != section->cell[j].bytes)
				return false;
		}
	return true;
}

/* The keys that a section differs in; returns how many: 0, 1 or 2 make a figure. */
static size_t keys_of(const struct fb_section *section, size_t key[FB_AXES + 1])
{
	size_t keys = 0;

	for (size_t a = 0; section->axes && a < section->axes->count; a++)
		if (differs(section, a))
			key[keys++] = a;
	if (keys && !sizes_follow(section, key, keys))
		key[keys++] = FB_AXES;
	return keys;
}

/* The different values of a key in their order, as cells that have them. Returns how many. */
static size_t values_of(const struct fb_section *section, size_t key, const struct fb_cell **list)
{
	size_t n = 0;

	for (size_t i = 0; i < section->count; i++) {
		const struct fb_cell *cell = &section->cell[i];
		size_t at = n;

		while (at > 0 && compare_at(cell, list[at - 1], key) < 0)
			at--;
		if (at > 0 && !compare_at(cell, list[at - 1], key))
			continue;
		memmove(list + at + 1, list + at, (n - at) * sizeof(*list));
		list[at] = cell;
		n++;
	}
	return n;
}

static size_t find_value(const struct fb_cell *const *list, size_t n, const struct fb_cell *cell,
			 size_t key)
{
	size_t at = 0;

	while (at < n && compare_at(list[at], cell, key))
		at++;
	return at;
}

/* The quickest cell of a series among n of one place; NULL: none. */
static const struct fb_cell *quickest(const struct fb_cell *cell, size_t n,
				      const struct fb_cell *series)
{
	for (size_t i = 0; i < n; i++)
		if (fb_cell_has_time(&cell[i]) && fb_plot_same_algorithm(&cell[i], series))
			return &cell[i]; /* they are sorted by time */
	return NULL;
}

/* Names of values, with marks where the axis is drawn: LABEL[] and X[]. */
static void put_ticks(FILE *out, const struct fb_cell *const *list, size_t n, size_t key,
		      const double *x)
{
	char buf[VALUE_CHARS];

	fprintf(out, "VALUES = %zu\narray LABEL[%zu]\narray X[%zu]\n", n, n + 1, n + 1);
	for (size_t i = 0; i < n; i++) {
		fb_plot_item(out, "LABEL", i + 1, value_of(list[i], key, buf));
		fprintf(out, "X[%zu] = %.9g\n", i + 1, x[i]);
	}
}

/*
 * Sets where values are on the axis: numbers at their value, or at its logarithm if they span a
 * wide range; texts behind the last number, a step apart. Returns whether it is a logarithm.
 */
static bool place_values(const struct fb_cell *const *list, size_t n, size_t key, double *x)
{
	char buf[VALUE_CHARS];
	size_t numbers = 0;
	double step;
	bool logarithmic;

	while (numbers < n && fb_axis_number(value_of(list[numbers], key, buf), &x[numbers]))
		numbers++;
	logarithmic = numbers > 1 && x[0] > 0 && x[numbers - 1] >= 8 * x[0];
	for (size_t i = 0; i < numbers && logarithmic; i++)
		x[i] = log2(x[i]);
	step = numbers > 1 ? (x[numbers - 1] - x[0]) / (double)(numbers - 1) : 1;
	for (size_t i = numbers; i < n; i++)
		x[i] = i ? x[i - 1] + step : 0;
	return logarithmic;
}

/* Whether all series are compared with the same values, so that one line shows them. */
static bool is_one_line(const struct fb_panel *panel, const struct fb_section *section, size_t key)
{
	for (size_t i = 0; i < section->count && !panel->linear; i++)
		for (size_t j = 0; j < i; j++) {
			double a = fb_panel_reference(panel, &section->cell[i]);
			double b = fb_panel_reference(panel, &section->cell[j]);

			if (!compare_at(&section->cell[i], &section->cell[j], key) &&
			    fabs(a - b) > 1e-6 * fabs(a))
				return false;
		}
	return !panel->linear;
}

/* The rate that the cell would have if it grew with the key from the series' first cell on. */
static double linear(const struct fb_panel *panel, const struct fb_cell *first,
		     const struct fb_cell *cell, size_t key)
{
	char buf[VALUE_CHARS];
	double from, to;

	if (!fb_axis_number(value_of(first, key, buf), &from) ||
	    !fb_axis_number(value_of(cell, key, buf), &to))
		return (double)NAN;
	return fb_cell_number(first, (size_t)panel->column) * to / from;
}

/* A block of a series: x, us, low, high, the second panel's column, the references of both. */
static void put_series(FILE *out, const struct fb_section *section, size_t key,
		       const struct fb_cell *series, const struct fb_cell *const *list,
		       const double *x, size_t values, const struct fb_panel panel[2])
{
	const struct fb_cell *first = NULL;
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *cell;

		n = fb_section_same_place(section, i);
		cell = quickest(&section->cell[i], n, series);
		if (!cell)
			continue;
		first = first ? first : cell;
		fprintf(out, "%.9g", x[find_value(list, values, cell, key)]);
		fb_gnuplot_number(out, cell->us);
		fb_gnuplot_number(out, isfinite(cell->low_us) ? cell->low_us : cell->us);
		fb_gnuplot_number(out, isfinite(cell->high_us) ? cell->high_us : cell->us);
		fb_gnuplot_number(out, panel[1].column < 0
					       ? (double)NAN
					       : fb_cell_number(cell, (size_t)panel[1].column));
		for (size_t p = 0; p < 2; p++)
			fb_gnuplot_number(out, panel[p].linear
						       ? linear(&panel[p], first, cell, key)
						       : fb_panel_reference(&panel[p], cell));
		fputc('\n', out);
	}
	fputs("\n\n", out);
}

static void put_curves(const struct fb_plot *plot, const struct fb_section *section, size_t key,
		       const struct fb_cell **list, double *x)
{
	const struct fb_report names = {.results = plot->results};
	const struct fb_cell *series[SERIES];
	size_t values = values_of(section, key, list), count = 0;
	char title[FB_TITLE_CHARS], name[FB_PLOT_NAME_CHARS];
	const struct fb_panel panel[] = {
		fb_panel_of(plot, section, name_of(section, key), NULL),
		fb_panel_second(plot, section, name_of(section, key)),
	};
	FILE *out = plot->out;

	fb_plot_texts(plot, fb_section_title(section, title, sizeof(title)),
		      "the quickest protocol of each; bars: 95% interval, or the least and the "
		      "greatest of fewer than six launches");
	fprintf(out, "LOGARITHM = %d\n", place_values(list, values, key, x));
	fb_gnuplot_text(out, "AXIS", name_of(section, key));
	fb_gnuplot_text(out, "PANEL",
			panel[1].column < 0 ? "" : fb_own_name(&names, (size_t)panel[1].column));
	fputs("array DASHED[2]\narray ONE_LINE[2]\n", out);
	for (size_t p = 0; p < 2; p++) {
		fprintf(out, "ONE_LINE[%zu] = %d\n", p + 1, is_one_line(&panel[p], section, key));
		fb_plot_item(out, "DASHED", p + 1, panel[p].name);
	}
	put_ticks(out, list, values, key, x);
	for (size_t i = 0; i < section->count; i++) {
		size_t s = 0;

		while (s < count && !fb_plot_same_algorithm(series[s], &section->cell[i]))
			s++;
		if (s == count && count < SERIES && fb_cell_has_time(&section->cell[i]))
			series[count++] = &section->cell[i];
	}
	fprintf(out, "SERIES = %zu\narray NAME[%zu]\n", count, count + 1);
	for (size_t s = 0; s < count; s++) {
		fb_plot_item(out, "NAME", s + 1, fb_plot_algorithm(series[s], name));
	}
	fputs("$DATA << EOD\n", out);
	for (size_t s = 0; s < count; s++)
		put_series(out, section, key, series[s], list, x, values, panel);
	fputs("EOD\n", out);
}

/* Returns the best time of n cells of one place, or that cell's value of `column`; NAN: none. */
static double tile_of(const struct fb_cell *cell, size_t n, int column)
{
	const struct fb_cell *own = fb_cells_best(cell, n, false);
	const struct fb_cell *best = fb_cells_best(cell, n, true);

	if (!best || (own && own->us <= best->us))
		best = own;
	if (!best)
		return (double)NAN;
	return column < 0 ? best->us : fb_cell_number(best, (size_t)column);
}

/*
 * The best time at each pair of values. If a third key differs, a pair has several times, and the
 * best one is shown; of a named column (as slowdowns) the greatest value is shown.
 */
static int put_tiles(const struct fb_plot *plot, const struct fb_section *whole,
		     const size_t key[2], const struct fb_cell **list, double *x)
{
	struct fb_section *section = &(struct fb_section){.axes = whole->axes};
	size_t rows, columns = 0, n;
	const struct fb_cell **column = list + whole->count;
	char title[FB_TITLE_CHARS];
	int shown = plot->columns ? fb_results_column(plot->results, plot->columns) : -1;
	FILE *out = plot->out;

	/* Rows and columns without any value would be white stripes. */
	for (size_t i = 0; i < whole->count; i += n) {
		n = fb_section_same_place(whole, i);
		for (size_t k = i; k < i + n && !isnan(tile_of(&whole->cell[i], n, shown)); k++)
			*FB_ADD(section->cell, section->count) = whole->cell[k];
	}
	if (!section->count)
		return fb_error(FB_EINPUT, "no row of this figure has a value");
	rows = values_of(section, key[0], list);
	columns = values_of(section, key[1], column);
	fb_plot_texts(plot, fb_section_title(whole, title, sizeof(title)),
		      "the quickest of all engines and algorithms at each pair; white: no value");
	fb_gnuplot_text(out, "UNIT", shown < 0 ? "best time in us" : plot->columns);
	fb_gnuplot_text(out, "ROWNAME", name_of(section, key[0]));
	fb_gnuplot_text(out, "COLUMNNAME", name_of(section, key[1]));
	fprintf(out, "ROWS = %zu\nCOLUMNS = %zu\nMORE = 0\n", rows, columns);
	for (size_t i = 0; i < columns; i++)
		x[i] = (double)i;
	put_ticks(out, column, columns, key[1], x);
	fprintf(out, "array ROWLABEL[%zu]\n", rows + 1);
	for (size_t i = 0; i < rows; i++) {
		fb_plot_item(out, "ROWLABEL", i + 1, value_of(list[i], key[0], title));
	}
	for (size_t i = 0; i < rows * columns; i++)
		x[i] = (double)NAN;
	for (size_t i = 0; i < section->count; i += n) {
		double value;
		size_t at;

		n = fb_section_same_place(section, i);
		value = tile_of(&section->cell[i], n, shown);
		at = find_value(list, rows, &section->cell[i], key[0]) * columns +
		     find_value(column, columns, &section->cell[i], key[1]);
		x[at] = isnan(x[at]) ? value : shown < 0 ? fmin(x[at], value)
						       : fmax(x[at], value);
	}
	fputs("$DATA << EOD\n", out);
	for (size_t i = 0; i < rows * columns; i++) {
		fprintf(out, "%zu %zu", i % columns, i / columns);
		fb_gnuplot_number(out, x[i]);
		fputs(i % columns + 1 == columns ? "\n\n" : "\n", out);
	}
	fputs("EOD\n", out);
	return FB_OK;
}

static bool has_one_key(const struct fb_plot *plot, const struct fb_section *section)
{
	size_t key[FB_AXES + 1];

	(void)plot;
	return keys_of(section, key) == 1;
}

/* Where there are three keys, the first two make the figure. */
static bool has_two_keys(const struct fb_plot *plot, const struct fb_section *section)
{
	size_t key[FB_AXES + 1];

	(void)plot;
	return keys_of(section, key) > 1;
}

static int plot_keys(const struct fb_plot *plot, bool heat)
{
	size_t key[FB_AXES + 1] = {0};
	const struct fb_cell **list;
	double *x;
	int err;
	const struct fb_section *section =
		fb_plot_section(plot, heat ? has_two_keys : has_one_key, &err,
				heat ? "no rows that differ in two keys; --axis KEY,KEY names them"
				     : "no rows that differ in one key; --axis KEY names it");

	if (!section)
		return err;
	if (plot->columns && fb_results_column(plot->results, plot->columns) < 0)
		return fb_error(FB_EINPUT, "--columns '%s': no row has such a column",
				plot->columns);
	list = fb_new(2 * section->count, sizeof(const struct fb_cell *));
	x = fb_new(section->count * section->count + 1, sizeof(*x));
	keys_of(section, key);
	if (heat)
		return put_tiles(plot, section, key, list, x);
	put_curves(plot, section, key[0], list, x);
	return FB_OK;
}

int fb_plot_axis(const struct fb_plot *plot)
{
	return plot_keys(plot, false);
}

int fb_plot_heat(const struct fb_plot *plot)
{
	return plot_keys(plot, true);
}
