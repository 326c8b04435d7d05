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

#include "common/base/error.h"
#include "scripts/tools/compare/family.h"

enum { TILE = 16, LANES = 2, VECTORS = TILE / LANES, CACHE_LINE = 64 };

/* What every machine with vector registers has: two doubles. */
typedef double pair __attribute__((vector_size(16)));
typedef int64_t pair_bits __attribute__((vector_size(16)));

/* A number for each row of a tile. */
struct tile {
	pair of[VECTORS];
};

/* The fewest launches of a side whose own variance is worth more than the pooled one. */
enum { WELCH_LAUNCHES = 4 };

/* What is the same for all rows. */
struct scale {
	double factor;	/* of squares of sums, so that they are shares */
	double degrees; /* of freedom of t */
	double weight[2];
	bool welch;
};

/*
 * With S the sum of (centred) values of B, Q[side] the sums of squares of the sides, n launches of
 * either side and w = 1 / (n (n - 1)), Welch's t^2 is
 * (S (1/nA + 1/nB))^2 / (wA Q[A] + wB Q[B] - S^2 (wA / nA + wB / nB)).
 */
static struct scale scale_of(const struct fb_design *design, const struct fb_design_size *size)
{
	double a = (double)size->a, b = (double)size->b, blocks = (double)size->blocks;
	double inverse = 1 / a + 1 / b;

	if (design->block)
		return (struct scale){.factor = 1 / blocks, .degrees = blocks - 1};
	if (size->a == size->b || size->a < WELCH_LAUNCHES || size->b < WELCH_LAUNCHES)
		return (struct scale){.factor = inverse, .degrees = a + b - 2};
	double wa = 1 / (a * (a - 1)), wb = 1 / (b * (b - 1)), factor = wa / a + wb / b;

	return (struct scale){
		.factor = factor,
		.degrees = inverse * inverse / factor,
		.weight = {[FB_SIDE_A] = wa, [FB_SIDE_B] = wb},
		.welch = true,
	};
}

/* The constant parts of one row. */
struct row_parts {
	double *value, *floor, *pad;
};

/*
 * Divides value[0 .. n) so that r comes out, taking the variation for at least what the least
 * standard deviation gives: what is short of it counts as noise of the side that weighs more.
 */
static void normalise(const struct scale *scale, size_t n, struct row_parts row)
{
	double squares = 0, most = fmax(scale->weight[0], scale->weight[1]);
	double least = fmax(scale->degrees, 1) * FB_FAMILY_LEAST_SD * FB_FAMILY_LEAST_SD;
	double variation;

	for (size_t u = 0; u < n; u++)
		squares += row.value[u] * row.value[u];
	variation = fmax(squares, least);
	for (size_t u = 0; u < n; u++)
		row.value[u] *= sqrt(scale->factor / variation);
	*row.floor = least / variation;
	*row.pad = most * (1 - squares / variation);
}

/* Launches in their own order, centred. */
static void centre(const double *y, size_t n, double *value)
{
	double mean = 0;

	/* From the first value: equal ones leave 0. */
	for (size_t u = 0; u < n; u++)
		mean += (y[u] - y[0]) / (double)n;
	for (size_t u = 0; u < n; u++)
		value[u] = y[u] - y[0] - mean;
}

/* One row, which must be complete. */
static int ready_row(const struct fb_design *design, const struct scale *scale, const double *y,
		     double *room, struct row_parts row)
{
	struct fb_row_values values;
	int ret = fb_row_values(design, y, room, &values);

	if (ret)
		return ret;
	if (design->block) {
		memcpy(row.value, values.b, values.nb * sizeof(*row.value));
		normalise(scale, values.nb, row);
	} else {
		centre(y, design->launches, row.value);
		normalise(scale, design->launches, row);
	}
	return FB_OK;
}

void fb_ready_rows_free(struct fb_ready_rows *rows)
{
	free(rows->value);
	free(rows->floor);
	free(rows->pad);
	*rows = (struct fb_ready_rows){0};
}

