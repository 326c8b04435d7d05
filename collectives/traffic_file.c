/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the file of --matrix; see traffic.h. */
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
	const char *path;
	unsigned line; /* from 1 */
	int n;         /* numbers in a line, and lines */
};

/* Rejects a word, which may be anything: what cannot be printed becomes '?'. */
static int reject(const struct place *at, char *word, const char *expected)
{
	for (char *p = word; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	return fb_error(FB_EINPUT, "--matrix %s: line %u: '%.32s' is not accepted: expected %s",
			at->path, at->line, word, expected);
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
		return fb_error(FB_EINPUT, "--matrix %s: line %u: %d numbers, expected %d, one "
				"for each rank", at->path, at->line, count, at->n);
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
			       rows < at->n ? weights + (size_t)rows * (size_t)at->n : NULL);
		rows++;
	}
	free(text);
	if (!err && ferror(file))
		err = fb_error(FB_EINPUT, "--matrix %s: cannot be read: %s", at->path,
			       strerror(errno));
	if (!err && rows != at->n)
		err = fb_error(FB_EINPUT, "--matrix %s: %d lines of numbers, expected %d, one for "
			       "each rank", at->path, rows, at->n);
	return err;
}

int fb_traffic_read(const char *path, int n, double *weights)
{
	struct place at = {.path = path, .n = n};
	FILE *file = fopen(path, "re");
	double sum = 0;
	int err;

	if (!file)
		return fb_error(FB_EINPUT, "--matrix %s: cannot be opened: %s", path,
				strerror(errno));
	err = read_rows(&at, file, weights);
	fclose(file);
	if (err)
		return err;
	for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
		sum += weights[i];
	if (sum > 0)
		return FB_OK;
	return fb_error(FB_EINPUT, "--matrix %s: all numbers are 0, expected one above", path);
}
