/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a careful reader would look for: what failed, what was left out and why, which numbers are
 * doubtful, and where there is room to the bound. Counted first, then with the worst few.
 */
#include "common/base/sizes.h"
#include "scripts/tools/lib/rank_times.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORST = 8, FAR_PERCENT = 50 };

/* From this size on time goes by bytes, and the bound is one that can be reached. */
static const uint64_t far_bytes = 64 << 10;

static void put_cell(FILE *out, const struct fb_cell *cell)
{
	char size[FB_SIZE_CHARS], label[FB_LABEL_CHARS];

	fb_html(out, "%s, %s, %s bytes, %s ranks", fb_cell_text(cell, "program"),
		fb_cell_label(cell, label), fb_size_text(cell->bytes, size),
		fb_cell_text(cell, "ranks"));
}

static size_t put_bad(const struct fb_page *page, enum fb_status status, const char *what)
{
	const struct fb_cells *cells = &page->set->cells;
	size_t n = fb_report_tally(cells).status[status], shown = 0;
	FILE *out = page->out;

	if (n == 0)
		return 0;
	/* A bad row is never folded away. */
	fb_html(out,
		"<li><details %s><summary><span class=\"tag %s\">%zu %s</span> "
		"<span class=\"soft\">%s</span></summary><ul>\n",
		status == FB_STATUS_FEW ? "" : "open", fb_status_name(status), n,
		fb_status_name(status), what);
	for (size_t i = 0; i < cells->count && shown < 50; i++) {
		const struct fb_cell *cell = &cells->cell[i];

		if (cell->status != status)
			continue;
		fputs("<li>", out);
		put_cell(out, cell);
		fb_html(out, "%s%s</li>\n", *cell->reason ? ": " : "", cell->reason);
		shown++;
	}
	if (n > shown)
		fb_html(out, "<li>and %zu more</li>\n", n - shown);
	fputs("</ul></details></li>\n", out);
	return n;
}

/* Every reason once, with how many rows it is of. */
static void put_skipped(const struct fb_page *page)
{
	const struct fb_cells *cells = &page->set->cells;
	size_t n = fb_report_tally(cells).status[FB_STATUS_SKIPPED];
	FILE *out = page->out;

	if (n == 0)
		return;
	fb_html(out,
		"<li><span class=\"tag skipped\">%zu skipped</span> cases that could not be "
		"run here<ul>\n",
		n);
	for (size_t i = 0; i < cells->count; i++) {
		size_t same = 0, before = 0;

		if (cells->cell[i].status != FB_STATUS_SKIPPED)
			continue;
		for (size_t j = 0; j < cells->count; j++)
			if (cells->cell[j].status == FB_STATUS_SKIPPED &&
			    !strcmp(cells->cell[j].reason, cells->cell[i].reason)) {
				same++;
				before += j < i ? 1 : 0;
			}
		if (before == 0)
			fb_html(out, "<li>%zu: %s</li>\n", same, cells->cell[i].reason);
	}
	fputs("</ul></li>\n", out);
}

/* Whether a list "a;b;c" has the name. */
static bool has_flag(const char *flags, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(flags, name); at; at = strstr(at + 1, name))
		if ((at == flags || at[-1] == ';') && (at[n] == '\0' || at[n] == ';'))
			return true;
	return false;
}

static void put_flag(const struct fb_page *page, const char *name, const char *what)
{
	const struct fb_results *results = &page->set->results;
	size_t n = 0;

	for (size_t i = 0; i < results->count; i++)
		n += has_flag(fb_result_text(&results->row[i], "flags"), name) ? 1 : 0;
	if (n)
		fb_html(page->out,
			"<li><span class=\"tag few\">%zu %s</span> %s <a href=\"#rows?q="
			"%s\">show them</a></li>\n",
			n, name, what, name);
}

