/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A value for each pair of ranks as a heat map, which shows a slow link, a slow rank (a row and a
 * column) or a topology (blocks) at a glance; what stands out most is also said in words.
 */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/stragglers.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Pairs are judged by bandwidth from this size on, by time below it. */
enum { BANDWIDTH_BYTES = 65536 };

void fb_matrix_make(struct fb_matrix *matrix, size_t rows, size_t columns)
{
	matrix->value = fb_new(rows * columns + 1, sizeof(*matrix->value));
	matrix->rows = rows;
	matrix->columns = columns;
	for (size_t i = 0; i < rows * columns; i++)
		matrix->value[i] = (double)NAN;
}

/* The keys of the two axes: those of all_pairs, and those of imported matrices. */
static const char *const axes[][2] = {{"src", "dst"}, {"row", "column"}};
enum { AXES = FB_COUNT_OF(axes) };

/* Whether the text is a rank or index that a matrix has room for. */
static bool parse_index(const char *text, size_t *index)
{
	char *end;

	*index = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *index < FB_MATRIX_MAX;
}

/* Reads the pair of a cell; false where it has none. */
static bool pair_of(const struct fb_cell *cell, size_t *src, size_t *dst)
{
	const char *variant = fb_cell_text(cell, "variant");
	char s[24], d[24];

	for (size_t i = 0; i < AXES; i++)
		if (fb_variant_value(variant, axes[i][0], s, sizeof(s)) &&
		    fb_variant_value(variant, axes[i][1], d, sizeof(d)))
			return parse_index(s, src) && parse_index(d, dst);
	return false;
}

bool fb_plot_is_pair(const struct fb_section *section)
{
	size_t src, dst;

	return pair_of(section->cell, &src, &dst);
}

static bool is_axis(const char *key, size_t length)
{
	for (size_t i = 0; i < AXES; i++)
		for (size_t k = 0; k < 2; k++)
			if (strlen(axes[i][k]) == length && !strncmp(axes[i][k], key, length))
				return true;
	return false;
}

/* The variant without the two keys that are the axes. */
static void rest_of(const char *variant, char *buf, size_t n)
{
	buf[0] = '\0';
	while (*variant) {
		size_t length = strcspn(variant, ";");

		if (!is_axis(variant, strcspn(variant, "=;")))
			snprintf(buf + strlen(buf), n - strlen(buf), "%s%.*s", *buf ? ";" : "",
				 (int)length, variant);
		variant += length + (variant[length] == ';' ? 1 : 0);
	}
}

static bool same_matrix(const struct fb_cell *a, const struct fb_cell *b)
{
	char rest_a[256], rest_b[256];

	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY && strcmp(fb_columns[i].name, "variant") &&
		    strcmp(a->row->field[i], b->row->field[i]))
			return false;
	rest_of(fb_cell_text(a, "variant"), rest_a, sizeof(rest_a));
	rest_of(fb_cell_text(b, "variant"), rest_b, sizeof(rest_b));
	return !strcmp(rest_a, rest_b);
}

static bool is_of_gpus(const char *memory)
{
	static const char *const kinds[] = {"device", "vmm", "fabric", "pinned"};

	return FB_AMONG(memory, kinds);
}

static void fill(struct fb_matrix *m, const struct fb_cells *cells, const struct fb_cell *first)
{
	bool rate = first->bytes >= BANDWIDTH_BYTES && first->busbw_GBps > 0;
	char size[FB_SIZE_CHARS], label[FB_LABEL_CHARS], rest[64];
	size_t src, dst, most = 0;
	bool imported;

	for (size_t i = 0; i < cells->count; i++)
		if (pair_of(&cells->cell[i], &src, &dst) && same_matrix(first, &cells->cell[i])) {
			most = src > most ? src : most;
			most = dst > most ? dst : most;
		}
	fb_matrix_make(m, most + 1, most + 1);
	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *c = &cells->cell[i];

		if (pair_of(c, &src, &dst) && fb_cell_has_time(c) && same_matrix(first, c))
			m->value[src * m->columns + dst] = rate ? c->busbw_GBps : c->us;
	}
	rest_of(fb_cell_text(first, "variant"), rest, sizeof(rest));
	snprintf(m->title, sizeof(m->title), "%s, %s bytes, %s, %s%s%s",
		 fb_cell_text(first, "operation"), fb_size_text(first->bytes, size),
		 fb_cell_label(first, label), rate ? "bandwidth of each pair" : "time of each pair",
		 *rest ? ", " : "", rest);
	snprintf(m->unit, sizeof(m->unit), "%s", rate ? "GB/s" : "us");
	imported = fb_variant_value(fb_cell_text(first, "variant"), "row", size, sizeof(size));
	snprintf(m->row_name, sizeof(m->row_name), imported ? "row" : "from rank");
	snprintf(m->column_name, sizeof(m->column_name), imported ? "column" : "to rank");
	m->more_is_better = rate;
	m->gpus = is_of_gpus(fb_cell_text(first, "memory"));
	m->network = strstr(fb_cell_text(first, "transport"), "rdma")  ? "rdma"
		     : strstr(fb_cell_text(first, "transport"), "tcp") ? "tcp"
								       : NULL;
}

