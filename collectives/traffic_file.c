/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the file of --matrix or --weights; see traffic.h. */
#include "collectives/traffic.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Larger weights could not be added up exactly; a recorded matrix of bytes stays below. */
static const double largest = 1e15;

static const char separators[] = ", ;\t\r\n";

/* Where reading stands, for messages. */
struct place {
	const char *option, *path;
	unsigned line; /* from 1 */
	int rows, n;   /* lines, and numbers in a line */
};

/* Rejects a word, which may be anything: what cannot be printed becomes '?'. */
static int reject(const struct place *at, char *word, const char *expected)
{
	for (char *p = word; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	return fb_error(FB_EINPUT, "--%s %s: line %u: '%.32s' is not accepted: expected %s",
			at->option, at->path, at->line, word, expected);
}

/* Reads one line's numbers into row[n] where there is room for them (else NULL). */
static int read_row(const struct place *at, char *text, double *row)
{
	char *save, *word = strtok_r(text, separators, &save);
	int count = 0;

	for (; word; word = strtok_r(NULL, separators, &save), count++) {
		char *end;
		double value = strtod(word, &end);

		if (*end || !isfinite(value))
			return reject(at, word, "a number");
		if (value < 0 || value > largest)
			return reject(at, word, "a number from 0 to 1e15");
		if (row && count < at->n)
			row[count] = value;
	}
	if (row && count != at->n)
		return fb_error(FB_EINPUT, "--%s %s: line %u: %d numbers, expected %d, one "
				"for each rank", at->option, at->path, at->line, count, at->n);
	return FB_OK;
}

/* Whether anything but separators and a comment is in the line, which loses its comment. */
static bool has_numbers(char *text)
{
	text[strcspn(text, "#")] = '\0';
	return text[strspn(text, separators)] != '\0';
}

static int read_rows(struct place *at, FILE *file, double *weights)
{
	size_t room = 0;
	char *text = NULL;
	int rows = 0, err = FB_OK;

	while (!err && getline(&text, &room, file) >= 0) {
		at->line++;
		if (!has_numbers(text))
			continue;
		err = read_row(at, text,
			       rows < at->rows ? weights + (size_t)rows * (size_t)at->n : NULL);
		rows++;
	}
	free(text);
	if (!err && ferror(file))
		err = fb_error(FB_EINPUT, "--%s %s: cannot be read: %s", at->option,
			       at->path, strerror(errno));
	if (!err && rows != at->rows)
		err = fb_error(FB_EINPUT, "--%s %s: %d lines of numbers, expected %d%s",
			       at->option, at->path, rows, at->rows,
			       at->rows == at->n ? ", one for each rank" : "");
	return err;
}

int fb_traffic_read(const char *option, const char *path, int rows, int n, double *weights)
{
	struct place at = {.option = option, .path = path, .rows = rows, .n = n};
	FILE *file = fopen(path, "re");
	double sum = 0;
	int err;

	if (!file)
		return fb_error(FB_EINPUT, "--%s %s: cannot be opened: %s", option, path,
				strerror(errno));
	err = read_rows(&at, file, weights);
	fclose(file);
	if (err)
		return err;
	for (size_t i = 0; i < (size_t)rows * (size_t)n; i++)
		sum += weights[i];
	if (sum > 0)
		return FB_OK;
	return fb_error(FB_EINPUT, "--%s %s: all numbers are 0, expected one above", option,
			path);
}
