/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeping rows, and printing them in order; see screen.h. */
#include "common/run/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fold.h"
#include "common/record/csv.h"

enum { HALF_CHARS = 16 };

/* Keys that only files need, or that the table has in another form. */
static const char *const hidden[] = {"program", "bytes", "rank_mean_us"};

static size_t columns(const struct fb_screen *screen)
{
	return fb_columns_count + screen->nown;
}

static const struct fb_column *column_at(const struct fb_screen *screen, size_t i)
{
	return i < fb_columns_count ? &fb_columns[i] : &screen->own[i - fb_columns_count];
}

static void free_row(struct fb_screen_row *row, size_t n)
{
	for (size_t i = 0; row->field && i < n; i++)
		free(row->field[i]);
	free(row->field);
	free(row->group);
}

bool fb_screen_add(struct fb_screen *screen, const struct fb_row *row)
{
	struct fb_screen_row made = {.bytes = (double)row->key->bytes, .us = row->median_us};
	size_t n = columns(screen);
	bool whole;

	if (screen->nrows == screen->room) {
		size_t wanted = screen->room ? 2 * screen->room : 64;
		struct fb_screen_row *more = realloc(screen->row, wanted * sizeof(*more));

		if (!more)
			return false;
		screen->row = more;
		screen->room = wanted;
	}
	made.field = calloc(n, sizeof(*made.field));
	whole = made.field != NULL;
	for (size_t i = 0; whole && i < n; i++) {
		char text[FB_FIELD_CHARS];
		bool own = i >= fb_columns_count;

		made.field[i] = strdup(fb_column_text(column_at(screen, i), row,
						      own ? i - fb_columns_count : 0, text,
						      sizeof(text)));
		whole = made.field[i] != NULL;
	}
	if (!whole) {
		free_row(&made, n);
		return false;
	}
	screen->row[screen->nrows++] = made;
	return true;
}

void fb_screen_free(struct fb_screen *screen)
{
	for (size_t i = 0; i < screen->nrows; i++)
		free_row(&screen->row[i], columns(screen));
	free(screen->row);
	*screen = (struct fb_screen){.row = NULL};
}

static const char *field(const struct fb_screen_row *row, const char *name)
{
	return row->field[fb_column_find(name)];
}

/* Sorts by group, by size, then by time; rows without a time are last. */
static int compare_rows(const void *x, const void *y)
{
	const struct fb_screen_row *a = x, *b = y;
	double ta = isnan(a->us) ? (double)INFINITY : a->us;
	double tb = isnan(b->us) ? (double)INFINITY : b->us;
	int order = a->group && b->group ? strcmp(a->group, b->group) : 0;

	if (!order)
		order = strcmp(field(a, "operation"), field(b, "operation"));

	if (!order)
		order = (a->bytes > b->bytes) - (a->bytes < b->bytes);
	return order ? order : (ta > tb) - (ta < tb);
}

static bool is_skipped(const struct fb_screen_row *row)
{
	return !strcmp(field(row, "status"), "skipped");
}

static bool is_key(const struct fb_screen *screen, size_t i)
{
	const struct fb_column *column = column_at(screen, i);

	for (size_t k = 0; k < sizeof(hidden) / sizeof(hidden[0]); k++)
		if (!strcmp(column->name, hidden[k]))
			return false;
	return column->kind == FB_COLUMN_KEY;
}

/* Whether rows that were measured differ in a column. */
static bool varies(const struct fb_screen *screen, size_t i)
{
	const char *first = NULL;

	for (size_t r = 0; r < screen->nrows; r++) {
		const char *text = screen->row[r].field[i];

		if (is_skipped(&screen->row[r]))
			continue;
		if (first && strcmp(first, text))
			return true;
		first = text;
	}
	return false;
}

static bool is_empty(const char *text)
{
	return !*text || !strcmp(text, "-") || !strcmp(text, "-1");
}

