/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The result file's columns, as one const table: schema version 3.
 *
 * The writer, the reader behind --resume, the checker and docs/csv.md all walk this table, so a
 * column exists in one place. Key columns say what was run, value columns what was seen, and
 * identity columns which launch saw it; tools join files on the keys without knowing programs.
 */
#ifndef FB_COMMON_RECORD_SCHEMA_H
#define FB_COMMON_RECORD_SCHEMA_H

#include "common/record/case.h"

#include <stddef.h>
#include <stdint.h>

/* A spreadsheet takes a field that begins so for a formula. No run's name begins with these. */
#define FB_CSV_SIGNS "=+-@"

/*
 * New versions only append columns, so files of all versions from the oldest on can be read.
 * Version 2 appended `cpu_s`, version 3 `traffic` and `counters`.
 */
enum { FB_SCHEMA_OLDEST = 1, FB_SCHEMA_VERSION = 3, FB_FIELD_CHARS = 4096 };

enum fb_status {
	FB_STATUS_OK,
	FB_STATUS_WRONG,   /* data differed from the expected; the times are kept */
	FB_STATUS_SKIPPED, /* not run; `reason` says why */
	FB_STATUS_FEW,	   /* right data, but too few samples for the confidence asked for */
	FB_STATUS_FAULT,   /* a rank died, a timeout, a device error; not finished */
	FB_STATUSES,
};

/* "ok", "wrong", "skipped", "few", "fault". */
const char *fb_status_name(enum fb_status status);
int fb_status_parse(const char *name); /* the status, or -1 */

/* Why sampling ended: the `stop` column holds one of these names, or nothing where none. */
enum fb_stop { FB_STOP_NONE, FB_STOP_CI, FB_STOP_NMAX, FB_STOP_TIME, FB_STOPS };
const char *fb_stop_name(enum fb_stop stop); /* "", "ci", "nmax", "time" */
int fb_stop_parse(const char *name);

/* Properties that only a real run can tell. Texts are borrowed; NULL is an empty field. */
struct fb_row {
	const char *run;       /* the same for all launches of one study */
	uint64_t launch_index; /* 0, 1, ... within the run: the unit of replication */
	const char *utc;       /* NULL: the writer puts the time of writing */
	const struct fb_case *key;
	uint64_t ranks, nodes;

	enum fb_status status;
	const char *reason; /* needed where the status is not ok */
	uint64_t samples;
	enum fb_stop stop;

	/* Times in microseconds; NAN is an empty field. See the table for each one's meaning. */
	double setup_us, first_us;
	double median_us, median_low_us, median_high_us;
	double min_us, p05_us, p95_us, p99_us, max_us, mad_us;
	double rank_mean_us, rank_min_us, skew_us;
	uint64_t outliers;
	double algbw_GBps, busbw_GBps; /* 1e9 bytes per second; NAN is empty */
	double bound_us, efficiency;
	uint64_t errors;   /* wrong elements, all ranks */
	const char *path;  /* what really ran */
	uint64_t channels; /* 0 where it has no meaning or is not known */
	const char *flags; /* names joined by ';' ("skew;drift") */
	double cpu_s;	   /* processor time of one operation, all ranks; NAN is empty */
	const char *traffic, *counters; /* what counters of all hosts said: "lo=100;eth0=20" */

	const double *extra; /* one value per extra column of the file; NAN is empty */
};

/* Every double NAN, every text NULL, every number 0, and the key as given. */
struct fb_row fb_row_empty(const struct fb_case *key);

enum fb_column_kind { FB_COLUMN_IDENTITY, FB_COLUMN_KEY, FB_COLUMN_VALUE };

enum fb_column_type {
	FB_COLUMN_TEXT,
	FB_COLUMN_U64,
	FB_COLUMN_I64,
	FB_COLUMN_F64,	   /* %.6g */
	FB_COLUMN_TIME_US, /* %.4f */
};

/* The place of a field for the writer; private to schema.c but for FB_FIELD_EXTRA's default. */
enum fb_field {
	FB_FIELD_EXTRA, /* in fb_row.extra: what a program's own column table says by default */
	FB_FIELD_VERSION,
	FB_FIELD_UTC,
	FB_FIELD_STATUS,
	FB_FIELD_STOP,
	FB_FIELD_ROW_TEXT,
	FB_FIELD_ROW_U64,
	FB_FIELD_ROW_F64,
	FB_FIELD_CASE_TEXT, /* from here on in the row's case, not in the row */
	FB_FIELD_CASE_CHARS,
	FB_FIELD_CASE_INT,
	FB_FIELD_CASE_U64,
	FB_FIELD_CASE_BOOL,
	FB_FIELD_CASE_CADENCE,
	FB_FIELD_CASE_DATATYPE,
	FB_FIELD_CASE_REDOP,
};

/*
 * A column. A program's own table of extra metrics fills name, kind (FB_COLUMN_VALUE), type
 * (FB_COLUMN_U64, _I64, _F64 or _TIME_US), unit and help, and leaves the rest 0.
 */
struct fb_column {
	const char *name; /* lower case, with the unit as suffix where there is one */
	enum fb_column_kind kind;
	enum fb_column_type type;
	const char *unit; /* "us", "bytes", "GB/s"; "" for none */
	const char *help; /* one line */
	enum fb_field field;
	size_t offset;
};

extern const struct fb_column fb_columns[]; /* the fixed columns, in file order */
extern const size_t fb_columns_count;

/* How many of them a file of this schema version has; 0: no such version. */
size_t fb_columns_of(int version);

/* Whether a field of the column `schema` names a version that can be read. */
bool fb_schema_known(const char *text);

/* Index of a fixed column, or -1. */
int fb_column_find(const char *name);

const char *fb_column_type_name(enum fb_column_type type); /* "text", "u64", ... "time_us" */
extern const char *const fb_cadence_names[];		   /* "isolated", "streaming", NULL */
const char *fb_cadence_name(enum fb_cadence cadence);
int fb_cadence_parse(const char *name);			   /* the cadence, or -1 */

/*
 * The field's text, unquoted, in buf of n characters (FB_FIELD_CHARS is enough for every
 * number; longer texts are cut). Control characters become blanks, so that a row is a line.
 * `extra` is the index into row->extra for FB_FIELD_EXTRA columns. Returns buf.
 */
const char *fb_column_text(const struct fb_column *column, const struct fb_row *row, size_t extra,
			   char *buf, size_t n);

#endif
