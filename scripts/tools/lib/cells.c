/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining launches and comparing like with like; see cells.h. */
#include "common/measure/stats.h"
#include "common/record/csv_kind.h"
#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Statuses from good to bad; a cell has the worst of its launches. */
static const int badness[FB_STATUSES] = {
	[FB_STATUS_OK] = 0,    [FB_STATUS_FEW] = 1,   [FB_STATUS_SKIPPED] = 2,
	[FB_STATUS_FAULT] = 3, [FB_STATUS_WRONG] = 4,
};

/* A row while cells are made of it. */
struct entry {
	const struct fb_result *row;
	const struct fb_axis_place *place;
};

size_t fb_section_inner(const char *column)
{
	static const char *const inner[FB_SECTION_INNER] = {"engine",	 "algorithm",	 "protocol",
							    "transport", "registration", "bytes"};
	size_t place = FB_SECTION_INNER;

	while (place && strcmp(inner[place - 1], column))
		place--;
	return place;
}

static uint64_t number(const struct fb_result *row, const char *column)
{
	return strtoull(fb_result_text(row, column), NULL, 10);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The row's variant without the keys that are axes. */
static const char *variant_of(const struct entry *entry)
{
	return entry->place ? entry->place->rest : fb_result_text(entry->row, "variant");
}

/* Compares key columns: those that make sections, or the others; numbers as numbers. */
static int compare_keys(const struct fb_axes *axes, const struct entry *x, const struct entry *y,
			bool inner)
{
	const struct fb_result *a = x->row, *b = y->row;

	for (size_t i = 0; i < fb_columns_count; i++) {
		const struct fb_column *c = &fb_columns[i];
		bool memory = c->kind == FB_COLUMN_KEY && !strcmp(c->name, "memory");
		int order;

		if (c->kind != FB_COLUMN_KEY || (!fb_section_inner(c->name) == inner && !memory))
			continue;
		if (axes && fb_axes_have(axes, c->name))
			continue;
		if (memory && !inner)
			order = strcmp(fb_section_memory(a->field[i]),
				       fb_section_memory(b->field[i]));
		else if (!strcmp(c->name, "variant"))
			order = strcmp(variant_of(x), variant_of(y));
		else if (c->type == FB_COLUMN_U64)
			order = compare_u64(strtoull(a->field[i], NULL, 10),
					    strtoull(b->field[i], NULL, 10));
		else
			order = strcmp(a->field[i], b->field[i]);
		if (order)
			return order;
	}
	return 0;
}

/* Compares the axes, then bytes. */
static int compare_places(const struct fb_axes *axes, const struct entry *a, const struct entry *b)
{
	int order = 0;

	for (size_t i = 0; axes && i < axes->count && !order; i++)
		order = fb_axis_compare(a->place->text[i], b->place->text[i]);
	return order ? order : compare_u64(number(a->row, "bytes"), number(b->row, "bytes"));
}

static int compare_experiments(const struct fb_axes *axes, const struct entry *a,
			       const struct entry *b)
{
	int order = compare_keys(axes, a, b, false);

	order = order ? order : compare_places(axes, a, b);
	return order ? order : compare_keys(axes, a, b, true);
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct entry *a = x, *b = y;
	const struct fb_result *p = a->row, *q = b->row;
	int order = compare_experiments(arg, a, b);

	order = order ? order : strcmp(fb_result_text(p, "run"), fb_result_text(q, "run"));
	order = order ? order : compare_u64(number(p, "launch_index"), number(q, "launch_index"));
	/* Equal rows keep the order in which they were read; they are in one array. */
	return order ? order : (p > q) - (p < q);
}

static bool same_launch(const struct fb_result *a, const struct fb_result *b)
{
	return !strcmp(fb_result_text(a, "run"), fb_result_text(b, "run")) &&
	       number(a, "launch_index") == number(b, "launch_index");
}

/* Sets the cell's times from the launches' medians x[0 .. n), in us; x has room for n more. */
static void join_times(struct fb_cell *cell, double *x, size_t n)
{
	struct fb_estimate estimate = fb_estimate_launches(x, n);

	cell->us = estimate.us;
	cell->least_us = estimate.least_us;
	cell->most_us = estimate.most_us;
	if (n == 1)
		return; /* the interval within the launch stays */
	cell->low_us = estimate.low_us;
	cell->high_us = estimate.high_us;
}

/* Adds one launch; its time goes to x[cell->launches]. */
static void add_launch(struct fb_cell *cell, const struct fb_result *row, double *x, double *bounds)
{
	enum fb_status status = (enum fb_status)fb_status_parse(fb_result_text(row, "status"));
	double us = fb_result_number(row, "median_us");

	if (badness[status] > badness[cell->status]) {
		cell->status = status;
		cell->reason = fb_result_text(row, "reason");
	}
	if (!(us > 0) || status == FB_STATUS_WRONG || status == FB_STATUS_FAULT)
		return;
	if (cell->launches == 0) {
		cell->flags = fb_result_text(row, "flags");
		cell->low_us = fb_result_number(row, "median_low_us");
		cell->high_us = fb_result_number(row, "median_high_us");
		/* Bytes per us: a rate follows from a time, never from other rates. */
		cell->busbw_GBps = fb_result_number(row, "busbw_GBps") * us;
	}
	bounds[cell->launches] = fb_result_number(row, "bound_us");
	cell->launch[cell->launches] = row;
	x[cell->launches++] = us;
}

/* entry[0 .. n) are all rows of one cell. x has room for 4 * n, launch for n. */
static struct fb_cell make_cell(const struct entry *entry, size_t n, double *x,
				const struct fb_result **launch)
{
	const double none = (double)NAN;
	struct fb_cell cell = {
		.row = entry[0].row,
		.place = entry[0].place,
		.launch = launch,
		.bytes = number(entry[0].row, "bytes"),
		.status = FB_STATUS_OK,
		.reason = "",
		.us = none,
		.low_us = none,
		.high_us = none,
		.least_us = none,
		.most_us = none,
		.busbw_GBps = none,
		.bound_us = none,
		.flags = "",
	};
	double *bounds = x + 3 * n;

	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || !same_launch(entry[i].row, entry[i + 1].row))
			add_launch(&cell, entry[i].row, x, bounds);
	if (cell.launches == 0)
		return cell;
	join_times(&cell, x, cell.launches);
	cell.busbw_GBps /= cell.us;
	/* A bound that one launch does not know is no bound. */
	for (size_t i = 0; i < cell.launches; i++)
		if (isnan(bounds[i]))
			return cell;
	/* The machine can do in every launch what it did in one of them. */
	cell.bound_us = bounds[0];
	for (size_t i = 1; i < cell.launches; i++)
		cell.bound_us = fmin(cell.bound_us, bounds[i]);
	return cell;
}

