/* SPDX-License-Identifier: BSD-3-Clause */
/* Many rows under many assignments; see max_t.h. */
#include "scripts/tools/compare/max_t.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/lib/memory.h"

enum { WORD_BITS = 64 };

size_t fb_count_reaching(const double *sorted, size_t n, double x)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (sorted[middle] >= x)
			high = middle;
		else
			low = middle + 1;
	}
	return n - low;
}

/* One row, which must be complete; room is for 4 * launches doubles. */
static int ready_row(const struct fb_design *design, const double *y, double *room, double *value)
{
	double *sorted = room + 2 * design->launches;
	size_t n = design->launches;
	struct fb_row_values values;
	int ret = fb_row_values(design, y, room, &values);

	if (ret)
		return ret;
	if (design->block) {
		fb_statistic_units(values.b, values.nb, 0, value);
		return FB_OK;
	}
	memcpy(sorted, y, n * sizeof(*y));
	fb_sort(sorted, n, sorted + n);
	fb_statistic_units(y, n, sorted[n / 2], value);
	return FB_OK;
}

int fb_ready_rows_make(const struct fb_design *design, const struct fb_design_size *size,
		       const double *y, const size_t *index, size_t rows, struct fb_ready_rows *out)
{
	size_t units = design->block ? size->blocks : design->launches;
	struct fb_ready_rows ready = {
		.statistic = fb_statistic_of(design, size),
		.rows = rows,
		.units = units,
		.value = fb_new(rows * units + 1, sizeof(double)),
	};
	double *room = fb_new(4 * design->launches, sizeof(*room));
	int ret = FB_OK;

	for (size_t i = 0; i < rows && !ret; i++)
		ret = ready_row(design, y + index[i] * design->launches, room,
				ready.value + i * units);
	fb_drop(room);
	if (!ret)
		*out = ready;
	return ret;
}

double fb_ready_z(const struct fb_ready_rows *rows, size_t row, const unsigned char *nibble,
		  double *room)
{
	const struct fb_statistic *s = &rows->statistic;
	const double *value = rows->value + row * rows->units;
	double *side[2] = {room, room + s->n[0]}, *scratch = room + rows->units;
	struct fb_side_sums sums[2] = {{.sum = 0}, {.sum = 0}};
	size_t n[2] = {0, 0};

	for (size_t u = 0; u < rows->units; u++) {
		unsigned bit = fb_assignment_bit(nibble, u);

		if (s->signs)
			side[1][n[1]++] = bit ? value[u] : -value[u];
		else
			side[bit][n[bit]++] = value[u];
	}
	for (int k = 0; k < 2; k++) {
		fb_sort(side[k], n[k], scratch);
		sums[k] = fb_side_sums(side[k], n[k], s->trim[k]);
	}
	struct fb_statistic_parts parts = fb_statistic_parts(s, sums);
	double direction = s->trimmed.degrees > 0 ? parts.trimmed : parts.plain;

	return copysign(sqrt(fb_statistic_z2(s, &parts)), direction);
}

/* What four units add to the sums of B, or, with signs, of all. */
struct entry {
	double sum, squares;
};

/* One row under every assignment. */
struct row_scan {
	const struct fb_statistic *statistic;
	size_t groups, words;
	double *sorted;	     /* [units]: values ascending, with signs their sizes */
	uint64_t *valid;     /* [words]: a bit for each unit */
	struct entry *entry; /* [groups * FB_NIBBLES] */
	uint64_t *bits;	     /* [groups * FB_NIBBLES * words]: units of B, or positive ones */
	uint64_t *set[2];    /* [words]: units of A (negative ones), and of B (positive ones) */
	double sum, squares; /* of all units */
};

/* A value with its unit, for sorting. */
struct placed {
	double size;
	size_t unit;
};

