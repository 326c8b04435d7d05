/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing rows by their keys: "operation=all_reduce,bytes=8,bytes=64,algorithm=ring*". */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_FILTER_H
#define FB_SCRIPTS_TOOLS_COMPARE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

enum { FB_FILTER_ITEMS = 32, FB_FILTER_CHARS = 256 };

struct fb_key_filter {
	struct {
		size_t key; /* number of the key column, 0 .. fb_keys_columns() */
		char pattern[FB_FILTER_CHARS];
	} item[FB_FILTER_ITEMS];
	size_t count; /* 0: every row */
};

/*
 * Parses key=pattern[,key=pattern...]. Patterns are those of file names (* ? [ ]). Returns 0, or
 * FB_EINPUT with a phrase in `why`. NULL text: no filter.
 */
int fb_key_filter_parse(const char *text, struct fb_key_filter *filter, char *why, size_t n);

/*
 * Whether the key columns field[0 .. fb_keys_columns()) are chosen: each key that is named
 * matches one of the patterns given for it.
 */
bool fb_key_filter_match(const struct fb_key_filter *filter, char *const *field);

#endif