/*
 * Cells are ranked by the upper end of their interval, which is near the median where a cell is
 * known well. By the median alone the best of many cells would be the luckiest.
 */
static double rank_us(const struct fb_cell *cell)
{
	return isfinite(cell->high_us) ? cell->high_us : cell->us;
}

static struct entry entry_of(const struct fb_cell *cell)
{
	return (struct entry){cell->row, cell->place};
}

/* Inside of a section: by place, and by time; cells without a time last. */
static int compare_cells(const void *x, const void *y, void *arg)
{
	const struct fb_cell *a = x, *b = y;
	struct entry p = entry_of(a), q = entry_of(b);
	int order = compare_keys(arg, &p, &q, false);

	if (!order)
		order = compare_places(arg, &p, &q);
	if (!order)
		order = fb_cell_has_time(b) - fb_cell_has_time(a);
	if (!order && fb_cell_has_time(a))
		order = (rank_us(a) > rank_us(b)) - (rank_us(a) < rank_us(b));
	return order ? order : compare_keys(arg, &p, &q, true);
}

static void make_sections(struct fb_cells *cells)
{
	struct entry last = {NULL, NULL};

	for (size_t i = 0; i < cells->count; i++) {
		struct fb_cell *cell = &cells->cell[i];
		struct entry entry = entry_of(cell);

		if (i == 0 || compare_keys(cells->axes, &last, &entry, false))
			cells->section[cells->nsections++] =
				(struct fb_section){.cell = cell, .axes = cells->axes};
		cells->section[cells->nsections - 1].count++;
		last = entry;
	}
}