int fb_ready_rows_make(const struct fb_design *design, const struct fb_design_size *size,
		       const double *y, const size_t *index, size_t rows, struct fb_ready_rows *out)
{
	size_t units = design->block ? size->blocks : design->launches;
	size_t groups = (units + FB_NIBBLE - 1) / FB_NIBBLE;
	struct scale scale = scale_of(design, size);
	struct fb_ready_rows ready = {
		.rows = rows,
		.groups = groups,
		.signs = design->block != NULL,
		.degrees = scale.degrees,
		.value = calloc(rows * groups * FB_NIBBLE + 1, sizeof(double)),
		.floor = malloc((rows + 1) * sizeof(double)),
		.welch = scale.welch,
		/* Squares of the values that are stored contain the factor. */
		.weight = {scale.weight[0] / scale.factor, scale.weight[1] / scale.factor},
		.pad = malloc((rows + 1) * sizeof(double)),
	};
	double *room = malloc(2 * design->launches * sizeof(*room));
	int ret = FB_OK;

	if (!ready.value || !ready.floor || !ready.pad || !room)
		ret = fb_error(FB_ENOMEM, "no memory for %zu rows", rows);
	for (size_t i = 0; i < rows && !ret; i++) {
		struct row_parts row = {
			.value = ready.value + i * groups * FB_NIBBLE,
			.floor = ready.floor + i,
			.pad = ready.pad + i,
		};

		ret = ready_row(design, &scale, y + index[i] * design->launches, room, row);
	}
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
	double r = 0, divisor = rows->pad[row];

	for (size_t u = 0; u < units; u++) {
		unsigned bit = fb_assignment_bit(nibble, u);

		r += bit ? value[u] : rows->signs ? -value[u] : 0;
		divisor += rows->weight[bit] * value[u] * value[u];
	}
	return rows->welch ? r / sqrt(divisor) : r;
}

double fb_t_of_r(double r, double degrees, double least)
{
	return r * sqrt(fmax(degrees, 1) / fmax(1 - r * r, least));
}

/* table[group * 16 + nibble]: what the four units add, for each row of the tile. */
struct tables {
	struct tile *sum;     /* to r */
	struct tile *divisor; /* to what r^2 is divided by; NULL: 1 */
};

static void fill_row(const struct fb_ready_rows *rows, size_t row, size_t place,
		     const struct tables *tables)
{
	for (size_t g = 0; g < rows->groups; g++) {
		const double *v = rows->value + (row * rows->groups + g) * FB_NIBBLE;

		for (unsigned nibble = 0; nibble < FB_NIBBLES; nibble++) {
			size_t at = g * FB_NIBBLES + nibble;
			double sum = 0, divisor = g == 0 ? rows->pad[row] : 0;

			for (unsigned u = 0; u < FB_NIBBLE; u++) {
				unsigned bit = nibble >> u & 1;

				sum += bit ? v[u] : rows->signs ? -v[u] : 0;
				divisor += rows->weight[bit] * v[u] * v[u];
			}
			tables->sum[at].of[place / LANES][place % LANES] = sum;
			if (tables->divisor)
				tables->divisor[at].of[place / LANES][place % LANES] = divisor;
		}
	}
}

static void fill_tables(const struct fb_scan *scan, size_t first, const struct tables *tables)
{
	const struct fb_ready_rows *rows = scan->rows;
	size_t left = rows->rows - first, n = left < TILE ? left : TILE;
	size_t entries = rows->groups * FB_NIBBLES;

	memset(tables->sum, 0, entries * sizeof(*tables->sum));
	/* Rows that are not there: 0 divided by something. */
	for (size_t i = 0; tables->divisor && i < entries; i++)
		for (size_t k = 0; k < VECTORS; k++)
			tables->divisor[i].of[k] = (pair){1, 1};
	for (size_t i = 0; i < n; i++)
		fill_row(rows, scan->order ? scan->order[first + i] : first + i, i, tables);
}