/* The least width that holds a column's texts and its name. */
static int width_of(const struct fb_screen *screen, size_t i)
{
	size_t most = strlen(column_at(screen, i)->name);

	for (size_t r = 0; r < screen->nrows; r++) {
		size_t n = strlen(screen->row[r].field[i]);

		if (!is_skipped(&screen->row[r]) && n > most)
			most = n;
	}
	return (int)most;
}

/* Whether a key has a separate column. */
static bool has_column(const struct fb_screen *screen, const bool *apart, size_t i)
{
	return is_key(screen, i) && varies(screen, i) && !apart[i];
}

/* "operation all_reduce, engine host, ..." */
static void print_common(const struct fb_screen *screen, const struct fb_screen_row *row, FILE *out)
{
	const char *comma = "";

	for (size_t i = 0; i < columns(screen); i++) {
		if (!is_key(screen, i) || varies(screen, i) || is_empty(row->field[i]))
			continue;
		fprintf(out, "%s%s %s", comma, column_at(screen, i)->name, row->field[i]);
		comma = ", ";
	}
	fputs("\n\n", out);
}

/* Columns of values that a program's readers look at first. */
static bool is_shown(const struct fb_screen *screen, size_t i)
{
	const char *name = column_at(screen, i)->name;
	bool named = !strcmp(name, "busbw_GBps");

	for (size_t k = 0; screen->shown && screen->shown[k]; k++)
		named |= !strcmp(name, screen->shown[k]);
	if (!named)
		return false;
	for (size_t r = 0; r < screen->nrows; r++)
		if (*screen->row[r].field[i])
			return true;
	return false;
}

/* Characters of the head line. Longer remarks continue on further lines (fold.h). */
static int table_width(const struct fb_screen *screen, const bool *apart)
{
	enum { BYTES = 12, TIME = 22, REMARKS = 9, GAP = 2 };
	int width = BYTES + TIME + REMARKS;

	for (size_t i = 0; i < columns(screen); i++)
		if (has_column(screen, apart, i) || is_shown(screen, i))
			width += GAP + width_of(screen, i);
	return width;
}

/* The widest key with a column; -1: there is none. */
static int widest_key(const struct fb_screen *screen, const bool *apart)
{
	int widest = -1;

	for (size_t i = 0; i < columns(screen); i++)
		if (has_column(screen, apart, i) &&
		    (widest < 0 || width_of(screen, i) > width_of(screen, (size_t)widest)))
			widest = (int)i;
	return widest;
}

/* Decides which keys break the table, and sets each row's group. False: memory is out. */
static bool set_apart(struct fb_screen *screen, bool *apart)
{
	bool any = false, whole = true;
	int widest;

	while (table_width(screen, apart) > FB_LINE_MOST &&
	       (widest = widest_key(screen, apart)) >= 0)
		apart[widest] = any = true;
	for (size_t r = 0; r < screen->nrows && any && whole; r++) {
		size_t bytes;
		FILE *out = open_memstream(&screen->row[r].group, &bytes);
		const char *comma = "";

		for (size_t i = 0; out && i < columns(screen); i++) {
			if (!apart[i])
				continue;
			fprintf(out, "%s%s %s", comma, column_at(screen, i)->name,
				screen->row[r].field[i]);
			comma = ", ";
		}
		whole = out && !fclose(out);
	}
	return whole;
}

static void print_head(const struct fb_screen *screen, const bool *apart, FILE *out)
{
	fprintf(out, "%12s", "bytes");
	for (size_t i = 0; i < columns(screen); i++)
		if (has_column(screen, apart, i))
			fprintf(out, "  %-*s", width_of(screen, i), column_at(screen, i)->name);
	fprintf(out, "  %12s %7s", "median_us", "+-");
	for (size_t i = 0; i < columns(screen); i++)
		if (is_shown(screen, i))
			fprintf(out, "  %*s", width_of(screen, i), column_at(screen, i)->name);
	fputs("  remarks\n", out);
}

