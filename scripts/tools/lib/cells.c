/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining launches and comparing like with like; see cells.h. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Key columns in which the cells of a section differ. */
static const char *const within[] = {"engine",	  "algorithm",	  "protocol",
				     "transport", "registration", "bytes"};

/* Statuses from good to bad; a cell has the worst of its launches. */
static const int badness[FB_STATUSES] = {
	[FB_STATUS_OK] = 0,    [FB_STATUS_FEW] = 1,   [FB_STATUS_SKIPPED] = 2,
	[FB_STATUS_FAULT] = 3, [FB_STATUS_WRONG] = 4,
};

static bool is_within(const char *column)
{
	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
		if (!strcmp(within[i], column))
			return true;
	return false;
}

static uint64_t number(const struct fb_result *row, const char *column)
{
	return strtoull(fb_result_text(row, column), NULL, 10);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/*
 * NCCL's own allocator gives GPU memory like any other, and some of NCCL's ways need it: for
 * sections the two are one, which keeps those ways beside what they compete with.
 */
static const char *memory_of_section(const char *memory)
{
	return strcmp(memory, "nccl") ? memory : "device";
}

/* By key columns: those that make sections, or the others; numbers as numbers. */
static int compare_keys(const struct fb_result *a, const struct fb_result *b, bool inner)
{
	for (size_t i = 0; i < fb_columns_count; i++) {
		const struct fb_column *c = &fb_columns[i];
		bool memory = c->kind == FB_COLUMN_KEY && !strcmp(c->name, "memory");
		int order;

		if (c->kind != FB_COLUMN_KEY || (is_within(c->name) != inner && !memory))
			continue;
		if (memory && !inner)
			order = strcmp(memory_of_section(a->field[i]),
				       memory_of_section(b->field[i]));
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

static int compare_rows(const void *x, const void *y)
{
	const struct fb_result *const *a = x, *const *b = y;
	int order = compare_keys(*a, *b, false);

	order = order ? order : compare_u64(number(*a, "bytes"), number(*b, "bytes"));
	order = order ? order : compare_keys(*a, *b, true);
	order = order ? order : strcmp(fb_result_text(*a, "run"), fb_result_text(*b, "run"));
	order = order ? order : compare_u64(number(*a, "launch_index"), number(*b, "launch_index"));
	/* As read: the rows are in one array. */
	return order ? order : (*a > *b) - (*a < *b);
}

static bool same_launch(const struct fb_result *a, const struct fb_result *b)
{
	return !strcmp(fb_result_text(a, "run"), fb_result_text(b, "run")) &&
	       number(a, "launch_index") == number(b, "launch_index");
}

/* Of the launches' medians, in us; x has room for n more. */
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
	x[cell->launches++] = us;
}

/* row[0 .. n) are all rows of one cell. x has room for 4 * n. */
static struct fb_cell make_cell(const struct fb_result *const *row, size_t n, double *x)
{
	const double none = (double)NAN;
	struct fb_cell cell = {
		.row = row[0],
		.bytes = number(row[0], "bytes"),
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
		if (i + 1 == n || !same_launch(row[i], row[i + 1]))
			add_launch(&cell, row[i], x, bounds);
	if (cell.launches == 0)
		return cell;
	join_times(&cell, x, cell.launches);
	cell.busbw_GBps /= cell.us;
	/* A bound that one launch does not know is no bound. */
	for (size_t i = 0; i < cell.launches; i++)
		if (isnan(bounds[i]))
			return cell;
	cell.bound_us = fb_median(bounds, cell.launches, x);
	return cell;
}

/*
 * What cells are ranked by: where the interval ends, which is the median for those that are known
 * well. By the median alone the best of many would be the luckiest.
 */
static double rank_us(const struct fb_cell *cell)
{
	return isfinite(cell->high_us) ? cell->high_us : cell->us;
}

/* Inside of a section: by bytes, and by time; cells without a time last. */
static int compare_cells(const void *x, const void *y)
{
	const struct fb_cell *a = x, *b = y;
	int order = compare_keys(a->row, b->row, false);

	if (!order)
		order = compare_u64(a->bytes, b->bytes);
	if (!order)
		order = fb_cell_has_time(b) - fb_cell_has_time(a);
	if (!order && fb_cell_has_time(a))
		order = (rank_us(a) > rank_us(b)) - (rank_us(a) < rank_us(b));
	return order ? order : compare_keys(a->row, b->row, true);
}

static void make_sections(struct fb_cells *cells)
{
	for (size_t i = 0; i < cells->count; i++) {
		struct fb_cell *cell = &cells->cell[i];

		if (i == 0 || compare_keys(cell[-1].row, cell->row, false))
			cells->section[cells->nsections++] = (struct fb_section){.cell = cell};
		cells->section[cells->nsections - 1].count++;
	}
}

int fb_cells_make(struct fb_cells *cells, const struct fb_results *results)
{
	size_t n = results->count, end;
	const struct fb_result **row = calloc(n + 1, sizeof(*row));
	double *x = calloc(4 * n + 1, sizeof(*x));
	int err = FB_OK;

	*cells = (struct fb_cells){.cell = calloc(n + 1, sizeof(*cells->cell)),
				   .section = calloc(n + 1, sizeof(*cells->section))};
	if (!row || !x || !cells->cell || !cells->section) {
		err = fb_error(FB_ENOMEM, "out of memory for %zu rows", n);
		fb_cells_free(cells);
		goto free_rows;
	}
	for (size_t i = 0; i < n; i++)
		row[i] = &results->row[i];
	qsort(row, n, sizeof(*row), compare_rows);
	for (size_t i = 0; i < n; i = end) {
		end = i + 1;
		while (end < n && !compare_keys(row[i], row[end], false) &&
		       !compare_keys(row[i], row[end], true))
			end++;
		cells->cell[cells->count++] = make_cell(row + i, end - i, x);
	}
	qsort(cells->cell, cells->count, sizeof(*cells->cell), compare_cells);
	make_sections(cells);
free_rows:
	free(x);
	free(row);
	return err;
}

void fb_cells_free(struct fb_cells *cells)
{
	free(cells->cell);
	free(cells->section);
	*cells = (struct fb_cells){0};
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

size_t fb_section_same_bytes(const struct fb_section *section, size_t first)
{
	size_t end = first;

	while (end < section->count && section->cell[end].bytes == section->cell[first].bytes)
		end++;
	return end - first;
}

const char *fb_section_title(const struct fb_section *section, char *buf, size_t n)
{
	static const struct {
		const char *column, *usual, *before;
	} rest[] = {
		{"root", "0", "root "},	       {"in_place", "no", "in place: "},
		{"memory", "host", "memory "}, {"launch", "blocking", ""},
		{"cadence", "isolated", ""},   {"variant", "", ""},
	};
	const struct fb_cell *cell = section->cell;
	const char *redop = fb_cell_text(cell, "redop"), *nodes = fb_cell_text(cell, "nodes");
	const char *program = fb_cell_text(cell, "program");
	const char *operation = fb_cell_text(cell, "operation");
	bool same = !strcmp(program, operation);
	size_t used;

	snprintf(buf, n, "%s%s%s", program, same ? "" : " ", same ? "" : operation);
	used = strlen(buf);
	/* Cells are sorted by bytes: where the last has none, nothing is moved. */
	if (section->cell[section->count - 1].bytes && used < n)
		snprintf(buf + used, n - used, ", %s%s%s", fb_cell_text(cell, "datatype"),
			 strcmp(redop, "-") ? " " : "", strcmp(redop, "-") ? redop : "");
	used = strlen(buf);
	snprintf(buf + used, n - used, ", %s ranks on %s node%s", fb_cell_text(cell, "ranks"),
		 nodes, strcmp(nodes, "1") ? "s" : "");
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		const char *text = fb_cell_text(cell, rest[i].column);

		if (!strcmp(rest[i].column, "memory"))
			text = memory_of_section(text);
		used = strlen(buf);
		/* MPI knows broadcast with one buffer only, so that is usual there. */
		if (!strcmp(rest[i].column, "in_place") && !strcmp(operation, "broadcast"))
			continue;
		if (strcmp(text, rest[i].usual) && strcmp(text, "-") && strcmp(text, "-1") &&
		    *text && used < n)
			snprintf(buf + used, n - used, ", %s%s", rest[i].before, text);
	}
	return buf;
}

const char *fb_section_library(const struct fb_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (fb_cell_is_library(&section->cell[i]))
			return strcmp(fb_cell_text(&section->cell[i], "engine"), "mpi") ? "NCCL"
											: "MPI";
	return "library";
}
