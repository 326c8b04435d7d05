/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of rows that were not judged, and of what changed in the environment. */
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/text.h"

#include <string.h>

enum { LIST_LINES = 12 };

/* A list of keys: those with rows of a status on one side, or, side -1, those of a place. */
static const struct list {
	const char *title;
	int side;
	enum fb_status status;
	enum fb_place place;
	bool only_counted; /* unless lists are shown in full */
} lists[] = {
	{"*** WRONG DATA in NEW ***", 1, .status = FB_STATUS_WRONG},
	{"*** FAULTS in NEW ***", 1, .status = FB_STATUS_FAULT},
	{"wrong data in BASE", 0, .status = FB_STATUS_WRONG},
	{"faults in BASE", 0, .status = FB_STATUS_FAULT},
	{"measured in BASE, skipped or faulty in NEW", -1, .place = FB_PLACE_LOST},
	{"only in BASE", -1, .place = FB_PLACE_ONLY_BASE},
	{"measured in NEW, skipped or faulty in BASE", -1, .place = FB_PLACE_GAINED},
	{"only in NEW", -1, .place = FB_PLACE_ONLY_NEW},
	{"without a value of the metric", -1, .place = FB_PLACE_NO_METRIC},
	{"only in launches that are left out", -1, .place = FB_PLACE_LEFT_OUT},
	{"measured on neither side", -1, .place = FB_PLACE_NEITHER, .only_counted = true},
};

static bool is_in(const struct list *list, const struct fb_comparison *c, uint32_t key)
{
	return list->side < 0 ? c->place[key] == list->place
			      : c->outcome[list->side][key].status[list->status] > 0;
}

/* Prints each row in one line. */
static void print_list(const struct fb_verdicts_report *report, const struct list *list, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	size_t count = 0, shown = 0, most = report->all ? SIZE_MAX : LIST_LINES;

	for (uint32_t k = 0; k < c->keys.count; k++)
		count += is_in(list, c, k);
	if (count)
		fprintf(out, "\n%s: %zu\n", list->title, count);
	if (list->only_counted && !report->all)
		return;
	for (uint32_t k = 0; k < c->keys.count && shown < most; k++) {
		char label[FB_ROW_LABEL_CHARS];
		const char *reason = fb_place_reason(c, k);
		int used;

		if (!is_in(list, c, k))
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

void fb_verdicts_lists(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct fb_path_changes ways = fb_verdicts_path_changes(c);

	for (size_t i = 0; i < FB_COUNT_OF(lists); i++)
		print_list(report, &lists[i], out);
	if (c->few)
		fprintf(out, "\nrows with few samples: %zu, used like all others\n", c->few);
	fb_path_changes_print(&ways, &report->labels,
			      "REROUTED: rows that ran another way (column path)", out);
}

/* Prints one line where it fits, else the two values one below the other. */
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