static void print_row(const struct fb_screen *screen, const bool *apart,
		      const struct fb_screen_row *row, FILE *out)
{
	double low = strtod(field(row, "median_low_us"), NULL);
	double high = strtod(field(row, "median_high_us"), NULL);
	const char *status = field(row, "status"), *reason = field(row, "reason");
	const char *flags = field(row, "flags");
	bool ok = !strcmp(status, "ok");
	char half[HALF_CHARS] = "";

	if (row->us > 0 && *field(row, "median_high_us"))
		snprintf(half, sizeof(half), "%.1f%%",
			 100 * fmax(high - row->us, row->us - low) / row->us);
	fprintf(out, "%12.0f", row->bytes);
	for (size_t i = 0; i < columns(screen); i++)
		if (has_column(screen, apart, i))
			fprintf(out, "  %-*s", width_of(screen, i), row->field[i]);
	if (isnan(row->us))
		fprintf(out, "  %12s %7s", "-", "");
	else
		fprintf(out, "  %12.3f %7s", row->us, half);
	for (size_t i = 0; i < columns(screen); i++)
		if (is_shown(screen, i))
			fprintf(out, "  %*s", width_of(screen, i), row->field[i]);
	fprintf(out, "  %s%s%s%s%s\n", ok ? "" : status, ok ? "" : ": ", reason,
		*reason && *flags ? "; " : "", flags);
}

/* A line for each reason, with the number of rows. */
static void print_skipped(const struct fb_screen *screen, FILE *out)
{
	for (size_t r = 0; r < screen->nrows; r++) {
		const char *reason = field(&screen->row[r], "reason");
		size_t count = 0, before = 0;

		for (size_t k = 0; k < screen->nrows && is_skipped(&screen->row[r]); k++)
			if (is_skipped(&screen->row[k]) &&
			    !strcmp(field(&screen->row[k], "reason"), reason)) {
				count++;
				before += k < r;
			}
		if (count && !before)
			fprintf(out, "skipped %zu: %s\n", count, reason);
	}
}

/* Whether a size has several rows; then an empty line separates sizes. */
static bool has_equal_sizes(const struct fb_screen *screen)
{
	const struct fb_screen_row *before = NULL;

	for (size_t r = 0; r < screen->nrows; r++) {
		const struct fb_screen_row *row = &screen->row[r];

		if (is_skipped(row))
			continue;
		if (before && !(before->bytes < row->bytes) && !(before->bytes > row->bytes))
			return true;
		before = row;
	}
	return false;
}

/* Tables of the rows that were measured, one for each group. */
static void print_tables(const struct fb_screen *screen, const bool *apart, FILE *out)
{
	const struct fb_screen_row *before = NULL;
	bool equal = has_equal_sizes(screen);

	for (size_t r = 0; r < screen->nrows; r++) {
		const struct fb_screen_row *row = &screen->row[r];
		bool begins = !before;

		if (is_skipped(row))
			continue;
		if (row->group && (!before || strcmp(before->group, row->group))) {
			fprintf(out, "%s%s:\n", before ? "\n" : "", row->group);
			begins = true;
		}
		if (begins)
			print_head(screen, apart, out);
		else if (equal && (before->bytes < row->bytes || before->bytes > row->bytes))
			fputc('\n', out);
		print_row(screen, apart, row, out);
		before = row;
	}
}

static void print_all(struct fb_screen *screen, const bool *apart, FILE *out)
{
	const struct fb_screen_row *first = NULL;

	qsort(screen->row, screen->nrows, sizeof(*screen->row), compare_rows);
	for (size_t r = 0; r < screen->nrows && !first; r++)
		if (!is_skipped(&screen->row[r]))
			first = &screen->row[r];
	fputc('\n', out);
	if (first)
		print_common(screen, first, out);
	print_tables(screen, apart, out);
	print_skipped(screen, out);
}

void fb_screen_print(struct fb_screen *screen, FILE *out)
{
	bool *apart = screen->nrows ? calloc(columns(screen), sizeof(*apart)) : NULL;
	struct fb_fold fold;

	if (apart && set_apart(screen, apart) && !fb_fold_open(&fold)) {
		print_all(screen, apart, fold.stream);
		(void)fb_fold_close(&fold, out);
		fflush(out);
	}
	free(apart);
}
