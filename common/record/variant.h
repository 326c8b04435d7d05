/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key column `variant`: "k=v;k=v" with the keys in rising order.
 *
 * A program puts its own keys there, and --tag adds what only the user knows to differ (the
 * environment of a study's variants above all), so that rows of unlike variants never join.
 */
#ifndef FB_COMMON_RECORD_VARIANT_H
#define FB_COMMON_RECORD_VARIANT_H

#include "common/record/case.h"

/*
 * Whether a text is k=v, or several of them joined by ';', in any order. Keys are letters,
 * digits and _ . -, and differ; values hold no ';' and no control characters.
 */
bool fb_variant_good(const char *text);

/* The same as the check of an option, which must be short enough too: see option.h. */
int fb_variant_check(const char *value, char *accepted, size_t n);

/*
 * Adds the keys of `tags` (fb_variant_good) to a variant, in order. Returns 0, or FB_EINPUT with
 * `variant` untouched where a key is there already or the whole does not fit; `why` (n
 * characters) then says so in one phrase. Prints nothing.
 */
int fb_variant_add(char variant[FB_VARIANT_CHARS], const char *tags, char *why, size_t n);

/*
 * The same for keys of the program's own, "" for none. Where they do not fit the case becomes
 * `overfull`, with the names of the first such keys, and fb_run_add refuses it: without the keys
 * its row would pass for another one's.
 */
void fb_variant_put(struct fb_case *c, const char *keys);

/*
 * Gives a key that is there another value, which fb_variant_good accepts behind "name=". Returns 0,
 * or FB_EINPUT with `variant` untouched where the key is not there or the whole does not fit.
 * Prints nothing.
 */
int fb_variant_set(char variant[FB_VARIANT_CHARS], const char *name, const char *value);

/* Whether a variant ("dst=1;src=0") has a key of that name. */
bool fb_variant_has(const char *variant, const char *name);

#endif
