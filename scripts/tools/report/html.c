/* SPDX-License-Identifier: BSD-3-Clause */
/* See html.h. */
#include "scripts/tools/report/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/lib/utf8.h"

static const char *html_escape(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return c < ' ' || c == 0x7f ? " " : NULL;
	}
}

void fb_html_text(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t n = fb_utf8_length(at);
		const char *escaped = n == 1 ? html_escape(*at) : NULL;

		if (n == 0)
			fputs("\xef\xbf\xbd", out);
		else if (escaped)
			fputs(escaped, out);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
}

/* One conversion, which begins at `format`; returns what follows it. */
static const char *put_conversion(FILE *out, const char *format, va_list *args)
{
	size_t length = 1 + strcspn(format + 1, "sdugf");
	char spec[16];

	snprintf(spec, sizeof(spec), "%.*s", (int)length + 1, format);
	switch (format[length]) {
	case 's':
		fb_html_text(out, va_arg(*args, const char *));
		break;
	case 'd':
		fprintf(out, "%d", va_arg(*args, int));
		break;
	case 'u':
		fprintf(out, "%zu", va_arg(*args, size_t));
		break;
	case '%':
		fputc('%', out);
		break;
	default:
		/* Precision is the only thing that is used: %.3g, %.1f. */
		fprintf(out, format[length] == 'f' ? "%.*f" : "%.*g",
			spec[1] == '.' ? atoi(spec + 2) : 6, va_arg(*args, double));
	}
	return format[length] ? format + length + 1 : format + length;
}

void fb_html(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format) {
		size_t plain = strcspn(format, "%");

		fwrite(format, 1, plain, out);
		format += plain;
		if (*format == '%' && format[1] == '%') {
			fputc('%', out);
			format += 2;
		} else if (*format) {
			format = put_conversion(out, format, &args);
		}
	}
	va_end(args);
}

void fb_page_json_text(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', out);
	while (*at) {
		size_t n = fb_utf8_length(at);

		/* < and > as escapes: no text can end the script element it stands in. */
		if (n == 0)
			fputs("\\ufffd", out);
		else if (n == 1 && (*at < ' ' || *at == 0x7f || strchr("\"\\<>&", *at)))
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
	fputc('"', out);
}

void fb_page_json_number(FILE *out, double x)
{
	if (!isfinite(x))
		fputs("null", out);
	else
		fprintf(out, x == floor(x) && fabs(x) < 1e15 ? "%.0f" : "%.6g", x);
}