void fb_cells_make(struct fb_cells *cells, const struct fb_results *results,
		   const struct fb_axes *axes)
{
	/* qsort_r hands it on; nobody writes to it. */
	void *context = axes && axes->count ? (void *)(uintptr_t)axes : NULL;
	size_t n = results->count, end;
	struct entry *entry = fb_new(n + 1, sizeof(*entry));
	double *x = fb_new(4 * n + 1, sizeof(*x));

	*cells = (struct fb_cells){.cell = fb_new(n + 1, sizeof(*cells->cell)),
				   .section = fb_new(n + 1, sizeof(*cells->section)),
				   .axes = context};
	const struct fb_result **launch = fb_new(n + 1, sizeof(*launch));
	struct fb_axis_place *place = context ? fb_new(n + 1, sizeof(*place)) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (context)
			fb_axis_place_make(&place[i], context, results, &results->row[i]);
		entry[i] = (struct entry){&results->row[i], context ? &place[i] : NULL};
	}
	qsort_r(entry, n, sizeof(*entry), compare_rows, context);
	for (size_t i = 0; i < n; i = end) {
		end = i + 1;
		while (end < n && !compare_experiments(context, &entry[i], &entry[end]))
			end++;
		cells->cell[cells->count++] = make_cell(entry + i, end - i, x, launch + i);
	}
	qsort_r(cells->cell, cells->count, sizeof(*cells->cell), compare_cells, context);
	make_sections(cells);
}

double fb_cell_number(const struct fb_cell *cell, size_t column)
{
	enum { LAUNCHES = 64 };
	double x[3 * LAUNCHES];
	size_t n = 0;

	for (size_t i = 0; i < cell->launches && n < LAUNCHES; i++) {
		x[n] = fb_csv_number(fb_result_field(cell->launch[i], column));
		n += isnan(x[n]) ? 0 : 1;
	}
	return n ? fb_median(x, n, x + n) : (double)NAN;
}

const char *fb_cell_text(const struct fb_cell *cell, const char *column)
{
	return fb_result_text(cell->row, column);
}

bool fb_cell_is_library(const struct fb_cell *cell)
{
	return !strcmp(fb_cell_text(cell, "algorithm"), "library") ||
	       !strcmp(fb_cell_text(cell, "engine"), "nccl");
}

bool fb_cells_alike(const struct fb_cell *a, const struct fb_cell *b, const char *const *but)
{
	for (size_t i = 0; i < fb_columns_count; i++) {
		bool skip = fb_columns[i].kind != FB_COLUMN_KEY;

		for (size_t k = 0; but[k] && !skip; k++)
			skip = !strcmp(fb_columns[i].name, but[k]);
		if (!skip && strcmp(fb_result_field(a->row, i), fb_result_field(b->row, i)) != 0)
			return false;
	}
	return true;
}

bool fb_cell_has_time(const struct fb_cell *cell)
{
	return badness[cell->status] <= badness[FB_STATUS_FEW] && cell->us > 0;
}

const struct fb_cell *fb_cells_best(const struct fb_cell *cell, size_t n, bool library)
{
	const struct fb_cell *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (fb_cell_is_library(&cell[i]) == library && fb_cell_has_time(&cell[i]) &&
		    (!best || rank_us(&cell[i]) < rank_us(best)))
			best = &cell[i];
	return best;
}

size_t fb_section_same_place(const struct fb_section *section, size_t first)
{
	struct entry entry = entry_of(&section->cell[first]);
	size_t end = first + 1;

	for (; end < section->count; end++) {
		struct entry other = entry_of(&section->cell[end]);

		if (compare_places(section->axes, &entry, &other))
			break;
	}
	return end - first;
}
