/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CSV file in memory: all columns of all rows as texts, and the line of each row for messages.
 * results.h has the rows by the columns of the schema, env.h has the facts.
 * Tools that need two numbers of each of millions of rows read record by record (records.h).
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_SHEET_H
#define FB_SCRIPTS_TOOLS_LIB_SHEET_H

#include "common/record/csv_kind.h"

struct fb_sheet_row {
	char **cell;   /* [ncolumns] of the sheet */
	uint64_t line; /* of the file, from 1 */
};

struct fb_sheet {
	char *path;
	size_t source; /* in fb_sheets: index of the path that it belongs to */
	enum fb_csv_kind kind;
	char **column; /* [ncolumns] names; NULL: the file is empty */
	size_t ncolumns;
	struct fb_sheet_row *row; /* [nrows] */
	size_t nrows;
};

/* The files of folders, or single files, in the order given; within a folder by name. */
struct fb_sheets {
	struct fb_sheet *sheet; /* [count] */
	size_t count;
};

/*
 * Reads a file of the suite, and of any other file only the header. A last line without its newline
 * is left out with a remark: its writer is at work or died. A result file must have all fixed
 * columns, in any order, and each row must be of this schema version. Returns 0 or FB_EINPUT
 * (printed, with the line).
 */
int fb_sheet_read(struct fb_sheet *sheet, const char *path);

/*
 * The first reads a file of these kinds (bits 1 << kind), and of other kinds only the header. The
 * second reads a file of any kind; an empty one is FB_EINPUT. Neither checks result files against
 * the schema, or prints that a last line was left out. They return the same as fb_sheet_read.
 */
int fb_sheet_read_kinds(struct fb_sheet *sheet, const char *path, unsigned kinds);
int fb_sheet_read_any(struct fb_sheet *sheet, const char *path);

/* Index of a column of that name, or -1. */
int fb_sheet_column(const struct fb_sheet *sheet, const char *name);

/*
 * Indices of columns: index[i] of names[i], a list ended by NULL. Returns 0 or FB_EINPUT, after
 * saying which one is missing and what the file should have.
 */
int fb_sheet_columns(const struct fb_sheet *sheet, const char *const *names, int *index);

/* A field; `column` may be -1, which gives "". Borrowed. */
const char *fb_sheet_text(const struct fb_sheet *sheet, size_t row, int column);

/*
 * Refuses a field: prints "PATH:LINE: COLUMN 'TEXT': expected ...". Returns FB_EINPUT. `column`
 * must not be -1.
 */
int fb_sheet_refuse(const struct fb_sheet *sheet, size_t row, int column, const char *expected);

/* The field as a number, NAN where it is none. */
double fb_sheet_number(const struct fb_sheet *sheet, size_t row, int column);

/* Parses a launch_index, which has to be FB_LAUNCH_INDEX. Returns whether it is one. */
#define FB_LAUNCH_INDEX "a whole number of at most 18 digits"
bool fb_launch_index(const char *text, uint64_t *index);

/* The last part of a path where it names a side: 'a' of "study/a/"; 0 where it does not. */
char fb_side_of(const char *path);

/*
 * Reads paths[0 .. n): every *.csv of a folder (those of other kinds are left out), or a file,
 * which must be one of ours. For a file the environment.csv and launches.csv beside it are read
 * too, unless given themselves; for the folder of a side, which is called a or b, the launches.csv
 * of the folder above. Returns as fb_sheet_read; FB_EINPUT also where a path has no result rows.
 */
int fb_sheets_read(struct fb_sheets *sheets, char *const *paths, size_t n);

#endif
