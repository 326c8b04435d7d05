/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/json.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

/* Ends an array that has no end; returns the length. */
static size_t end_array(char *text, size_t n)
{
	size_t begin = 0, last = n;

	while (begin < n && strchr(" \t\r\n", text[begin]))
		begin++;
	while (last > begin && strchr(" \t\r\n,", text[last - 1]))
		last--;
	if (begin == n || text[begin] != '[' || text[last - 1] == ']')
		return n;
	text[last] = ']';
	return last + 1;
}

json_t *fb_json_load(const char *path)
{
	json_t *document = NULL;
	json_error_t error;
	size_t length = 0;
	char *text = fb_file_text(path, &length);

	if (!text)
		return NULL;
	if (length > 1 && !memcmp(text, "\x1f\x8b", 2)) {
		fb_error(FB_EINPUT, "%s: compressed: expected what gunzip makes of it", path);
	} else {
		document = json_loadb(text, end_array(text, length), 0, &error);
		if (!document)
			fb_error(FB_EINPUT, "%s:%d: not JSON: %.200s", path, error.line,
				 error.text);
	}
	return document;
}

const char *fb_json_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* A part of a document could not be allocated, so the document is never written. */
static bool failed;

json_t *fb_json_string(const char *text)
{
	static const char unknown[] = "\xef\xbf\xbd";
	char *clean = fb_new(strlen(text) * (sizeof(unknown) - 1) + 1, 1), *to = clean;
	json_t *made;

	for (size_t n; *text; text += n ? n : 1) {
		n = fb_utf8_length((const unsigned char *)text);
		if (n == 0)
			to = stpcpy(to, unknown);
		else if (n == 1 && ((unsigned char)*text < ' ' || *text == 0x7f))
			*to++ = ' ';
		else
			to = mempcpy(to, text, n);
	}
	made = json_stringn(clean, (size_t)(to - clean));
	fb_drop(clean);
	return made;
}

json_t *fb_json_real(double x)
{
	if (!isfinite(x))
		return json_null();
	return x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
}

void fb_json_set(json_t *object, const char *name, json_t *value)
{
	failed |= json_object_set_new(object, name, value) != 0;
}

void fb_json_add(json_t *array, json_t *value)
{
	failed |= json_array_append_new(array, value) != 0;
}

static json_t *put(json_t *parent, const char *name, json_t *value)
{
	if (name)
		fb_json_set(parent, name, value);
	else
		fb_json_add(parent, value);
	return value;
}

json_t *fb_json_array(json_t *parent, const char *name)
{
	return put(parent, name, json_array());
}

json_t *fb_json_object(json_t *parent, const char *name)
{
	return put(parent, name, json_object());
}

/* Strings are the only place where a '<' can be. */
static int write_some(const char *text, size_t n, void *arg)
{
	FILE *out = arg;

	for (size_t i = 0; i < n; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	return 0;
}

int fb_json_write(const json_t *document, FILE *out)
{
	if (failed || json_dump_callback(document, write_some, out,
					 JSON_COMPACT | JSON_REAL_PRECISION(6)))
		return fb_error(FB_ENOMEM, "out of memory for JSON");
	return FB_OK;
}