static struct tile add_up(const struct tile *table, const unsigned char *nibble, size_t groups)
{
	struct tile sum = table[nibble[0]];

	for (size_t g = 1; g < groups; g++) {
		const struct tile *four = &table[g * FB_NIBBLES + nibble[g]];

		for (size_t i = 0; i < VECTORS; i++)
			sum.of[i] += four->of[i];
	}
	return sum;
}

/* r^2 of all rows of the tile. */
static void tile_r2(const struct tables *tables, const unsigned char *nibble, size_t groups,
		    struct tile *out)
{
	struct tile sum = add_up(tables->sum, nibble, groups);

	for (size_t i = 0; i < VECTORS; i++)
		out->of[i] = sum.of[i] * sum.of[i];
	if (!tables->divisor)
		return;
	sum = add_up(tables->divisor, nibble, groups);
	for (size_t i = 0; i < VECTORS; i++)
		out->of[i] /= sum.of[i];
}

static pair larger(pair a, pair b)
{
	pair_bits mask = a > b;

	return (pair)(((pair_bits)a & mask) | ((pair_bits)b & ~mask));
}

static double tile_maximum(const struct tile *r2)
{
	pair most = r2->of[0];

	for (size_t i = 1; i < VECTORS; i++)
		most = larger(most, r2->of[i]);
	return most[0] > most[1] ? most[0] : most[1];
}

/* The rows of a tile: in how many assignments the largest so far reaches each threshold. */
struct steps {
	const double *threshold;
	uint32_t *reached;
	size_t n;
	uint32_t all; /* assignments in which every threshold of the tile is reached */
};

static void count_steps(const struct tile *r2, double before, double after, struct steps *steps)
{
	if (before >= steps->threshold[steps->n - 1]) {
		steps->all++;
	} else if (after >= steps->threshold[0]) {
		for (size_t i = 0; i < steps->n; i++) {
			before = fmax(before, r2->of[i / LANES][i % LANES]);
			steps->reached[i] += before >= steps->threshold[i];
		}
	}
}

static void scan_tile(const struct fb_scan *scan, const struct tables *tables, size_t first)
{
	const struct fb_assignments *a = scan->assignments;
	size_t left = scan->rows->rows - first;
	struct steps steps = {
		.threshold = scan->threshold ? scan->threshold + first : NULL,
		.reached = scan->reached ? scan->reached + first : NULL,
		.n = left < TILE ? left : TILE,
	};
	struct tile r2;

	for (size_t i = 0; i < a->count; i++) {
		double before = scan->maximum[i], after;

		tile_r2(tables, a->nibble + i * a->groups, a->groups, &r2);
		after = tile_maximum(&r2);
		after = after > before ? after : before;
		if (steps.threshold && steps.reached)
			count_steps(&r2, before, after, &steps);
		scan->maximum[i] = after;
	}
	for (size_t i = 0; steps.reached && i < steps.n; i++)
		steps.reached[i] += steps.all;
}

int fb_scan(const struct fb_scan *scan)
{
	size_t entries = scan->rows->groups * FB_NIBBLES;
	struct tile *room = aligned_alloc(CACHE_LINE, 2 * entries * sizeof(*room));
	struct tables tables = {.sum = room};

	if (!room)
		return fb_error(FB_ENOMEM, "no memory for tables of %zu entries", 2 * entries);
	if (scan->rows->welch)
		tables.divisor = room + entries;
	for (size_t i = 0; i < scan->assignments->count; i++)
		scan->maximum[i] = 0;
	if (scan->reached)
		memset(scan->reached, 0, scan->rows->rows * sizeof(*scan->reached));
	for (size_t first = 0; first < scan->rows->rows; first += TILE) {
		fill_tables(scan, first, &tables);
		scan_tile(scan, &tables, first);
	}
	free(room);
	return FB_OK;
}
