/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files of others, and writing JSON, with jansson. */
#ifndef FB_SCRIPTS_TOOLS_LIB_JSON_H
#define FB_SCRIPTS_TOOLS_LIB_JSON_H

#include <jansson.h>
#include <stdio.h>

/*
 * Reads a file. An array may lack its closing bracket, because the format of Chrome traces allows
 * that for programs that append events. Returns the document, or NULL (printed with the line). The
 * caller frees it with json_decref.
 */
json_t *fb_json_load(const char *path);

/* The text of that name, or "". Borrowed. */
const char *fb_json_text(const json_t *object, const char *name);

/*
 * Values of a document that is being made. A text may be of any bytes: what is no UTF-8 becomes
 * U+FFFD, and control characters become blanks. A number that is not finite becomes null.
 */
json_t *fb_json_string(const char *text);
json_t *fb_json_real(double x);

/* Sets a member, or appends an element. The document takes ownership of the value. */
void fb_json_set(json_t *object, const char *name, json_t *value);
void fb_json_add(json_t *array, json_t *value);

/* Makes an array or object, and appends it to `parent` (`name` NULL) or sets it as a member. */
json_t *fb_json_array(json_t *parent, const char *name);
json_t *fb_json_object(json_t *parent, const char *name);

/*
 * Writes the document without any '<', so that it can be put into a script element. Returns 0 or
 * FB_ENOMEM (printed), also if memory had run out while the document was built.
 */
int fb_json_write(const json_t *document, FILE *out);

#endif
