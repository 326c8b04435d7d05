/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "common/base/error.h"
#include "scripts/tools/import/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

json_t *fb_json_parse(const struct fb_text *text)
{
	json_error_t error;
	json_t *document = json_loadb(text->bytes, text->length, JSON_REJECT_DUPLICATES, &error);

	if (!document) {
		fb_error_print("%s:%d: not JSON: %.200s", text->path, error.line, error.text);
		return NULL;
	}
	if (json_is_object(document))
		return document;
	fb_error_print("%s:1: expected an object in braces", text->path);
	json_decref(document);
	return NULL;
}

double fb_json_value(const json_t *value)
{
	double number;

	if (json_is_number(value)) {
		number = json_number_value(value);
		return number >= 0 && isfinite(number) ? number : (double)NAN;
	}
	if (json_is_string(value)) {
		const char *text = json_string_value(value);

		if (fb_word_number(text + strspn(text, " "), &number))
			return number;
	}
	return (double)NAN;
}

double fb_json_number(const json_t *object, const char *name)
{
	return fb_json_value(json_object_get(object, name));
}
