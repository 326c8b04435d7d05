/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrices in the text that nvbandwidth prints:
 *
 *	memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
 *	           0         1
 *	 0       N/A    276.07
 *	 1    276.19       N/A
 */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/matrix.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Splits a line at blanks in place; returns how many words, at most `most`. */
static size_t split(char *line, char **word, size_t most)
{
	size_t n = 0;
	char *rest = line;

	for (char *w = strtok_r(line, " \t\r\n", &rest); w && n < most;
	     w = strtok_r(NULL, " \t\r\n", &rest))
		word[n++] = w;
	return n;
}

static bool is_title(const char *line)
{
	return strstr(line, "(row)") && strstr(line, "(column)");
}

/* Whether the words are 0, 1, 2, ... */
static bool is_index(char *const *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strtoull(word[i], NULL, 10) != i || !isdigit((unsigned char)word[i][0]))
			return false;
	return n > 0;
}

/* The word before the mark, as GPU in "GPU(row)". */
static void word_before(const char *line, const char *mark, char *buf, size_t n)
{
	const char *end = strstr(line, mark), *begin = end;

	while (begin && begin > line && begin[-1] != ' ')
		begin--;
	snprintf(buf, n, "%.*s", begin ? (int)(end - begin) : 0, begin ? begin : "");
}

static void read_title(struct fb_matrix *m, const char *line)
{
	const char *unit = strrchr(line, '(');

	snprintf(m->title, sizeof(m->title), "%.*s", (int)strcspn(line, "\r\n"), line);
	snprintf(m->unit, sizeof(m->unit), "%.*s", unit ? (int)strcspn(unit + 1, ")") : 0,
		 unit ? unit + 1 : "");
	m->more_is_better = !strstr(line, "latency");
	word_before(line, "(row)", m->row_name, sizeof(m->row_name));
	word_before(line, "(column)", m->column_name, sizeof(m->column_name));
}

/* Reads the rows that follow the line of column numbers. */
static void read_body(struct fb_matrix *m, FILE *file, size_t columns, char **word)
{
	double *value = fb_new(FB_MATRIX_MAX * columns, sizeof(*value));
	size_t rows = 0;
	char *line;

	while (rows < FB_MATRIX_MAX && (line = fb_file_line(file)) &&
	       split(line, word, FB_MATRIX_MAX + 1) == columns + 1) {
		for (size_t c = 0; c < columns; c++) {
			char *end;
			double x = strtod(word[c + 1], &end);

			value[rows * columns + c] = end == word[c + 1] ? (double)NAN : x;
		}
		rows++;
	}
	if (!rows)
		return;
	fb_matrix_make(m, rows, columns);
	memcpy(m->value, value, rows * columns * sizeof(*value));
}

int fb_matrix_read_text(struct fb_matrix *matrix, const char *path, size_t figure, size_t *count)
{
	char **word = fb_new(FB_MATRIX_MAX + 2, sizeof(*word)), *line, *title = NULL;
	FILE *file = fopen(path, "r");

	*count = 0;
	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	while ((line = fb_file_line(file))) {
		bool begins = is_title(line);
		size_t columns = title && !begins ? split(line, word, FB_MATRIX_MAX + 1) : 0;

		if (columns && columns <= FB_MATRIX_MAX && is_index(word, columns) &&
		    ++*count == figure) {
			read_title(matrix, title);
			read_body(matrix, file, columns, word);
		}
		title = begins ? line : NULL;
	}
	fclose(file);
	return FB_OK;
}
