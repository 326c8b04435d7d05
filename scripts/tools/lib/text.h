/* SPDX-License-Identifier: BSD-3-Clause */
/* Appending to texts, lists of names in one text, and checking for UTF-8. */
#ifndef FB_SCRIPTS_TOOLS_LIB_TEXT_H
#define FB_SCRIPTS_TOOLS_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* How many elements an array has. */
#define FB_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Appends to the text in buf[0 .. n) what printf would print. What has no room is cut off. */
void fb_append(char *buf, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether a text equals one of texts[0 .. n). The macro takes an array. */
bool fb_text_among(const char *text, const char *const *texts, size_t n);
#define FB_AMONG(text, array) fb_text_among(text, array, FB_COUNT_OF(array))

/* Whether word[0 .. n) is an item of the list. Each of the separators may end an item. */
bool fb_list_has(const char *list, const char *separators, const char *word, size_t n);

/*
 * Copies the next item of a comma-separated list to item[0 .. n), cut off if it is too long. *list
 * becomes the rest, or NULL after the last item. Returns false if *list is NULL already.
 */
bool fb_list_next(const char **list, char *item, size_t n);

/*
 * The next k=v of a variant: sets name and value, which are not ended by NUL, and moves *at behind
 * it. False at the end.
 */
struct fb_span_text {
	const char *text;
	size_t length;
};
bool fb_variant_next(const char **at, struct fb_span_text *name, struct fb_span_text *value);

/* Whether a list of flags joined by ';' has the name. */
bool fb_has_flag(const char *flags, const char *name);

/* Appends name[0 .. length) to the flags in flags[0 .. n), unless it is one of them. */
void fb_add_flag(char *flags, size_t n, const char *name, size_t length);

/*
 * The number of bytes of the UTF-8 character at `text`; 0 if it is no UTF-8, which may happen as
 * names and reasons in result files come from outside. NUL is one byte long.
 */
size_t fb_utf8_length(const unsigned char *text);

#endif
