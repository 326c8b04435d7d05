/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The axes of a table beside sizes. Any key can be an axis. Its name is looked up in this order: in
 * the fixed columns, in the keys of `variant` and a study's environment variables (keys `env.NAME`
 * of `variant`), in a program's own columns, and in the variables that environment.csv has for the
 * row's launch or for the run.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_AXIS_H
#define FB_SCRIPTS_TOOLS_LIB_AXIS_H

#include "scripts/tools/lib/results.h"
#include "scripts/tools/lib/text.h"

#include <stdbool.h>

enum { FB_AXES = 4, FB_AXIS_CHARS = 64 };

struct fb_axes {
	char name[FB_AXES][FB_AXIS_CHARS];
	size_t count; /* 0: sizes alone */
};

/* A row's values on the axes. */
struct fb_axis_place {
	char *text[FB_AXES]; /* "" where the row has nothing of that name */
	char *rest;	     /* `variant` without the axes */
};

/*
 * Takes a comma-separated list of names, or NULL for none. At least one row must have each name. A
 * key of `variant` that has a single value at each place on these axes becomes an axis too, because
 * otherwise a sweep would be printed as one table for each of its values. Returns 0 or FB_EINPUT
 * (printed, with the names that exist).
 */
int fb_axes_parse(struct fb_axes *axes, const char *list, const struct fb_results *results);

bool fb_axes_have(const struct fb_axes *axes, const char *name);

/* Finds the row's place. */
void fb_axis_place_make(struct fb_axis_place *place, const struct fb_axes *axes,
			const struct fb_results *results, const struct fb_result *row);

/*
 * Orders two texts for a table: numbers with or without a unit (64K, 33ms, 1.5) come first, by
 * value, then other texts, by letters, then empty texts. 0 if they are equal.
 */
int fb_axis_compare(const char *a, const char *b);

/*
 * A number with a unit of bytes (K, M, G, T), of time (ns, us, ms, s) or of rate (bit, kbit, mbit,
 * gbit, as `tc` has them), with %, or with none.
 */
bool fb_axis_number(const char *text, double *value);

/* The value of a key of a variant, copied to buf; false where it is not there. Not decoded. */
bool fb_variant_value(const char *variant, const char *key, char *buf, size_t n);

#endif
