/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Result files: one row per case and launch, appended whole or not at all.
 *
 * Columns come from schema.h, whole rows from append.h, and what is finished already is read
 * back from the same file, so that an interrupted run can go on without a file of its own for
 * that. Only one rank of a job writes.
 */
#ifndef FB_COMMON_RECORD_CSV_H
#define FB_COMMON_RECORD_CSV_H

#include "common/base/append.h"
#include "common/record/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FB_UTC_CHARS = 24 };

struct fb_csv {
	struct fb_append file;
	const struct fb_column *extra; /* borrowed: a const table of the program's */
	size_t nextra;
};

/*
 * Opens DIR/PROGRAM.csv for appending, creating the folder (with parents) and the file with its
 * header where missing. extra[0..nextra) are the program's own columns, after the fixed ones.
 * With sync_rows each row reaches the disk before fb_csv_append returns (fdatasync); else only
 * closing does that, which already survives every crash but the machine's own.
 * An existing file must have the very same header (else FB_EINPUT, file untouched) and must not
 * be open in another job (FB_EINPUT). Other errors: FB_ENOMEM, FB_EIO. Errors are printed.
 */
int fb_csv_open(struct fb_csv *csv, const char *dir, const char *program,
		const struct fb_column *extra, size_t nextra, bool sync_rows);

/*
 * Appends one row. Returns 0, FB_ENOMEM, or FB_EIO when the row did not fit: it is then taken
 * back, the file holds whole rows only, and a message names the file.
 */
int fb_csv_append(struct fb_csv *csv, const struct fb_row *row);

/*
 * The row as it is appended, with the time now where it has none: malloced, of *bytes characters
 * with its newline. NULL where memory is out.
 */
char *fb_csv_row_text(const struct fb_csv *csv, const struct fb_row *row, size_t *bytes);

/* Flushes to disk and closes. Returns 0 or FB_EIO (printed). Safe on a zeroed structure. */
int fb_csv_close(struct fb_csv *csv);

/*
 * The header line with newline for a set of columns, malloced, or NULL where memory is out.
 * The caller frees it. Used by the writer and by the checker.
 */
char *fb_csv_header(const struct fb_column *extra, size_t nextra);

/* Writes one field to `out`, quoted as RFC 4180 asks where it holds ',', '"', CR or LF. */
void fb_csv_put_field(FILE *out, const char *text);

/* The time now, "2024-05-31T23:59:59Z". Returns buf. */
const char *fb_utc_now(char buf[FB_UTC_CHARS]);

/* The rows that a launch has already, for --resume: a set of keys. */
struct fb_finished {
	char **slots; /* open addressing; NULL is free */
	size_t capacity, count;
	uint64_t rows; /* of the launch, those with status fault included */
};

/*
 * Reads DIR/PROGRAM.csv and collects the keys of this launch's rows that need no second run:
 * status ok, wrong, skipped or few. A missing file gives an empty set; a torn last line is
 * ignored. Returns 0; FB_EINPUT where the file has another schema or is malformed, FB_ENOMEM,
 * FB_EIO (all printed, *set empty). The caller frees with fb_finished_free.
 */
int fb_csv_finished(struct fb_finished *set, const char *dir, const char *program,
		    uint64_t launch_index);

/* Whether a row with the key of `row` (its case, ranks and nodes) is in the set. */
bool fb_finished_has(const struct fb_finished *set, const struct fb_row *row);

struct fb_csv_median {
	double us, low_us, high_us; /* NAN: the row has none */
};

/*
 * Whether the file has a row of this launch with the key of `row` that needs no second run, and its
 * median. Reads the whole file, so it is for few rows.
 */
bool fb_csv_times(const char *dir, const char *program, uint64_t launch_index,
		  const struct fb_row *row, struct fb_csv_median *median);

/*
 * The key of a row as one text: the key columns' fields, in order. Either `row` or `fields` (a
 * record of a file with the fixed columns first) is given, the other NULL. Malloced; NULL where
 * memory is out.
 */
char *fb_csv_key(const struct fb_row *row, char *const *fields);

/* Adds a text to the set. Returns 1 when new, 0 when it was there, FB_ENOMEM. */
int fb_finished_add(struct fb_finished *set, const char *key);

void fb_finished_free(struct fb_finished *set);

#endif
