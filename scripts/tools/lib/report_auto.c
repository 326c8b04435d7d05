/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares engine auto's selection with the library and the best candidate; see report.h. */
#include "common/base/sizes.h"
#include "scripts/tools/lib/report.h"

#include <string.h>

enum { WHERE_CHARS = FB_TITLE_CHARS + FB_SIZE_CHARS + 16 };

struct judged {
	const char *program;
	struct fb_ratio_sum library; /* the library's time / auto's */
	struct fb_ratio_sum best;    /* the best own cell's time / auto's; regret is the inverse */
	char least[WHERE_CHARS], most[WHERE_CHARS]; /* the cells of both least ratios */
};

static const struct fb_cell *auto_of(const struct fb_cell *cell, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(fb_cell_text(&cell[i], "engine"), "auto") && fb_cell_has_time(&cell[i]))
			return &cell[i];
	return NULL;
}

/* The best own cell where there is any beside auto's, else NULL. */
static const struct fb_cell *best_of_several(const struct fb_cell *cell, size_t n)
{
	size_t own = 0;

	for (size_t i = 0; i < n; i++)
		own += fb_cell_has_time(&cell[i]) && !fb_cell_is_library(&cell[i]);
	return own > 1 ? fb_cells_best(cell, n, false) : NULL;
}

/* Adds a ratio of a cell; `where` becomes the cell if the ratio is the least so far. */
static void add(struct fb_ratio_sum *sum, struct fb_ratio ratio, char where[WHERE_CHARS],
		const struct fb_section *section, const struct fb_cell *cell)
{
	char title[FB_TITLE_CHARS], size[FB_SIZE_CHARS];

	if (fb_ratio_add(sum, ratio))
		snprintf(where, WHERE_CHARS, "%s of %s", fb_size_text(cell->bytes, size),
			 fb_section_title(section, title, sizeof(title)));
}

static void judge(struct judged *judged, const struct fb_section *section)
{
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *cell = &section->cell[i], *chosen;
		const struct fb_cell *own;
		struct fb_ratio best;

		n = fb_section_same_place(section, i);
		chosen = auto_of(cell, n);
		if (!chosen)
			continue;
		add(&judged->library, fb_cell_ratio(fb_cells_best(cell, n, true), chosen),
		    judged->least, section, chosen);
		own = best_of_several(cell, n);
		best = fb_cell_ratio(own, chosen);
		/* The interval of the best cell ends first, so its median may be above auto's. */
		best.value = best.value > 1 ? 1 : best.value;
		add(&judged->best, best, judged->most, section, chosen);
	}
}

static void print_ratios(const struct fb_report *report, size_t n, double mean, double extreme)
{
	if (n)
		fprintf(report->out, " %5zu %7.3f %7.3f", n, mean, extreme);
	else
		fprintf(report->out, " %5d %7s %7s", 0, "-", "-");
}

static void print_judged(const struct fb_report *report, const struct judged *judged)
{
	const struct fb_ratio_sum *library = &judged->library, *best = &judged->best;

	fprintf(report->out, "%-15s", judged->program);
	print_ratios(report, library->n, fb_ratio_mean(library), library->least);
	fprintf(report->out, " %6zu ", library->faster);
	print_ratios(report, best->n, 1 / fb_ratio_mean(best), 1 / best->least);
	fputc('\n', report->out);
	if (library->n)
		fprintf(report->out, "  least: %s\n", judged->least);
	if (best->n)
		fprintf(report->out, "  most:  %s\n", judged->most);
}

void fb_report_auto(const struct fb_report *report)
{
	const struct fb_cells *cells = report->cells;
	bool any = false;

	for (size_t s = 0, end; s < cells->nsections; s = end) {
		struct judged judged = {.program = fb_cell_text(cells->section[s].cell, "program")};

		for (end = s; end < cells->nsections &&
			      !strcmp(fb_cell_text(cells->section[end].cell, "program"),
				      judged.program); end++)
			judge(&judged, &cells->section[end]);
		if (!judged.library.n && !judged.best.n)
			continue;
		if (!any)
			fprintf(report->out, "%-15s %5s %7s %7s %6s  %5s %7s %7s\n", "engine auto",
				"cells", "lib/own", "least", "slower", "cells", "regret", "most");
		any = true;
		print_judged(report, &judged);
	}
	fprintf(report->out, any ? "lib/own  the best of the library's ways by auto, geometric "
				   "mean; slower: intervals apart\n"
				   "regret   auto by the best own cell, geometric mean\n"
				 : "no row of engine auto\n");
}
