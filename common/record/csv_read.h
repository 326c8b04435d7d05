/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader of RFC 4180 files, the only CSV parser that the benchmark programs use.
 *
 * Resuming a run must work where no CSV library is installed, and needs little: records,
 * quoted fields, and a precise complaint. Memory is one record, whatever the file's size.
 */
#ifndef FB_COMMON_RECORD_CSV_READ_H
#define FB_COMMON_RECORD_CSV_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FB_CSV_RECORD_MAX = 1 << 20, FB_CSV_FIELDS_MAX = 1024 };

struct fb_csv_reader {
	FILE *file;
	char *path;
	uint64_t line;	    /* the line on which the current record starts, from 1 */
	uint64_t next_line; /* the line on which the next one starts */
	char *text;	    /* the record's unquoted fields, each ended by NUL */
	size_t bytes, capacity;
	char **fields; /* fields[0..nfields), valid until the next call */
	size_t nfields;
	bool torn;	   /* the last record ended with the file, not with a newline */
	char problem[128]; /* why fb_csv_reader_next returned FB_EDATA */
};

/* Opens a file. Returns 0, FB_EINPUT (printed: not there or not readable), FB_ENOMEM. */
int fb_csv_reader_open(struct fb_csv_reader *reader, const char *path);

/*
 * Reads the next record. Returns 1 and sets fields and line; 0 at the end; FB_EDATA where the
 * text is not CSV (see `problem`; nothing printed; reading cannot go on), FB_EIO, FB_ENOMEM.
 */
int fb_csv_reader_next(struct fb_csv_reader *reader);

/* Closes and frees. Safe on a zeroed structure. */
void fb_csv_reader_close(struct fb_csv_reader *reader);

#endif
