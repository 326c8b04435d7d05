/* SPDX-License-Identifier: BSD-3-Clause */
/* The table for people; see report.h. */
#include "common/base/fold.h"
#include "common/base/sizes.h"
#include "scripts/tools/lib/doubts.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

enum { LABEL_WIDTH = 30 };

/* The columns of one section's table. */
struct layout {
	const struct fb_report *report;
	const struct fb_section *section;
	unsigned axes; /* those shown, as bits */
	bool sizes;
	bool usual;	 /* shows time, bound and library, not own columns alone */
	size_t from, to; /* shows own.column[from .. to) */
	int width[FB_AXES];
	struct fb_own own;
};

/* The library's time by the time of the best own cell, over all places. */
struct ratios {
	struct fb_ratio_sum sum;
	const struct fb_cell *worst; /* the own cell of the least */
};

static double value_of(const struct fb_report *report, const struct fb_cell *cell)
{
	if (!cell)
		return (double)NAN;
	return report->metric == FB_METRIC_TIME ? cell->us : cell->busbw_GBps;
}

static double half_width(const struct fb_cell *cell)
{
	return fmax(cell->high_us - cell->us, cell->us - cell->low_us) / cell->us;
}

/* The flag of a cell that makes its time doubtful beyond the interval. */
static const char *remark(const struct fb_cell *cell)
{
	if (cell->status == FB_STATUS_FEW)
		return " few";
	return strstr(cell->flags, "drift") ? " drift" : "";
}

static int own_width(const struct fb_report *report, size_t column)
{
	size_t n = strlen(fb_own_name(report, column));

	return n < 9 ? 9 : (int)n;
}

/* The place of a cell: its values on the axes, and its size. */
static void print_place(const struct layout *layout, const struct fb_cell *cell)
{
	FILE *out = layout->report->out;
	char size[FB_SIZE_CHARS];

	for (size_t i = 0; i < FB_AXES; i++)
		if (layout->axes & 1U << i) {
			const char *text = cell->place->text[i];

			fprintf(out, "%*s  ", layout->width[i], *text ? text : "-");
		}
	if (layout->sizes)
		fprintf(out, "%10s  ", fb_size_text(cell->bytes, size));
}

static void print_cell(const struct layout *layout, const struct fb_cell *cell,
		       const struct fb_cell *library)
{
	const struct fb_report *report = layout->report;
	struct fb_ratio ratio = fb_cell_ratio(library == cell ? NULL : library, cell);
	char label[FB_LABEL_CHARS], mark = ' ';
	char us[FB_NUMBER_CHARS], half[FB_NUMBER_CHARS], bound[FB_NUMBER_CHARS];
	char other[FB_NUMBER_CHARS], times[FB_NUMBER_CHARS];

	if (ratio.low <= 1 && ratio.high >= 1)
		mark = '~';
	print_place(layout, cell);
	fprintf(report->out, "%-*.*s", LABEL_WIDTH, LABEL_WIDTH, fb_cell_label(cell, label));
	if (layout->usual)
		fprintf(report->out, " %10s %7s %7s %10s %8s%c",
			fb_number_text(value_of(report, cell), us),
			fb_percent_text(half_width(cell), half),
			fb_percent_text(cell->bound_us / cell->us, bound),
			fb_number_text(value_of(report, library), other),
			isfinite(ratio.value)
				? (snprintf(times, sizeof(times), "%.2f", ratio.value), times)
				: "-",
			mark);
	for (size_t i = layout->from; i < layout->to; i++) {
		size_t column = layout->own.column[i];

		fprintf(report->out, " %*s", own_width(report, column),
			fb_own_text(fb_cell_number(cell, column), us));
	}
	fputs(layout->usual ? remark(cell) : "", report->out);
	/* A ratio is as doubtful as the library's time. */
	if (layout->usual && isfinite(ratio.value) && *remark(library))
		fprintf(report->out, " %s:%s", fb_section_library(layout->section),
			remark(library) + 1);
	fputc('\n', report->out);
}

static void print_problem(const struct layout *layout, const struct fb_cell *cell)
{
	char label[FB_LABEL_CHARS];

	print_place(layout, cell);
	fprintf(layout->report->out, "%-*.*s %s%s%s\n", LABEL_WIDTH, LABEL_WIDTH,
		fb_cell_label(cell, label), fb_status_name(cell->status),
		*cell->reason ? ": " : "", cell->reason);
}