static int compare_placed(const void *x, const void *y)
{
	const struct placed *a = x, *b = y;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static void fill_tables(struct row_scan *r, const double *value, size_t units,
			struct placed *placed)
{
	bool signs = r->statistic->signs;
	size_t entries = r->groups * FB_NIBBLES;

	memset(r->entry, 0, entries * sizeof(*r->entry));
	memset(r->bits, 0, entries * r->words * sizeof(*r->bits));
	r->sum = r->squares = 0;
	for (size_t u = 0; u < units; u++) {
		placed[u] = (struct placed){signs ? fabs(value[u]) : value[u], u};
		r->sum += value[u];
		r->squares += value[u] * value[u];
	}
	qsort(placed, units, sizeof(*placed), compare_placed);
	for (size_t place = 0; place < units; place++) {
		size_t u = placed[place].unit, group = u / FB_NIBBLE;

		r->sorted[place] = placed[place].size;
		for (unsigned nibble = 0; nibble < FB_NIBBLES; nibble++) {
			size_t at = group * FB_NIBBLES + nibble;
			unsigned bit = nibble >> (u % FB_NIBBLE) & 1;
			double v = value[u];

			r->entry[at].sum += bit ? v : signs ? -v : 0;
			r->entry[at].squares += bit || signs ? v * v : 0;
			if (signs ? bit == (v >= 0) : bit)
				r->bits[at * r->words + place / WORD_BITS] |=
					UINT64_C(1) << (place % WORD_BITS);
		}
	}
}

/* The values at one end of a side: some are cut, and the next one is wanted as well. */
struct end {
	size_t cut, taken;
	double sum, squares, next;
};

/* Takes the units of a set from the lowest or the highest on; true: the end is complete. */
static bool take(const struct row_scan *r, const uint64_t *set, bool highest, double sign,
		 struct end *end)
{
	for (size_t w = 0; w < r->words; w++) {
		size_t word = highest ? r->words - 1 - w : w;
		uint64_t left = set[word];

		while (left) {
			int bit = highest ? WORD_BITS - 1 - __builtin_clzll(left)
					  : __builtin_ctzll(left);
			double v = sign * r->sorted[word * WORD_BITS + (size_t)bit];

			left &= ~(UINT64_C(1) << bit);
			if (end->taken++ == end->cut) {
				end->next = v;
				return true;
			}
			end->sum += v;
			end->squares += v * v;
		}
	}
	return false;
}

static void trim_side(const struct row_scan *r, int k, struct fb_side_sums *sums)
{
	struct end low = {.cut = r->statistic->trim[k]}, high = low;

	if (!r->statistic->signs) {
		take(r, r->set[k], false, 1, &low);
		take(r, r->set[k], true, 1, &high);
	} else {
		if (!take(r, r->set[0], true, -1, &low))
			take(r, r->set[1], false, 1, &low);
		if (!take(r, r->set[1], true, 1, &high))
			take(r, r->set[0], false, -1, &high);
	}
	sums->cut_sum = low.sum + high.sum;
	sums->cut_squares = low.squares + high.squares;
	sums->next_low = low.next;
	sums->next_high = high.next;
}

/* The parts of the row's statistic under one assignment. */
static struct fb_statistic_parts parts_of(const struct row_scan *r, const unsigned char *nibble)
{
	struct fb_side_sums side[2] = {{.sum = 0}, {.sum = 0}};

	for (size_t g = 0; g < r->groups; g++) {
		const struct entry *e = &r->entry[g * FB_NIBBLES + nibble[g]];

		side[1].sum += e->sum;
		side[1].squares += e->squares;
	}
	side[0].sum = r->sum - side[1].sum;
	side[0].squares = r->squares - side[1].squares;
	if (r->statistic->trimmed.degrees > 0) {
		for (size_t w = 0; w < r->words; w++) {
			uint64_t set = 0;

			for (size_t g = 0; g < r->groups; g++)
				set |= r->bits[(g * FB_NIBBLES + nibble[g]) * r->words + w];
			r->set[1][w] = set;
			r->set[0][w] = r->valid[w] & ~set;
		}
		for (int k = r->statistic->signs ? 1 : 0; k < 2; k++)
			trim_side(r, k, &side[k]);
	}
	return fb_statistic_parts(r->statistic, side);
}

/*
 * The largest z^2 of an assignment so far, and the same as difference^2 / variance: what either
 * statistic has to exceed.
 */
struct largest {
	double z2, plain, trimmed;
};

static void raise_largest(const struct fb_statistic *s, const struct fb_statistic_parts *p,
			  struct largest *most)
{
	if (p->plain * p->plain <= most->plain * p->plain_variance &&
	    (s->trimmed.degrees <= 0 ||
	     p->trimmed * p->trimmed <= most->trimmed * p->trimmed_variance))
		return;
	most->z2 = fmax(most->z2, fb_statistic_z2(s, p));
	most->plain = s->plain.degrees * expm1(most->z2 / s->plain.normal);
	if (s->trimmed.degrees > 0)
		most->trimmed = s->trimmed.degrees * expm1(most->z2 / s->trimmed.normal);
}

static void scan_row(const struct fb_scan *scan, const struct row_scan *r, size_t place,
		     struct largest *most)
{
	const struct fb_assignments *a = scan->assignments;
	uint32_t reached = 0;

	for (size_t i = 0; i < a->count; i++) {
		struct fb_statistic_parts parts = parts_of(r, a->nibble + i * a->groups);

		raise_largest(r->statistic, &parts, &most[i]);
		if (scan->threshold)
			reached += most[i].z2 >= scan->threshold[place];
	}
	if (scan->threshold)
		scan->reached[place] = reached;
}

void fb_scan(const struct fb_scan *scan)
{
	const struct fb_ready_rows *rows = scan->rows;
	size_t units = rows->units, count = scan->assignments->count;
	struct row_scan r = {
		.statistic = &rows->statistic,
		.groups = (units + FB_NIBBLE - 1) / FB_NIBBLE,
		.words = (units + WORD_BITS - 1) / WORD_BITS,
	};
	size_t entries = r.groups * FB_NIBBLES;
	struct placed *placed = fb_new(units + 1, sizeof(*placed));
	struct largest *most = fb_new(count + 1, sizeof(*most));

	r.sorted = fb_new(units + 1, sizeof(*r.sorted));
	r.entry = fb_new(entries + 1, sizeof(*r.entry));
	r.valid = fb_new((entries + 3) * (r.words + 1), sizeof(*r.valid));
	r.set[0] = r.valid + r.words;
	r.set[1] = r.set[0] + r.words;
	r.bits = r.set[1] + r.words;
	for (size_t u = 0; u < units; u++)
		r.valid[u / WORD_BITS] |= UINT64_C(1) << (u % WORD_BITS);
	for (size_t i = 0; i < rows->rows; i++) {
		size_t row = scan->order ? scan->order[i] : i;

		fill_tables(&r, rows->value + row * units, units, placed);
		scan_row(scan, &r, i, most);
	}
	for (size_t i = 0; i < count; i++)
		scan->maximum[i] = most[i].z2;
}
