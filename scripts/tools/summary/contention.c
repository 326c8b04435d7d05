/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows how much communication slows computing, by the resources that the work needs. */
#include "common/base/sizes.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/summary/summary.h"

#include <math.h>
#include <string.h>

/* Each kind of the first three needs what the one before needs, and one resource more. */
enum kind { SPIN, CACHE, MEMORY, COPY_IN, COPY_OUT, GEMM, KINDS };
static const char *const kinds[] = {"spin", "cache", "memory", "copy_in", "copy_out", "gemm"};

/* True for two rows of contention that differ in the kind of work only. */
static bool alike(const struct fb_cell *a, const struct fb_cell *b)
{
	static const char *const keys[] = {
		"program", "engine", "algorithm", "protocol", "transport", "memory",
		"registration", "launch", "cadence", "datatype", "bytes", "ranks", "nodes",
		"variant"};

	for (size_t i = 0; i < FB_COUNT_OF(keys); i++)
		if (strcmp(fb_cell_text(a, keys[i]), fb_cell_text(b, keys[i])) != 0)
			return false;
	return !strcmp(fb_cell_text(a, "program"), "contention");
}

/* slow: [KINDS], NAN where there is no such row. False: a row before has been the group's first. */
static bool collect(const struct fb_cells *cells, size_t first, size_t column, double *slow)
{
	for (int k = 0; k < KINDS; k++)
		slow[k] = (double)NAN;
	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *cell = &cells->cell[i];

		if (!alike(&cells->cell[first], cell))
			continue;
		if (i < first)
			return false;
		for (int k = 0; k < KINDS; k++)
			if (!strcmp(fb_cell_text(cell, "operation"), kinds[k]))
				slow[k] = fb_cell_number(cell, column);
	}
	return true;
}

/* A factor, or "?" where one of the rows is missing. */
static void put(FILE *out, const char *name, double factor)
{
	if (isfinite(factor))
		fprintf(out, "  %s %.2f", name, factor);
	else
		fprintf(out, "  %s ?", name);
}

void fb_summary_contention(const struct fb_report *report)
{
	int column = fb_results_column(report->results, "compute_slowdown");
	const struct fb_cells *cells = report->cells;

	for (size_t i = 0; i < cells->count && column >= 0; i++) {
		const struct fb_cell *cell = &cells->cell[i];
		double slow[KINDS];
		char label[FB_LABEL_CHARS], size[FB_SIZE_CHARS];

		if (!alike(cell, cell) || !collect(cells, i, (size_t)column, slow) ||
		    (isnan(slow[SPIN]) && isnan(slow[MEMORY]) && isnan(slow[COPY_IN])))
			continue;
		fprintf(report->out, "%s, %s, %s\n", fb_cell_label(cell, label),
			fb_size_text(cell->bytes, size), fb_cell_text(cell, "variant"));
		put(report->out, "multiprocessors", slow[SPIN]);
		/* Pieces of `cache` are long: perhaps none ran wholly beside a collective. */
		if (isnan(slow[CACHE])) {
			put(report->out, "cache and memory", slow[MEMORY] / slow[SPIN]);
		} else {
			put(report->out, "cache", slow[CACHE] / slow[SPIN]);
			put(report->out, "memory", slow[MEMORY] / slow[CACHE]);
		}
		put(report->out, "link to the host", fmax(slow[COPY_IN], slow[COPY_OUT]));
		put(report->out, "| products", slow[GEMM]);
		fputc('\n', report->out);
	}
}
