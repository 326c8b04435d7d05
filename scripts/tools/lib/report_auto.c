/* SPDX-License-Identifier: BSD-3-Clause */
/* What engine auto chose, beside the library and beside the best it could have; see report.h. */
#include "common/base/sizes.h"
#include "scripts/tools/lib/report.h"

#include <math.h>
#include <string.h>

enum { WHERE_CHARS = FB_TITLE_CHARS + FB_SIZE_CHARS + 16 };

/* One kind of quotient of a program's cells. */
struct quotients {
	double log_sum, extreme;
	size_t n;
	char where[WHERE_CHARS]; /* the cell of the extreme one */
};

struct judged {
	const char *program; /* NULL: of all */
	struct quotients library, regret;
	size_t slower; /* than the library, and the intervals do not overlap */
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

/* sign: 1 keeps the least, -1 the greatest. */
static void add(struct quotients *q, double value, int sign, const struct fb_section *section,
		const struct fb_cell *cell)
{
	char title[FB_TITLE_CHARS], size[FB_SIZE_CHARS];

	if (!isfinite(value))
		return;
	q->log_sum += log(value);
	if (q->n++ && sign * value >= sign * q->extreme)
		return;
	q->extreme = value;
	snprintf(q->where, sizeof(q->where), "%s of %s",
		 fb_size_text(cell->bytes, size), fb_section_title(section, title, sizeof(title)));
}

static void judge(struct judged *judged, const struct fb_section *section)
{
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *cell = &section->cell[i], *chosen;
		const struct fb_cell *library, *own;
		struct fb_ratio ratio;

		n = fb_section_same_place(section, i);
		chosen = auto_of(cell, n);
		if (!chosen)
			continue;
		library = fb_cells_best(cell, n, true);
		ratio = fb_cell_ratio(library, chosen);
		add(&judged->library, ratio.value, 1, section, chosen);
		judged->slower += ratio.high < 1 ? 1 : 0;
		/* Best is whose interval ends first, so its median may be above auto's. */
		own = best_of_several(cell, n);
		add(&judged->regret, own ? fmax(chosen->us / own->us, 1) : (double)NAN, -1, section,
		    chosen);
	}
}

static void print_quotients(const struct fb_report *report, const struct quotients *q)
{
	char mean[FB_NUMBER_CHARS] = "-", extreme[FB_NUMBER_CHARS] = "-";

	if (q->n) {
		snprintf(mean, sizeof(mean), "%.3f", exp(q->log_sum / (double)q->n));
		snprintf(extreme, sizeof(extreme), "%.3f", q->extreme);
	}
	fprintf(report->out, " %5zu %7s %7s", q->n, mean, extreme);
}

static void print_judged(const struct fb_report *report, const struct judged *judged)
{
	fprintf(report->out, "%-15s", judged->program);
	print_quotients(report, &judged->library);
	fprintf(report->out, " %6zu ", judged->slower);
	print_quotients(report, &judged->regret);
	fputc('\n', report->out);
	if (judged->library.n)
		fprintf(report->out, "  least: %s\n", judged->library.where);
	if (judged->regret.n)
		fprintf(report->out, "  most:  %s\n", judged->regret.where);
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
		if (!judged.library.n && !judged.regret.n)
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
