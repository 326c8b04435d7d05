/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads CSV files record by record with libcsv; all tools use this reader. Fields of the suite's
 * files are checked against the types of their columns by the rule of csvcheck, so that no tool
 * accepts as a number what another tool refuses.
 *
 * A study of a hundred thousand rows and twenty launches has two million records, which a tool that
 * needs two numbers of each should not hold in memory. sheet.h is for tools that need all fields.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_RECORDS_H
#define FB_SCRIPTS_TOOLS_LIB_RECORDS_H

#include "common/record/csv_kind.h"

enum { FB_RECORD_FIELDS = 1024 };

/* A record is valid during the call of fb_record_fn only. */
struct fb_record {
	const char *path;
	uint64_t number; /* from 1, which is the header */
	uint64_t line;	 /* on which it begins, from 1; empty lines do not count */
	enum fb_csv_kind kind;
	char *field[FB_RECORD_FIELDS];
	size_t count;
};

/* Uses a record: 0 to go on, FB_RECORDS_STOP to read no further, or an error (printed). */
enum { FB_RECORDS_STOP = 1 };
typedef int (*fb_record_fn)(void *arg, const struct fb_record *record);

/*
 * Gives every record of a file to `use`, the header first. All have as many fields as the header
 * has, each of its column's type. A last line without its newline is ignored, because its writer is
 * still at work or died; *torn becomes its number, or 0 (NULL: not needed). Returns 0,
 * FB_EINPUT (unreadable, malformed; printed with path and line), or the error of `use`. An empty
 * file is no error here: then `use` is never called.
 */
int fb_records_read(const char *path, fb_record_fn use, void *arg, uint64_t *torn);

/* The field of that name in a header, or -1. */
int fb_record_find(const struct fb_record *header, const char *name);

/* The error of a file of another kind that was named as a result file. */
#define FB_NOT_RESULTS "not a result file: its first line should begin with schema,run"

/* Whether the file begins as result files do, a byte order mark before that left out. */
bool fb_records_are_rows(const char *path);

#endif
