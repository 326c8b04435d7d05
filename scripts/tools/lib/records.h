/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV files record by record, with libcsv: for tools that keep little of what they read.
 *
 * A study of a hundred thousand rows and twenty launches has two million records; whoever wants
 * two numbers of each should not have to hold them all (see results.h for those who do).
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_RECORDS_H
#define FB_SCRIPTS_TOOLS_LIB_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum { FB_RECORD_FIELDS = 256 };

/* Valid during the call that it is given to. */
struct fb_record {
	const char *path;
	uint64_t number; /* from 1, which is the header */
	char *field[FB_RECORD_FIELDS];
	size_t count;
};

/* Uses a record: 0 to go on, FB_RECORDS_STOP to read no further, or an error (printed). */
enum { FB_RECORDS_STOP = 1 };
typedef int (*fb_record_fn)(void *arg, const struct fb_record *record);

/*
 * Gives every record of a file to `use`, the header first. All have as many fields as the header
 * has. A last line without its end is ignored: its writer is at work or died. Returns 0,
 * FB_EINPUT (unreadable, malformed; printed with path and record), FB_ENOMEM (printed), or the
 * error of `use`. An empty file is no error here: then `use` is never called.
 */
int fb_records_read(const char *path, fb_record_fn use, void *arg);

/* The field of that name in a header, or -1. */
int fb_record_find(const struct fb_record *header, const char *name);

#endif
