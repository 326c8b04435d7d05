/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many rows under many assignments; see max_t.h.
 *
 * Rows are taken by tiles, whose tables of sums of four units (TILE * 16 * groups doubles) stay in
 * the first-level cache while all assignments pass. Step-down costs next to nothing: of a tile
 * it matters only in assignments whose maximum so far lies among the tile's own thresholds.
 */
#include "scripts/tools/compare/max_t.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "scripts/tools/compare/family.h"

enum { TILE = 16, LANES = 2, VECTORS = TILE / LANES, CACHE_LINE = 64 };

/* What every machine with vector registers has: two doubles. */
typedef double pair __attribute__((vector_size(16)));
typedef int64_t pair_bits __attribute__((vector_size(16)));

struct tile {
	pair sum[VECTORS];
};

/*
 * Divides value[0 .. n) so that r comes out, taking the variation for at least what the least
 * standard deviation gives. Returns the latter's share of the variation.
 */
static double normalise(double *value, size_t n, double factor, double degrees)
{
	double squares = 0, least = fmax(degrees, 1) * FB_FAMILY_LEAST_SD * FB_FAMILY_LEAST_SD;

	for (size_t u = 0; u < n; u++)
		squares += value[u] * value[u];
	squares = fmax(squares, least);
	for (size_t u = 0; u < n; u++)
		value[u] *= sqrt(factor / squares);
	return least / squares;
}

/* Launches in their own order, centred. */
static double ready_sides(const struct fb_design *design, const struct fb_design_size *size,
			  const double *y, double *value)
{
	size_t n = design->launches;
	double factor = 1 / (double)size->a + 1 / (double)size->b, mean = 0;

	/* From the first value: equal ones leave 0. */
	for (size_t u = 0; u < n; u++)
		mean += (y[u] - y[0]) / (double)n;
	for (size_t u = 0; u < n; u++)
		value[u] = y[u] - y[0] - mean;
	return normalise(value, n, factor, (double)n - 2);
}

/*
 * One row, which must be complete. Returns its floor of 1 - r^2 through `floor`. What is checked
 * first is that no value is infinite.
 */
static int ready_row(const struct fb_design *design, const struct fb_design_size *size,
		     const double *y, double *room, double *value, double *floor)
{
	struct fb_row_values values;
	int ret = fb_row_values(design, y, room, &values);

	if (ret)
		return ret;
	if (!design->block) {
		*floor = ready_sides(design, size, y, value);
		return FB_OK;
	}
	memcpy(value, values.b, values.nb * sizeof(*value));
	*floor = normalise(value, values.nb, 1 / (double)values.nb, (double)values.nb - 1);
	return FB_OK;
}

void fb_ready_rows_free(struct fb_ready_rows *rows)
{
	free(rows->value);
	free(rows->floor);
	*rows = (struct fb_ready_rows){0};
}

int fb_ready_rows_make(const struct fb_design *design, const struct fb_design_size *size,
		       const double *y, const size_t *index, size_t rows, struct fb_ready_rows *out)
{
	size_t units = design->block ? size->blocks : design->launches;
	size_t groups = (units + FB_NIBBLE - 1) / FB_NIBBLE;
	struct fb_ready_rows ready = {
		.rows = rows,
		.groups = groups,
		.signs = design->block != NULL,
		.degrees = (double)(design->block ? units - 1 : units - 2),
		.value = calloc(rows * groups * FB_NIBBLE + 1, sizeof(double)),
		.floor = malloc((rows + 1) * sizeof(double)),
	};
	double *room = malloc(2 * design->launches * sizeof(*room));
	int ret = FB_OK;

	if (!ready.value || !ready.floor || !room)
		ret = fb_error(FB_ENOMEM, "no memory for %zu rows", rows);
	for (size_t i = 0; i < rows && !ret; i++)
		ret = ready_row(design, size, y + index[i] * design->launches, room,
				ready.value + i * groups * FB_NIBBLE, ready.floor + i);
	free(room);
	if (ret)
		fb_ready_rows_free(&ready);
	else
		*out = ready;
	return ret;
}

double fb_ready_r(const struct fb_ready_rows *rows, size_t row, const unsigned char *nibble)
{
	size_t units = rows->groups * FB_NIBBLE;
	const double *value = rows->value + row * units;
	double r = 0;

	for (size_t u = 0; u < units; u++) {
		if (fb_assignment_bit(nibble, u))
			r += value[u];
		else if (rows->signs)
			r -= value[u];
	}
	return r;
}

