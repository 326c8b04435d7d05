/* SPDX-License-Identifier: BSD-3-Clause */
/* See text.h. */
#include "scripts/tools/lib/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fb_append(char *buf, size_t n, const char *format, ...)
{
	size_t used = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + used, n - used, format, args);
	va_end(args);
}

bool fb_text_among(const char *text, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(texts[i], text))
			return true;
	return false;
}

bool fb_list_has(const char *list, const char *separators, const char *word, size_t n)
{
	for (size_t length; *list; list += length + strspn(list + length, separators)) {
		length = strcspn(list, separators);
		if (length == n && !strncmp(list, word, n))
			return true;
	}
	return false;
}

bool fb_list_next(const char **list, char *item, size_t n)
{
	size_t length = *list ? strcspn(*list, ",") : 0;

	if (!*list)
		return false;
	snprintf(item, n, "%.*s", (int)length, *list);
	*list = (*list)[length] ? *list + length + 1 : NULL;
	return true;
}

bool fb_variant_next(const char **at, struct fb_span_text *name, struct fb_span_text *value)
{
	while (**at) {
		const char *item = *at;
		size_t n = strcspn(item, ";"), key = strcspn(item, "=;");

		*at = item + n + (item[n] == ';');
		if (key == 0 || item[key] != '=')
			continue;
		*name = (struct fb_span_text){item, key};
		*value = (struct fb_span_text){item + key + 1, n - key - 1};
		return true;
	}
	return false;
}

bool fb_has_flag(const char *flags, const char *name)
{
	return fb_list_has(flags, ";", name, strlen(name));
}

void fb_add_flag(char *flags, size_t n, const char *name, size_t length)
{
	if (!fb_list_has(flags, ";", name, length))
		fb_append(flags, n, "%s%.*s", *flags ? ";" : "", (int)length, name);
}

size_t fb_utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		unsigned least;
	} forms[] = {
		{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t n = 0; n < 4; n++) {
		unsigned code;

		if ((text[0] & forms[n].mask) != forms[n].lead)
			continue;
		code = text[0] & (unsigned char)~forms[n].mask;
		for (size_t i = 1; i <= n; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		/* Overlong forms, halves of surrogate pairs and what lies beyond are no text. */
		if (code < forms[n].least || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
			return 0;
		return n + 1;
	}
	return 0;
}
