/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of CSV file that the suite writes, told apart by their header, and what each of their
 * fields may hold. csvcheck and all tools judge a field by the same rule.
 */
#ifndef FB_COMMON_RECORD_CSV_KIND_H
#define FB_COMMON_RECORD_CSV_KIND_H

#include "common/record/schema.h"

#include <stdbool.h>

enum fb_csv_kind {
	FB_CSV_OTHER, /* none of these */
	FB_CSV_RESULTS,
	FB_CSV_SAMPLES,	 /* samples.csv */
	FB_CSV_RANKS,	 /* ranks.csv */
	FB_CSV_FACTS,	 /* environment.csv */
	FB_CSV_LAUNCHES, /* launches.csv of a sweep, or one that has launch_index and flags */
};

/* The kind of file that begins with a header of these n names. */
enum fb_csv_kind fb_csv_kind(char *const *names, size_t n);

/*
 * The columns of a kind in the order in which the suite writes them. The last one of
 * FB_CSV_LAUNCHES is there only where merge wrote the file. NULL and 0 for FB_CSV_OTHER.
 */
const struct fb_column *fb_csv_columns(enum fb_csv_kind kind, size_t *count);

/*
 * The column of that name; a name that result files have beyond the fixed ones is a program's own
 * number. NULL: a text that nothing is known about.
 */
const struct fb_column *fb_csv_column(enum fb_csv_kind kind, const char *name);

/*
 * Whether a field is of its column's type: a decimal number of at most 1e30 and nothing else, which
 * counts and times have without a sign. Only texts, times and F64 may be empty.
 */
bool fb_csv_field_good(const struct fb_column *column, const char *text);

/* The number in a field by the same rule; NAN where it is empty or no number. */
double fb_csv_number(const char *text);

#endif
