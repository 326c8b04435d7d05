/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps side by side as stacked bars: the time of computing, the exposed communication, and the
 * time lost beyond both; below the axis, the communication that computing hides. For rows of
 * handoff the stages of a request: making its moves and messages, moving them, and making pages of
 * messages. A bar is the fastest row of an engine at a place of --axis and a size.
 */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"

#include <math.h>
#include <string.h>

enum { BARS = 24, LABEL_CHARS = 160 };

/* Numbers of the columns that a bar is made of; -1: no file has it. */
struct columns {
	int compute, communication;
	int total, build, pack, unpack; /* stages */
};

static struct columns columns_of(const struct fb_plot *plot)
{
	return (struct columns){fb_results_column(plot->results, "compute_us"),
				fb_results_column(plot->results, "communication_us"),
				fb_results_column(plot->results, "total_us"),
				fb_results_column(plot->results, "build_us"),
				fb_results_column(plot->results, "pack_us"),
				fb_results_column(plot->results, "unpack_us")};
}

static bool has(const struct fb_cell *cell, int column)
{
	return column >= 0 && isfinite(fb_cell_number(cell, (size_t)column));
}

static bool has_stages(const struct fb_cell *cell, const struct columns *c)
{
	return has(cell, c->total) && has(cell, c->build);
}

/* Whether a cell is a step that has computing; communication may be none. Or it has stages. */
static bool is_step(const struct fb_cell *cell, const struct columns *c)
{
	return fb_cell_has_time(cell) && (has(cell, c->compute) || has_stages(cell, c));
}

/* Whether an earlier cell of the same place, size and engine is a step: that is the quicker one. */
static bool is_first(const struct fb_section *section, size_t i, const struct columns *c)
{
	const struct fb_cell *cell = &section->cell[i];

	for (size_t k = i; k-- > 0 && k + fb_section_same_place(section, k) > i;)
		if (is_step(&section->cell[k], c) && !strcmp(fb_cell_text(cell, "engine"),
		    fb_cell_text(&section->cell[k], "engine")))
			return false;
	return is_step(cell, c);
}

static size_t bars_of(const struct fb_section *section, const struct columns *c)
{
	size_t n = 0;

	for (size_t i = 0; i < section->count; i++)
		n += is_first(section, i, c);
	return n;
}

static bool differ(const struct fb_section *section, const char *column)
{
	for (size_t i = 1; i < section->count; i++)
		if (strcmp(fb_cell_text(&section->cell[i], column),
			   fb_cell_text(section->cell, column)))
			return true;
	return false;
}

static bool axis_differs(const struct fb_section *section, size_t axis)
{
	for (size_t i = 1; i < section->count; i++)
		if (strcmp(section->cell[i].place->text[axis], section->cell->place->text[axis]))
			return true;
	return false;
}

/* Whether bars of the same place have several sizes; else the size follows from the place. */
static bool size_matters(const struct fb_section *section)
{
	for (size_t i = 1; i < section->count; i++) {
		const struct fb_cell *cell = &section->cell[i];
		bool same = cell[-1].bytes != cell->bytes;

		for (size_t a = 0; section->axes && a < section->axes->count; a++)
			same &= !strcmp(cell[-1].place->text[a], cell->place->text[a]);
		if (same)
			return true;
	}
	return false;
}

/* "overlap, 25M, cuda": the axes, the engine and the size, as far as bars differ in them. */
static void put_label(FILE *out, size_t number, const struct fb_section *section,
		      const struct fb_cell *cell)
{
	char label[LABEL_CHARS] = "", size[FB_SIZE_CHARS];
	const char *part[FB_AXES + 2];
	size_t n = 0;

	for (size_t a = 0; section->axes && a < section->axes->count; a++)
		if (axis_differs(section, a))
			part[n++] = cell->place->text[a];
	if (differ(section, "engine"))
		part[n++] = fb_cell_text(cell, "engine");
	if (size_matters(section))
		part[n++] = fb_size_text(cell->bytes, size);
	for (size_t i = 0; i < n; i++)
		if (*part[i])
			fb_append(label, sizeof(label), "%s%.40s", *label ? ", " : "", part[i]);
	fb_plot_item(out, "NAME", number, label);
}

