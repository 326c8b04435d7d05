/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One CSV file as text cells with all of its columns, those of a program's own too, and with the
 * line of each row for complaints. What changes or shows files reads them so; results.h has the
 * rows by the columns of the schema, for what computes from them.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_SHEET_H
#define FB_SCRIPTS_TOOLS_LIB_SHEET_H

#include "common/record/csv_kind.h"

struct fb_sheet_row {
	char **cell;   /* [ncolumns] of the sheet; one allocation, owned by the sheet */
	uint64_t line; /* of the file, from 1 */
};

struct fb_sheet {
	char *path;
	enum fb_csv_kind kind;
	bool any;	 /* read whatever its kind */
	char **column; /* [ncolumns] names */
	size_t ncolumns;
	struct fb_sheet_row *row; /* [nrows] */
	size_t nrows, capacity;
};

/* The files of folders, or single files, in the order given; within a folder by name. */
struct fb_sheets {
	struct fb_sheet *sheet; /* [count] */
	size_t *source;		/* [count] index of the path that the sheet belongs to */
	size_t count;
};

/*
 * Reads a file of the suite; of other kinds only the header. A last line without its newline is
 * left out with a remark: its writer is at work or died. In a result file all fixed columns must be
 * there, in any order, and each row must be of this schema version. Returns 0, FB_EINPUT (printed,
 * with the line), FB_ENOMEM, FB_EIO. After an error the sheet may be freed.
 */
int fb_sheet_read(struct fb_sheet *sheet, const char *path);

/* Reads a CSV file of any kind. A torn last line is passed over. Returns the same. */
int fb_sheet_read_any(struct fb_sheet *sheet, const char *path);

void fb_sheet_free(struct fb_sheet *sheet);

/* Index of a column of that name, or -1. */
int fb_sheet_column(const struct fb_sheet *sheet, const char *name);

/*
 * Indices of columns: index[i] of names[i], a list ended by NULL. Returns 0 or FB_EINPUT, after
 * saying which one is missing and what the file should have.
 */
int fb_sheet_columns(const struct fb_sheet *sheet, const char *const *names, int *index);

/* A field; `column` may be -1, which gives "". Borrowed. */
const char *fb_sheet_text(const struct fb_sheet *sheet, size_t row, int column);

/* The field as a number, NAN where it is none. */
double fb_sheet_number(const struct fb_sheet *sheet, size_t row, int column);

/* The last part of a path where it names a side: 'a' of "study/a/"; 0 where it does not. */
char fb_side_of(const char *path);

/*
 * Reads paths[0 .. n): every *.csv of a folder (those of other kinds are left out), or a file,
 * which must be one of ours. For a file the environment.csv and launches.csv beside it are read
 * too, unless given themselves; for the folder of a side, which is called a or b, the launches.csv
 * of the folder above. Returns as fb_sheet_read; FB_EINPUT also where a path has no result rows.
 */
int fb_sheets_read(struct fb_sheets *sheets, char *const *paths, size_t n);
void fb_sheets_free(struct fb_sheets *sheets);

#endif
