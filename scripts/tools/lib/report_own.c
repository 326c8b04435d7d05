/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes cells, and selects the columns and axes that tables show; see report.h. */
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

struct fb_tally fb_report_tally(const struct fb_cells *cells)
{
	struct fb_tally tally = {{0}};

	for (size_t i = 0; i < cells->count; i++)
		tally.status[cells->cell[i].status]++;
	return tally;
}

const char *fb_cell_label(const struct fb_cell *cell, char buf[FB_LABEL_CHARS])
{
	const char *engine = fb_cell_text(cell, "engine");
	const char *transport = fb_cell_text(cell, "transport");
	bool usual = !strcmp(engine, "host"), shm = !strcmp(transport, "shm");

	if (!strcmp(engine, "nccl"))
		snprintf(buf, FB_LABEL_CHARS, "nccl %s %s %s", fb_cell_text(cell, "algorithm"),
			 fb_cell_text(cell, "protocol"), fb_cell_text(cell, "registration"));
	else if (fb_cell_is_library(cell))
		snprintf(buf, FB_LABEL_CHARS, "%s library", engine);
	else
		snprintf(buf, FB_LABEL_CHARS, "%s%s%s %s%s%s", usual ? "" : engine,
			 usual ? "" : " ", fb_cell_text(cell, "algorithm"),
			 fb_cell_text(cell, "protocol"), shm ? "" : " ", shm ? "" : transport);
	return buf;
}

struct fb_ratio fb_cell_ratio(const struct fb_cell *other, const struct fb_cell *cell)
{
	const double none = (double)NAN;

	if (!other || !cell || !fb_cell_has_time(other) || !fb_cell_has_time(cell))
		return (struct fb_ratio){none, none, none};
	return (struct fb_ratio){
		.value = other->us / cell->us,
		.low = other->low_us / cell->high_us,
		.high = other->high_us / cell->low_us,
	};
}

bool fb_ratio_add(struct fb_ratio_sum *sum, struct fb_ratio ratio)
{
	bool least = sum->n == 0 || ratio.value < sum->least;

	if (!isfinite(ratio.value))
		return false;
	sum->least = least ? ratio.value : sum->least;
	sum->most = sum->n ? fmax(sum->most, ratio.value) : ratio.value;
	sum->n++;
	sum->log_sum += log(ratio.value);
	sum->faster += ratio.high < 1;
	sum->slower += ratio.low > 1;
	sum->known += isfinite(ratio.low) && isfinite(ratio.high);
	return least;
}

double fb_ratio_mean(const struct fb_ratio_sum *sum)
{
	return exp(sum->log_sum / (double)sum->n);
}

/* Columns that engines add to rows of any program. They explain a time, and are shown last. */
static const char *const of_engines[] = {
	"event_us",   "iteration_us", "iteration_p99_us", "threads",  "slots",
	"slot_bytes", "sm_MHz",	      "memory_MHz",	  "throttle",
};

const struct fb_cell *fb_place_shown(const struct fb_cell *cell, size_t n)
{
	const struct fb_cell *own = fb_cells_best(cell, n, false);

	return own ? own : fb_cells_best(cell, n, true);
}

const char *fb_own_name(const struct fb_report *report, size_t column)
{
	return column < fb_columns_count ? fb_columns[column].name
					 : report->results->own[column - fb_columns_count];
}

unsigned fb_section_axes(const struct fb_section *section, bool *sizes)
{
	unsigned axes = 0;

	*sizes = false;
	for (size_t i = 0; i < section->count; i++) {
		*sizes |= section->cell[i].bytes != section->cell->bytes;
		for (size_t a = 0; section->axes && a < section->axes->count; a++)
			if (*section->cell[i].place->text[a])
				axes |= 1U << a;
	}
	/* A section without a value on any axis is a table over sizes. */
	*sizes |= !axes;
	return axes;
}

/* What the cells that the table shows have in a column. */
struct found {
	size_t known; /* cells with a value */
	bool differ;
	double first;
};

static void look(struct found *found, const struct fb_cell *cell, size_t column)
{
	double x = fb_cell_number(cell, column);

	if (!isfinite(x))
		return;
	if (found->known++ == 0)
		found->first = x;
	found->differ |= x < found->first || x > found->first;
}

static struct found look_at(const struct fb_report *report, const struct fb_section *section,
			    size_t column)
{
	struct found found = {.known = 0};
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *shown;

		n = fb_section_same_place(section, i);
		shown = fb_place_shown(&section->cell[i], n);
		for (size_t k = 0; k < n; k++)
			if (fb_cell_has_time(&section->cell[i + k]) &&
			    (report->all || &section->cell[i + k] == shown))
				look(&found, &section->cell[i + k], column);
	}
	return found;
}

static void append(char *list, const char *name, const char *value)
{
	if (strlen(list) + strlen(name) + strlen(value) + 4 < FB_OWN_CHARS)
		fb_append(list, FB_OWN_CHARS, "%s%s%s%s", *list ? ", " : "", name,
			  *value ? " " : "", value);
}

static void find_asked(struct fb_own *own, const struct fb_report *report)
{
	const char *list = report->columns;
	char name[FB_AXIS_CHARS];

	while (fb_list_next(&list, name, sizeof(name))) {
		int column = fb_results_column(report->results, name);

		if (column >= 0 && own->count < FB_OWN_COLUMNS)
			own->column[own->count++] = (size_t)column;
	}
}

/* Shows a column, names it, or says that it is the same in all. Returns the letters it takes. */
static size_t place_own(struct fb_own *own, const struct fb_report *report,
			const struct fb_section *section, size_t column, size_t room)
{
	const char *name = fb_own_name(report, column);
	size_t width = strlen(name) < 9 ? 10 : strlen(name) + 1;
	struct found found = look_at(report, section, column);
	char text[FB_NUMBER_CHARS];

	/* An axis or a size has a column of its own already. */
	if (found.known == 0 || (section->axes && fb_axes_have(section->axes, name)))
		return 0;
	if (!found.differ && found.known > 1) {
		append(own->same, name, fb_own_text(found.first, text));
		return 0;
	}
	if (width > room || own->count == FB_OWN_COLUMNS) {
		append(own->more, name, "");
		return 0;
	}
	own->column[own->count++] = column;
	return width;
}

void fb_own_find(struct fb_own *own, const struct fb_report *report,
		 const struct fb_section *section)
{
	size_t room = FB_OWN_WIDTH;

	*own = (struct fb_own){.count = 0};
	if (report->columns) {
		find_asked(own, report);
		return;
	}
	for (int engines = 0; engines < 2; engines++)
		for (size_t i = 0; i < report->results->nown; i++)
			if (FB_AMONG(report->results->own[i], of_engines) == engines)
				room -= place_own(own, report, section, fb_columns_count + i, room);
}