/* The cells of one place. */
static void print_size(const struct layout *layout, const struct fb_cell *cell, size_t n,
		       struct ratios *ratios)
{
	const struct fb_cell *own = fb_cells_best(cell, n, false);
	const struct fb_cell *library = fb_cells_best(cell, n, true);
	bool all = layout->report->all;

	if (layout->usual && fb_ratio_add(&ratios->sum, fb_cell_ratio(library, own)))
		ratios->worst = own;
	for (size_t i = 0; i < n && all; i++)
		if (fb_cell_has_time(&cell[i]))
			print_cell(layout, &cell[i], library);
		else if (layout->usual)
			print_problem(layout, &cell[i]);
	if (!all && (own || library))
		print_cell(layout, own ? own : library, library);
}

static void print_head(const struct layout *layout)
{
	const struct fb_report *report = layout->report;
	const char *library = fb_section_library(layout->section);
	const char *unit = report->metric == FB_METRIC_TIME ? "us" : "GB/s";
	char other[32], times[32];

	for (size_t i = 0; i < FB_AXES; i++)
		if (layout->axes & 1U << i)
			fprintf(report->out, "%*s  ", layout->width[i],
				layout->section->axes->name[i]);
	snprintf(other, sizeof(other), "%s %s", library, unit);
	snprintf(times, sizeof(times), "%s/own", library);
	fprintf(report->out, layout->sizes ? "%10s  " : "%s", layout->sizes ? "bytes" : "");
	fprintf(report->out, "%-*s", LABEL_WIDTH, report->all ? "algorithm" : "best of own");
	if (layout->usual)
		fprintf(report->out, " %10s %7s %7s %10s %8s ", unit, "+-", "bound", other, times);
	for (size_t i = layout->from; i < layout->to; i++)
		fprintf(report->out, " %*s",
			own_width(report, layout->own.column[i]),
			fb_own_name(report, layout->own.column[i]));
	fputc('\n', report->out);
}

static void make_layout(struct layout *layout, const struct fb_report *report,
			const struct fb_section *section)
{
	*layout = (struct layout){.report = report, .section = section};
	layout->axes = fb_section_axes(section, &layout->sizes);
	for (size_t a = 0; a < FB_AXES; a++) {
		if (!(layout->axes & 1U << a))
			continue;
		layout->width[a] = (int)strlen(section->axes->name[a]);
		for (size_t i = 0; i < section->count; i++) {
			int n = (int)strlen(section->cell[i].place->text[a]);

			layout->width[a] = n > layout->width[a] ? n : layout->width[a];
		}
	}
}

/* The width of a line up to its first own column. */
static int width_before(const struct layout *layout)
{
	enum { SIZE = 12, USUAL = 48 };
	int width = (layout->sizes ? SIZE : 0) + LABEL_WIDTH + (layout->usual ? USUAL : 0);

	for (size_t i = 0; i < FB_AXES; i++)
		width += layout->axes & 1U << i ? layout->width[i] + 2 : 0;
	return width;
}

/* Chooses the own columns of the next table. A table without the usual columns has one at least. */
static void take_columns(struct layout *layout)
{
	int width = width_before(layout);

	for (layout->to = layout->from; layout->to < layout->own.count; layout->to++) {
		width += 1 + own_width(layout->report, layout->own.column[layout->to]);
		if (width > FB_LINE_MOST && (layout->usual || layout->to > layout->from))
			return;
	}
}

/* A section that is wider than a line is several tables, with the same places. */
static void print_section(const struct fb_report *report, const struct fb_section *section,
			  struct ratios *ratios)
{
	char title[FB_TITLE_CHARS], size[FB_SIZE_CHARS];
	struct layout layout;
	size_t n;

	make_layout(&layout, report, section);
	fb_own_find(&layout.own, report, section);
	fprintf(report->out, "\n%s", fb_section_title(section, title, sizeof(title)));
	if (!layout.sizes)
		fprintf(report->out, ", %s bytes", fb_size_text(section->cell->bytes, size));
	fprintf(report->out, "\n%s%s%s", *layout.own.same ? "  all: " : "", layout.own.same,
		*layout.own.same ? "\n" : "");
	layout.usual = true;
	do {
		layout.from = layout.to;
		take_columns(&layout);
		print_head(&layout);
		for (size_t i = 0; i < section->count; i += n) {
			n = fb_section_same_place(section, i);
			print_size(&layout, &section->cell[i], n, ratios);
		}
		layout.usual = false;
	} while (layout.to < layout.own.count);
	if (*layout.own.more)
		fprintf(report->out, "  with --columns: %s\n", layout.own.more);
}

