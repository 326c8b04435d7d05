/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON with jansson; private to import's readers of JSON. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_JSON_H
#define FB_SCRIPTS_TOOLS_IMPORT_JSON_H

#include "scripts/tools/import/text.h"
#include "scripts/tools/lib/json.h"

#include <jansson.h>

/* The document, an object; NULL where it is none (printed with line and column). */
json_t *fb_json_parse(const struct fb_text *text);

/* The number of that name, also one written as text ("276.55"); NAN where there is none. */
double fb_json_number(const json_t *object, const char *name);

/* A number itself, as fb_json_number takes it. */
double fb_json_value(const json_t *value);

#endif