/* The axes that all bars have alike: ";layers=16"; into `text`. */
static void name_common(const struct fb_section *section, char *text, size_t n)
{
	*text = '\0';
	for (size_t a = 0; section->axes && a < section->axes->count; a++)
		if (!axis_differs(section, a) && *section->cell->place->text[a])
			fb_append(text, n, "%s%s=%s", *text ? ";" : ", ", section->axes->name[a],
				  section->cell->place->text[a]);
}

static double value_of(const struct fb_cell *cell, int column)
{
	double x = column < 0 ? (double)NAN : fb_cell_number(cell, (size_t)column);

	return isfinite(x) ? x : 0;
}

/* In place of what put_bar() prints: making, moving and restoring; nothing is hidden. */
static void put_stages(FILE *out, size_t number, const struct fb_cell *cell,
		       const struct columns *c)
{
	double total = value_of(cell, c->total), unpack = value_of(cell, c->unpack);
	double make = value_of(cell, c->build) + value_of(cell, c->pack);
	/* Medians of each stage need not add up to that of all. */
	double bar[] = {total, total, total, fmin(make, total), 0, 0, 0};

	bar[5] = fmin(unpack, total - bar[3]);
	bar[4] = fmax(0, total - bar[3] - bar[5]);
	fprintf(out, "%zu", number);
	for (size_t i = 0; i < FB_COUNT_OF(bar); i++)
		fb_gnuplot_number(out, bar[i]);
	fputc('\n', out);
}

/* Number, us, low, high, compute, exposed, lost, hidden. */
static void put_bar(FILE *out, size_t number, const struct fb_cell *cell, const struct columns *c)
{
	double compute = fmin(value_of(cell, c->compute), cell->us), rest = cell->us - compute;
	double communication = value_of(cell, c->communication);
	double exposed = fmin(rest, communication);

	if (has_stages(cell, c)) {
		put_stages(out, number, cell, c);
		return;
	}
	fprintf(out, "%zu", number);
	fb_gnuplot_number(out, cell->us);
	fb_gnuplot_number(out, isfinite(cell->low_us) ? cell->low_us : cell->us);
	fb_gnuplot_number(out, isfinite(cell->high_us) ? cell->high_us : cell->us);
	fb_gnuplot_number(out, compute);
	fb_gnuplot_number(out, exposed);
	fb_gnuplot_number(out, rest - exposed);
	fb_gnuplot_number(out, communication - exposed);
	fputc('\n', out);
}

static void put_stack(const struct fb_plot *plot, const struct fb_section *section,
		      const struct columns *c)
{
	size_t all = bars_of(section, c), shown = all < BARS ? all : BARS, n = 0;
	char title[FB_TITLE_CHARS], whole[FB_TITLE_CHARS + 160], note[256], common[128];
	bool stages = has_stages(section->cell, c);
	FILE *out = plot->out;

	name_common(section, common, sizeof(common));
	snprintf(whole, sizeof(whole), "%s of %s%s", stages ? "stages" : "steps",
		 fb_section_title(section, title, sizeof(title)), common);
	snprintf(note, sizeof(note), "%s; %zu more are not shown",
		 stages ? "medians, until all receivers know that all pages are there; moves and "
			  "messages are made before the first byte moves, or layer by layer"
			: "grey: what a step takes beyond its computing and all of its "
			  "communication alone", all - shown);
	if (all == shown)
		*strrchr(note, ';') = '\0';
	fb_plot_texts(plot, whole, note);
	fprintf(out, "STAGES = %d\nBARS = %zu\narray NAME[%zu]\n", stages, shown, shown + 1);
	for (size_t i = 0; i < section->count && n < shown; i++) {
		if (!is_first(section, i, c))
			continue;
		put_label(out, ++n, section, &section->cell[i]);
	}
	fputs("$DATA << EOD\n", out);
	n = 0;
	for (size_t i = 0; i < section->count && n < shown; i++)
		if (is_first(section, i, c))
			put_bar(out, ++n, &section->cell[i], c);
	fputs("EOD\n", out);
}

static bool has_bars(const struct fb_plot *plot, const struct fb_section *section)
{
	const struct columns c = columns_of(plot);

	return bars_of(section, &c) > 1;
}

int fb_plot_stack(const struct fb_plot *plot)
{
	const struct columns c = columns_of(plot);
	int err;
	const struct fb_section *section = fb_plot_section(
		plot, has_bars, &err, "no two steps with column compute_us, or stages with column "
		"total_us; --axis KEY says what they differ in");

	if (section)
		put_stack(plot, section, &c);
	return err;
}
