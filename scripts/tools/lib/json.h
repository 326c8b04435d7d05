/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files of others with jansson. */
#ifndef FB_SCRIPTS_TOOLS_LIB_JSON_H
#define FB_SCRIPTS_TOOLS_LIB_JSON_H

#include <jansson.h>

/*
 * Reads a file. An array may lack its end, as Chrome traces may that programs append to. Returns
 * the document, or NULL (printed with the line). The caller frees it with json_decref.
 */
json_t *fb_json_load(const char *path);

/* The text of that name, or "". Borrowed. */
const char *fb_json_text(const json_t *object, const char *name);

#endif
