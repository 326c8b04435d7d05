/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small CSV file as a whole, with fields found by the name of their column: verdicts, spans,
 * histories and samples are no result files, so libcsv's reader with its schema is not for them.
 */
#ifndef FB_SCRIPTS_TOOLS_PLOT_TABLE_H
#define FB_SCRIPTS_TOOLS_PLOT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct fb_table {
	char **name; /* [columns] */
	size_t columns;
	char **field; /* [rows * columns], row by row */
	size_t rows, capacity;
	char *path;
};

/*
 * Reads a file. A torn last line is passed over. Returns 0, FB_EINPUT (not there, no CSV, a row
 * of another length; printed) or FB_ENOMEM (printed). The caller frees it with fb_table_free.
 */
int fb_table_read(struct fb_table *table, const char *path);

/* Index of a column, or -1. */
int fb_table_find(const struct fb_table *table, const char *name);

/*
 * Indices of columns: index[i] of names[i], a list ended by NULL. Returns 0 or FB_EINPUT, after
 * saying which one is missing and what the file should have.
 */
int fb_table_columns(const struct fb_table *table, const char *const *names, int *index);

/* A field; `column` may be -1, which gives "". Borrowed. */
const char *fb_table_text(const struct fb_table *table, size_t row, int column);

/* The field as a number, NAN where it is none. */
double fb_table_number(const struct fb_table *table, size_t row, int column);

/* Safe on a zeroed structure. */
void fb_table_free(struct fb_table *table);

#endif