double fb_t_of_r(double r, double degrees, double least)
{
	return r * sqrt(fmax(degrees, 1) / fmax(1 - r * r, least));
}

/* table[group * 16 + nibble]: what the four units add to r, for each row of the tile. */
static void fill_table(const struct fb_scan *scan, size_t first, struct tile *table)
{
	const struct fb_ready_rows *rows = scan->rows;
	size_t left = rows->rows - first, n = left < TILE ? left : TILE;

	memset(table, 0, rows->groups * FB_NIBBLES * sizeof(*table));
	for (size_t i = 0; i < n; i++) {
		size_t row = scan->order ? scan->order[first + i] : first + i;

		for (size_t g = 0; g < rows->groups; g++) {
			const double *v = rows->value + (row * rows->groups + g) * FB_NIBBLE;

			for (unsigned nibble = 0; nibble < FB_NIBBLES; nibble++) {
				double sum = 0;

				for (unsigned u = 0; u < FB_NIBBLE; u++)
					sum += nibble >> u & 1 ? v[u] : rows->signs ? -v[u] : 0;
				table[g * FB_NIBBLES + nibble].sum[i / LANES][i % LANES] = sum;
			}
		}
	}
}

/* |r| of all rows of the tile. */
static void tile_r(const struct tile *table, const unsigned char *nibble, size_t groups,
		   struct tile *out)
{
	const pair_bits no_sign = {INT64_MAX, INT64_MAX};
	struct tile sum = table[nibble[0]];

	for (size_t g = 1; g < groups; g++) {
		const struct tile *four = &table[g * FB_NIBBLES + nibble[g]];

		for (size_t i = 0; i < VECTORS; i++)
			sum.sum[i] += four->sum[i];
	}
	for (size_t i = 0; i < VECTORS; i++)
		out->sum[i] = (pair)((pair_bits)sum.sum[i] & no_sign);
}

static pair larger(pair a, pair b)
{
	pair_bits mask = a > b;

	return (pair)(((pair_bits)a & mask) | ((pair_bits)b & ~mask));
}

static double tile_maximum(const struct tile *r)
{
	pair most = r->sum[0];

	for (size_t i = 1; i < VECTORS; i++)
		most = larger(most, r->sum[i]);
	return most[0] > most[1] ? most[0] : most[1];
}

/* The rows of a tile: in how many assignments the largest so far reaches each threshold. */
struct steps {
	const double *threshold;
	uint32_t *reached;
	size_t n;
	uint32_t all; /* assignments in which every threshold of the tile is reached */
};

static void count_steps(const struct tile *r, double before, double after, struct steps *steps)
{
	if (before >= steps->threshold[steps->n - 1]) {
		steps->all++;
	} else if (after >= steps->threshold[0]) {
		for (size_t i = 0; i < steps->n; i++) {
			before = fmax(before, r->sum[i / LANES][i % LANES]);
			steps->reached[i] += before >= steps->threshold[i];
		}
	}
}

static void scan_tile(const struct fb_scan *scan, const struct tile *table, size_t first)
{
	const struct fb_assignments *a = scan->assignments;
	size_t left = scan->rows->rows - first;
	struct steps steps = {
		.threshold = scan->threshold ? scan->threshold + first : NULL,
		.reached = scan->reached ? scan->reached + first : NULL,
		.n = left < TILE ? left : TILE,
	};
	struct tile r;

	for (size_t i = 0; i < a->count; i++) {
		double before = scan->maximum[i], after;

		tile_r(table, a->nibble + i * a->groups, a->groups, &r);
		after = tile_maximum(&r);
		after = after > before ? after : before;
		if (steps.threshold)
			count_steps(&r, before, after, &steps);
		scan->maximum[i] = after;
	}
	for (size_t i = 0; scan->threshold && i < steps.n; i++)
		steps.reached[i] += steps.all;
}

int fb_scan(const struct fb_scan *scan)
{
	size_t bytes = scan->rows->groups * FB_NIBBLES * sizeof(struct tile);
	struct tile *table = aligned_alloc(CACHE_LINE, bytes);

	if (!table)
		return fb_error(FB_ENOMEM, "no memory for tables of %zu bytes", bytes);
	for (size_t i = 0; i < scan->assignments->count; i++)
		scan->maximum[i] = 0;
	if (scan->reached)
		memset(scan->reached, 0, scan->rows->rows * sizeof(*scan->reached));
	for (size_t first = 0; first < scan->rows->rows; first += TILE) {
		fill_table(scan, first, table);
		scan_tile(scan, table, first);
	}
	free(table);
	return FB_OK;
}