static void put_flags(const struct fb_page *page)
{
	static const struct {
		const char *name, *what;
	} flags[] = {
		{"drift", "rows whose repetitions became slower or quicker while they were "
			  "measured: their medians are doubtful beyond their intervals."},
		{"skew", "rows whose ranks began apart by more than a tenth of the time: a small "
			 "operation then looks longer than it is."},
		{"timer", "rows so short that reading the clock is more than 5% of them."},
		{"dropped", "rows whose first third was left out because it drifted."},
		{"rounded", "rows that moved another number of bytes than was asked for."},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		put_flag(page, flags[i].name, flags[i].what);
}

struct ranked {
	const struct fb_cell *cell;
	double value;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return a->value < b->value ? -1 : a->value > b->value;
}

/* The best own cells of large sizes that take more than twice the bound, the farthest first. */
static void put_far(const struct fb_page *page, struct ranked *list)
{
	const struct fb_cells *cells = &page->set->cells;
	size_t count = 0, of = 0, n;
	FILE *out = page->out;

	for (size_t s = 0; s < cells->nsections; s++)
		for (size_t i = 0; i < cells->section[s].count; i += n) {
			const struct fb_cell *cell = &cells->section[s].cell[i], *best;

			n = fb_section_same_place(&cells->section[s], i);
			best = fb_cells_best(cell, n, false);
			if (!best || best->bytes < far_bytes || !isfinite(best->bound_us))
				continue;
			of++;
			if (100 * best->bound_us < FAR_PERCENT * best->us)
				list[count++] = (struct ranked){best, best->bound_us / best->us};
		}
	if (count == 0)
		return;
	qsort(list, count, sizeof(*list), compare_ranked);
	fb_html(out,
		"<li><span class=\"tag skipped\">%zu far from the bound</span> of %zu sizes from "
		"64K on, the best algorithm takes more than twice the least possible time. "
		"The farthest:<ul>\n",
		count, of);
	for (size_t i = 0; i < count && i < WORST; i++) {
		fputs("<li>", out);
		put_cell(out, list[i].cell);
		fb_html(out, ": %.3g%% of the bound</li>\n", 100 * list[i].value);
	}
	fputs("</ul></li>\n", out);
}

/* Where the library is quicker than all own algorithms, with intervals apart. */
static void put_slower(const struct fb_page *page, struct ranked *list)
{
	const struct fb_cells *cells = &page->set->cells;
	size_t count = 0, n;
	FILE *out = page->out;

	for (size_t s = 0; s < cells->nsections; s++)
		for (size_t i = 0; i < cells->section[s].count; i += n) {
			const struct fb_cell *cell = &cells->section[s].cell[i], *own;
			struct fb_ratio ratio;

			n = fb_section_same_place(&cells->section[s], i);
			own = fb_cells_best(cell, n, false);
			ratio = fb_cell_ratio(fb_cells_best(cell, n, true), own);
			if (ratio.high < 1)
				list[count++] = (struct ranked){own, ratio.value};
		}
	if (count == 0)
		return;
	qsort(list, count, sizeof(*list), compare_ranked);
	fb_html(out,
		"<li><span class=\"tag few\">%zu slower than the library</span> sizes at which "
		"the library is quicker than every own algorithm, intervals apart:<ul>\n",
		count);
	for (size_t i = 0; i < count && i < WORST; i++) {
		fputs("<li>", out);
		put_cell(out, list[i].cell);
		fb_html(out, ": library / own %.2f</li>\n", list[i].value);
	}
	fputs("</ul></li>\n", out);
}

static void put_laggard(void *arg, const char *sentence)
{
	fb_html(arg, "<li><span class=\"tag few\">late</span> %s</li>\n", sentence);
}

/* Who lags in the times of single ranks; without these, or memory, nothing is said. */
static void put_laggards(const struct fb_page *page)
{
	char *file = fb_beside(page->set->path[0], "ranks.csv");
	struct fb_rank_times times = {.groups = 0};

	if (file && access(file, R_OK) == 0 && !fb_rank_times_read(&times, file))
		fb_laggards(&times, &page->set->results, put_laggard, page->out);
	fb_rank_times_free(&times);
	free(file);
}

void fb_page_findings(const struct fb_page *page)
{
	struct ranked *list = calloc(page->set->cells.count + 1, sizeof(*list));
	FILE *out = page->out;

	fputs("<section id=\"findings\" aria-labelledby=\"findings-title\">\n<h2 id=\""
	      "findings-title\">Findings</h2>\n<div class=\"card\"><ul class=\"findings\">\n",
	      out);
	put_bad(page, FB_STATUS_WRONG, "rows whose data differed from the expected");
	put_bad(page, FB_STATUS_FAULT, "rows that ended in a fault");
	if (put_bad(page, FB_STATUS_FEW, "rows with fewer than 5 repetitions") +
		    fb_report_tally(&page->set->cells).status[FB_STATUS_WRONG] +
		    fb_report_tally(&page->set->cells).status[FB_STATUS_FAULT] ==
	    0)
		fputs("<li><span class=\"tag ok\">ok</span> No wrong data, no fault, no "
		      "row with too "
		      "few repetitions.</li>\n",
		      out);
	put_skipped(page);
	put_flags(page);
	put_laggards(page);
	if (list) {
		put_slower(page, list);
		put_far(page, list);
	}
	fputs("</ul></div>\n</section>\n", out);
	free(list);
}
