/* SPDX-License-Identifier: BSD-3-Clause */
/* What was not judged, and what changed in the environment; see report_verdict.h. */
#include "scripts/tools/compare/report_verdict.h"

#include <string.h>

enum { LIST_LINES = 12 };

/* Each row in at most one line; `show` is the number of rows in all. */
static void print_list(const struct fb_verdicts_report *report, FILE *out, size_t count,
		       const char *title, bool (*wanted)(const struct fb_comparison *, uint32_t))
{
	const struct fb_comparison *c = report->comparison;
	size_t shown = 0, most = report->all ? SIZE_MAX : LIST_LINES;

	if (count == 0)
		return;
	fprintf(out, "\n%s: %zu\n", title, count);
	for (uint32_t k = 0; k < c->keys.count && shown < most; k++) {
		char label[FB_ROW_LABEL_CHARS];
		const char *reason = fb_place_reason(c, k);
		int used;

		if (!wanted(c, k))
			continue;
		shown++;
		used = fprintf(out, "  %.70s", fb_row_label(&report->labels, k, label));
		if (*reason && used < FB_REPORT_WIDTH - 10)
			fprintf(out, ": %.*s", FB_REPORT_WIDTH - 2 - used, reason);
		fputc('\n', out);
	}
	if (shown < count)
		fprintf(out, "  and %zu more (--all shows them)\n", count - shown);
}

/* One function a place, since a list asks of one key at a time. */
#define WANTED(name, condition)                                                                    \
	static bool name(const struct fb_comparison *c, uint32_t k)                                \
	{                                                                                          \
		return condition;                                                                  \
	}
WANTED(is_wrong, c->outcome[1][k].status[FB_STATUS_WRONG] > 0)
WANTED(is_wrong_base, c->outcome[0][k].status[FB_STATUS_WRONG] > 0)
WANTED(is_fault, c->outcome[1][k].status[FB_STATUS_FAULT] > 0)
WANTED(is_fault_base, c->outcome[0][k].status[FB_STATUS_FAULT] > 0)
WANTED(is_only_base, c->place[k] == FB_PLACE_ONLY_BASE)
WANTED(is_only_new, c->place[k] == FB_PLACE_ONLY_NEW)
WANTED(is_lost, c->place[k] == FB_PLACE_LOST)
WANTED(is_gained, c->place[k] == FB_PLACE_GAINED)
WANTED(is_neither, c->place[k] == FB_PLACE_NEITHER)
WANTED(is_no_metric, c->place[k] == FB_PLACE_NO_METRIC)
WANTED(is_left_out, c->place[k] == FB_PLACE_LEFT_OUT)

void fb_verdicts_lists(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const size_t *n = c->places;
	struct fb_ways ways;

	print_list(report, out, c->wrong[1], "*** WRONG DATA in NEW ***", is_wrong);
	print_list(report, out, c->faults[1], "*** FAULTS in NEW ***", is_fault);
	print_list(report, out, c->wrong[0], "wrong data in BASE", is_wrong_base);
	print_list(report, out, c->faults[0], "faults in BASE", is_fault_base);
	print_list(report, out, n[FB_PLACE_LOST], "measured in BASE, skipped or faulty in NEW",
		   is_lost);
	print_list(report, out, n[FB_PLACE_ONLY_BASE], "only in BASE", is_only_base);
	print_list(report, out, n[FB_PLACE_GAINED], "measured in NEW, skipped or faulty in BASE",
		   is_gained);
	print_list(report, out, n[FB_PLACE_ONLY_NEW], "only in NEW", is_only_new);
	print_list(report, out, n[FB_PLACE_NO_METRIC], "without a value of the metric",
		   is_no_metric);
	print_list(report, out, n[FB_PLACE_LEFT_OUT], "only in launches that are left out",
		   is_left_out);
	if (report->all)
		print_list(report, out, n[FB_PLACE_NEITHER], "measured on neither side",
			   is_neither);
	else if (n[FB_PLACE_NEITHER])
		fprintf(out, "\nmeasured on neither side: %zu\n", n[FB_PLACE_NEITHER]);
	if (c->few)
		fprintf(out, "\nrows with few samples: %zu, used like all others\n", c->few);
	ways = fb_verdicts_ways(c);
	fb_ways_print(&ways, &report->labels, "REROUTED: rows that ran another way (column path)",
		      out);
}

/* One line where it fits, else the two values below one another. */
static void print_difference(const struct fb_difference *d, FILE *out)
{
	size_t width = 4 + strlen(d->name) + 2 + strlen(d->base) + 4 + strlen(d->new);
	const char *mark = d->identity ? "  ! " : "    ";

	if (width <= FB_REPORT_WIDTH)
		fprintf(out, "%s%s: %s -> %s\n", mark, d->name, d->base, d->new);
	else
		fprintf(out, "%s%.90s:\n      from %.*s\n      to   %.*s\n", mark, d->name,
			FB_REPORT_WIDTH - 11, d->base, FB_REPORT_WIDTH - 11, d->new);
}

void fb_differences_text(const struct fb_differences *differences, const char *trait, FILE *out)
{
	if (!differences->known) {
		fputs("\nWHAT CHANGED: not known: no environment.csv on both sides\n", out);
		return;
	}
	if (differences->count == 0) {
		fprintf(out, "\nWHAT CHANGED: nothing that environment.csv records%s%s\n",
			*trait ? "; " : "", trait);
		return;
	}
	fprintf(out, "\nWHAT CHANGED, likely cause first%s%s%s\n", *trait ? " (" : "", trait,
		*trait ? ")" : "");
	for (size_t i = 0; i < differences->count; i++) {
		const struct fb_difference *d = &differences->item[i];

		if (i == 0 || d[-1].kind != d->kind)
			fprintf(out, "  %s%s%s\n", fb_difference_class_name(d->kind),
				d->why ? ": " : "", d->why ? d->why : "");
		print_difference(d, out);
	}
}
