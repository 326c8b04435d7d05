/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of result files (sheet.h) by the columns of schema.h, and the facts of environment.csv, for
 * tools that compute with them.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_RESULTS_H
#define FB_SCRIPTS_TOOLS_LIB_RESULTS_H

#include "common/record/closing.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/env.h"

#include <stddef.h>
#include <stdint.h>

struct fb_result {
	char **field; /* [nfields]; "" where the file has no such column; never NULL */
	/* The fixed columns, then as many of fb_results.own as were known when it was read. */
	size_t nfields;
};

struct fb_results {
	struct fb_result *row; /* [count], in the order of the files */
	size_t count;
	const char **own; /* [nown]: names of the programs' own columns, of all files */
	size_t nown;
	struct fb_env_fact *fact; /* [nfacts]: what environment.csv says of scope `run` */
	size_t nfacts;
	/* [nrank_facts]: facts of single ranks, "program.all_pairs.0.rank.gpu" */
	struct fb_env_fact *rank_fact;
	size_t nrank_facts;
	size_t incomplete; /* launches without their closing fact; the first of them in `lacking` */
	char lacking[FB_CLOSING_CHARS];
};

/*
 * Adds the rows of a file, or of all result files of a folder, and the facts of the
 * environment.csv there (samples and other files are skipped). A last line without its newline is
 * ignored: its writer is at work or died. Returns 0 or FB_EINPUT (not there, no result file, a
 * malformed line, a key column missing, an unknown status; printed). What was read so far stays.
 */
int fb_results_read(struct fb_results *results, const char *path);

/*
 * Adds the facts of the environment.csv that lies beside a file, where there is one. Errors as
 * above.
 */
int fb_results_read_facts(struct fb_results *results, const char *path);

/* The value of a fact, or NULL. Borrowed. */
const char *fb_results_fact(const struct fb_results *results, const char *key);

/*
 * A fact of a rank, such as "gpu" or "tcp", or NULL where it is not known. `host` is the rank's
 * host, NULL where it is not known. Borrowed.
 */
const char *fb_results_rank_fact(const struct fb_results *results, const char *what, size_t rank,
				 const char *host);

/* A field as a number: NAN where it is empty or no number. `column` is a name of the schema. */
double fb_result_number(const struct fb_result *result, const char *column);

/* A field as text. `column` is a name of the schema. Borrowed. */
const char *fb_result_text(const struct fb_result *result, const char *column);

/*
 * The number of a column: the index in fb_columns of a fixed one, fb_columns_count + i for the i-th
 * of fb_results.own; -1 if no column has that name.
 */
int fb_results_column(const struct fb_results *results, const char *name);

/* The row's field of the column of that number, "" where its file has no such column. Borrowed. */
const char *fb_result_field(const struct fb_result *result, size_t column);

#endif
