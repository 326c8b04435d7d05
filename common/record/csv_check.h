/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges result files: does a file say what schema.h promises?
 *
 * Used by the csvcheck tool and by tests, so that every program's output is held to one
 * contract: types, order of quantiles, enough samples for each percentile, status and reason
 * that fit each other, no case twice in a launch.
 */
#ifndef FB_COMMON_RECORD_CSV_CHECK_H
#define FB_COMMON_RECORD_CSV_CHECK_H

#include "common/record/csv_read.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fb_csv_check {
	FILE *out;     /* problems go here, "file:line: column: message"; NULL: nowhere */
	uint64_t rows; /* records after the header */
	uint64_t problems;
	uint64_t warnings; /* what is no rule's breach, but makes rows doubtful */
	bool found;	   /* the file was not named: one of another kind is left out */
};

/*
 * Checks one file: a program's result file, samples.csv, ranks.csv, environment.csv or
 * launches.csv, told apart by the header. Adds to check->rows and ->problems. Returns 0 when the
 * file was read to its end or to a place that is not CSV (a problem), FB_EINPUT where it cannot be
 * opened or has none of the known headers (printed; FB_EUNSUPPORTED and nothing printed where it is
 * left out), FB_ENOMEM, FB_EIO. Of a result file the environment.csv beside it, where there is one,
 * is asked which launches ended (closing.h), and the samples.csv whether it has all samples
 * (csv_samples.h).
 */
int fb_csv_check_file(struct fb_csv_check *check, const char *path);

/* Reports one problem, or warning, of the current record. For the checker's own files. */
void fb_csv_problem(struct fb_csv_check *check, const struct fb_csv_reader *reader,
		    const char *column, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void fb_csv_warning(struct fb_csv_check *check, const struct fb_csv_reader *reader,
		    const char *column, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * The rules for a whole row, once every field has been found to be of its type. value[i] is the
 * number in the i-th fixed column, NAN where it is empty or a text.
 */
void fb_csv_check_row(struct fb_csv_check *check, const struct fb_csv_reader *reader,
		      const double *value);

#endif