static void print_facts(const struct fb_report *report)
{
	static const struct {
		const char *key, *before, *after;
	} facts[] = {
		{"run.name", "", ""},
		{"hostname", " on ", ""},
		{"cpu.model", ", ", ""},
		{"cpu.count", ", ", " cpus"},
		{"run.ranks", ", ", " ranks"},
		{"mpi.library", "\n", ""},
		{"build.version", "\nfabricbench ", ""},
		{"build.revision", " ", ""},
	};

	for (size_t i = 0; i < FB_COUNT_OF(facts); i++) {
		const char *value = fb_results_fact(report->results, facts[i].key);

		if (value)
			fprintf(report->out, "%s%.95s%s", facts[i].before, value, facts[i].after);
	}
	if (report->results->nfacts)
		fputc('\n', report->out);
}

static void print_ratios(const struct fb_report *report, const struct ratios *r)
{
	char size[FB_SIZE_CHARS];

	if (!r->worst)
		return;
	fprintf(report->out,
		"\nlibrary/own over %zu sizes: geometric mean %.2f; least %.2f (%s, %s); "
		"own slower at %zu\n",
		r->sum.n, fb_ratio_mean(&r->sum), r->sum.least, fb_cell_text(r->worst, "program"),
		fb_size_text(r->worst->bytes, size), r->sum.faster);
}

/* Every reason why rows were skipped, once, with how many. */
static void print_skipped(const struct fb_report *report)
{
	const struct fb_cells *cells = report->cells;

	for (size_t i = 0; i < cells->count; i++) {
		const char *reason = cells->cell[i].reason;
		size_t same = 0, before = 0;

		if (cells->cell[i].status != FB_STATUS_SKIPPED)
			continue;
		for (size_t j = 0; j < cells->count; j++) {
			if (cells->cell[j].status != FB_STATUS_SKIPPED ||
			    strcmp(cells->cell[j].reason, reason))
				continue;
			same++;
			before += j < i ? 1 : 0;
		}
		if (before == 0)
			fprintf(report->out, "  skipped: %zu: %s\n", same, reason);
	}
}

static void print_bad(const struct fb_report *report, enum fb_status status, size_t count,
		      const char *what)
{
	if (count == 0)
		return;
	fprintf(report->out, "\n*** %s: %zu ***\n", what, count);
	for (size_t s = 0; s < report->cells->nsections; s++) {
		const struct fb_section *section = &report->cells->section[s];
		struct layout layout;

		make_layout(&layout, report, section);
		for (size_t i = 0; i < section->count; i++)
			if (section->cell[i].status == status) {
				fprintf(report->out, "%s:\n",
					fb_cell_text(section->cell, "program"));
				print_problem(&layout, &section->cell[i]);
			}
	}
}

static void print_doubts(const struct fb_report *report)
{
	char text[FB_DOUBTS][FB_DOUBT_CHARS];
	int n = fb_doubts(report->cells, report->results, text);

	for (int i = 0; i < n; i++)
		fprintf(report->out, "%s*** WARNING: %s ***\n", i ? "" : "\n", text[i]);
}

void fb_report_text(const struct fb_report *report)
{
	struct fb_tally tally = fb_report_tally(report->cells);
	struct ratios ratios = {.worst = NULL};

	print_facts(report);
	for (size_t i = 0; i < report->cells->nsections; i++)
		print_section(report, &report->cells->section[i], &ratios);
	print_ratios(report, &ratios);
	fprintf(report->out,
		"\n%s\n"
		"+-     half of the 95%% interval, by the value\n"
		"bound  least possible time on this memory, by the time measured\n"
		"~      the two intervals overlap: no difference was seen\n",
		report->metric == FB_METRIC_TIME
			? "us     median over repetitions of the time until the last rank is "
			  "through, then " FB_ESTIMATOR
			: "GB/s   bus bandwidth, 1e9 bytes per second, of the " FB_ESTIMATOR);
	fprintf(report->out, "\nrows: %zu ok, %zu few, %zu skipped, %zu wrong, %zu fault\n",
		tally.status[FB_STATUS_OK], tally.status[FB_STATUS_FEW],
		tally.status[FB_STATUS_SKIPPED], tally.status[FB_STATUS_WRONG],
		tally.status[FB_STATUS_FAULT]);
	print_skipped(report);
	print_doubts(report);
	print_bad(report, FB_STATUS_WRONG, tally.status[FB_STATUS_WRONG], "WRONG DATA");
	print_bad(report, FB_STATUS_FAULT, tally.status[FB_STATUS_FAULT], "FAULTS");
}
