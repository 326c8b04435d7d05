/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One CSV file of the project's as text cells with all of its columns, those of a program's own
 * too, and with the line of each row for complaints. What changes or shows files reads them so;
 * what computes from them uses results.h.
 *
 * It reads with the project's own reader, as csvcheck does: a job merges its parts at its end,
 * on machines without a CSV library.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_SHEET_H
#define FB_SCRIPTS_TOOLS_LIB_SHEET_H

#include <stddef.h>
#include <stdint.h>

enum fb_sheet_kind {
	FB_SHEET_OTHER, /* not one of the project's files; no rows were read */
	FB_SHEET_RESULTS,
	FB_SHEET_SAMPLES,
	FB_SHEET_RANKS, /* ranks.csv */
	FB_SHEET_FACTS,
	FB_SHEET_LAUNCHES, /* launches.csv of a sweep, or one that has launch_index and flags */
};

struct fb_sheet_row {
	char **cell;   /* [ncolumns] of the sheet; one allocation, owned by the sheet */
	uint64_t line; /* of the file, from 1 */
};

struct fb_sheet {
	char *path;
	enum fb_sheet_kind kind;
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
 * Reads a file. A last line without its newline is left out with a remark: its writer is at work
 * or died. In a result file all fixed columns must be there, in any order, and each row must be
 * of this schema version. Returns 0, FB_EINPUT (printed, with the line), FB_ENOMEM, FB_EIO. After
 * an error the sheet may be freed.
 */
int fb_sheet_read(struct fb_sheet *sheet, const char *path);
void fb_sheet_free(struct fb_sheet *sheet);

/* Index of a column of that name, or -1. */
int fb_sheet_column(const struct fb_sheet *sheet, const char *name);

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
