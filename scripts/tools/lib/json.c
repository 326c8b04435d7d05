/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* The whole file with room for two more bytes, malloced; NULL (printed). */
static char *read_all(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	char *text = NULL, *larger;
	size_t n = 0, room = 1 << 16;

	if (!file) {
		fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
		return NULL;
	}
	do {
		room *= 2;
		larger = realloc(text, room + 2);
		if (!larger) {
			fb_error(FB_ENOMEM, "%s: out of memory", path);
			goto fail;
		}
		text = larger;
		n += fread(text + n, 1, room - n, file);
	} while (n == room);
	if (ferror(file)) {
		fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
		goto fail;
	}
	fclose(file);
	*length = n;
	return text;
fail:
	fclose(file);
	free(text);
	return NULL;
}

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
	char *text = read_all(path, &length);

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
	free(text);
	return document;
}

const char *fb_json_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}
