/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that are nearly a given one, for "did you mean". Pure. */
#ifndef FB_COMMON_BASE_NEAR_H
#define FB_COMMON_BASE_NEAR_H

#include <stddef.h>

enum { FB_NEAR_CHARS = 64 }; /* longer known names are compared by this many characters */

/*
 * Insertions, deletions and exchanges of single characters that make the first `length`
 * characters of `a` the name `b` (Levenshtein, 1966). Upper and lower case are the same.
 */
size_t fb_near_distance(const char *a, size_t length, const char *b);

/*
 * The one of names[0 .. count) that was most likely meant by the first `length` characters of
 * `name`: the name itself, one that it abbreviates, or one at a small distance. NULL: none.
 */
const char *fb_near_name(const char *name, size_t length, const char *const names[], size_t count);

#endif