void fb_matrix_read_rows(struct fb_matrix *matrix, const struct fb_cells *cells, size_t figure,
			 size_t *count)
{
	const struct fb_cell **first = fb_new(cells->count + 1, sizeof(*first));
	size_t src, dst;

	*count = 0;
	for (size_t i = 0; i < cells->count; i++) {
		size_t g = 0;

		if (!pair_of(&cells->cell[i], &src, &dst))
			continue;
		while (g < *count && !same_matrix(first[g], &cells->cell[i]))
			g++;
		if (g == *count)
			first[(*count)++] = &cells->cell[i];
	}
	if (figure && figure <= *count)
		fill(matrix, cells, first[figure - 1]);
}

/* The median of a row (or column) and what it is of, for the note. */
static double line_median(const struct fb_matrix *m, size_t at, bool row, double *x)
{
	size_t n = row ? m->columns : m->rows, found = 0;

	for (size_t i = 0; i < n; i++) {
		double v = row ? m->value[at * m->columns + i] : m->value[i * m->columns + at];

		if (isfinite(v))
			x[found++] = v;
	}
	return found ? fb_median(x, found, x + n) : (double)NAN;
}

/* Whether a is worse than b. NAN is worse than nothing. */
static bool is_worse(const struct fb_matrix *m, double a, double b)
{
	return m->more_is_better ? a < b : a > b;
}

/* slow: slow ranks in words. If ranks are too few to judge, names a row or column instead. */
static void describe(const struct fb_matrix *m, double *x, const char *slow, char *note, size_t n)
{
	bool judged = fb_matrix_is_of_ranks(m) && m->rows >= FB_STRAGGLER_RANKS_MIN;
	size_t found = 0, worst = 0, columns;
	double median, line_worst = (double)NAN;
	bool alike = !strcmp(m->row_name, m->column_name);
	char line[80] = "";

	for (size_t i = 0; i < m->rows * m->columns; i++) {
		if (!isfinite(m->value[i]))
			continue;
		if (found == 0 || is_worse(m, m->value[i], m->value[worst]))
			worst = i;
		x[found++] = m->value[i];
	}
	median = found ? fb_median(x, found, x + m->rows * m->columns) : (double)NAN;
	for (size_t k = 0; !judged && k < m->rows + m->columns; k++) {
		bool row = k < m->rows;
		size_t at = row ? k : k - m->rows;
		double v = line_median(m, at, row, x);

		/* A tenth from the median of all is more than pairs differ by chance. */
		if (!isfinite(v) ||
		    !is_worse(m, v, m->more_is_better ? 0.9 * median : 1.1 * median))
			continue;
		if (isfinite(line_worst) && !is_worse(m, v, line_worst))
			continue;
		line_worst = v;
		snprintf(line, sizeof(line), "; %s%s %zu stands out: median %.3g",
			 !alike ? "" : row ? "row " : "column ",
			 row ? m->row_name : m->column_name, at, v);
	}
	columns = m->columns ? m->columns : 1;
	snprintf(note, n, "median of all pairs %.4g %s, worst %.4g (%s %zu, %s %zu)%s%s%s", median,
		 m->unit, found ? m->value[worst] : (double)NAN, m->row_name, worst / columns,
		 m->column_name, worst % columns, line, *slow ? "; " : "", slow);
}

static void put_figure(const struct fb_plot *plot, const struct fb_results *results,
		      const struct fb_matrix *m)
{
	double *x = fb_new(2 * (m->rows * m->columns + m->rows + m->columns) + 2, sizeof(*x));
	char note[FB_MATRIX_SLOW_CHARS + 320], slow[FB_MATRIX_SLOW_CHARS];
	struct fb_plot with = *plot;
	FILE *out = plot->out;

	fb_matrix_name_slow(m, results, slow, sizeof(slow));
	describe(m, x, slow, note, sizeof(note));
	with.results = results;
	fb_plot_texts(&with, m->title, note);
	fb_gnuplot_text(out, "UNIT", m->unit);
	fb_gnuplot_text(out, "ROWNAME", m->row_name);
	fb_gnuplot_text(out, "COLUMNNAME", m->column_name);
	fprintf(out, "ROWS = %zu\nCOLUMNS = %zu\nMORE = %d\n$DATA << EOD\n", m->rows, m->columns,
		m->more_is_better);
	for (size_t r = 0; r < m->rows; r++) {
		for (size_t c = 0; c < m->columns; c++) {
			fprintf(out, "%zu %zu", c, r);
			fb_gnuplot_number(out, m->value[r * m->columns + c]);
			fputc('\n', out);
		}
		fputc('\n', out);
	}
	fputs("EOD\n", out);
}

/* A folder, or a file that begins as result files do. */
static bool holds_rows(const char *path)
{
	struct stat st;

	return (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || fb_records_are_rows(path);
}

int fb_plot_matrix(const struct fb_plot *plot)
{
	size_t figure = plot->count ? 0 : plot->figure, count = 0;
	struct fb_results results = {0};
	struct fb_cells cells = {0};
	struct fb_matrix m = {0};
	int err = FB_OK;

	if (holds_rows(plot->path[0])) {
		for (size_t i = 0; i < plot->npaths && !err; i++)
			err = fb_results_read(&results, plot->path[i]);
		fb_cells_make(&cells, &results, NULL);
		if (!err)
			fb_matrix_read_rows(&m, &cells, figure, &count);
	} else {
		err = fb_matrix_read_text(&m, plot->path[0], figure, &count);
	}
	if (fb_plot_wanted(plot, &err, count, "no matrix: neither rows whose variant has src "
			   "and dst, nor one of nvbandwidth's"))
		put_figure(plot, &results, &m);
	return err;
}
