/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text into HTML and JSON. Host names, reasons and variables come from outside: every byte of them
 * goes through here, so that none can become an element, leave an attribute or end a script.
 */
#ifndef FB_SCRIPTS_TOOLS_REPORT_HTML_H
#define FB_SCRIPTS_TOOLS_REPORT_HTML_H

#include <stdio.h>

/* As text of an element or of a quoted attribute. What is no UTF-8 becomes U+FFFD. */
void fb_html_text(FILE *out, const char *text);

/*
 * A format whose %s are escaped as by fb_html_text; other conversions are fprintf's d, zu, g and
 * .Nf. Written for short pieces; the format itself is not escaped.
 */
void fb_html(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As a JSON string with its quotes, safe inside of a script element. */
void fb_page_json_text(FILE *out, const char *text);

/* A number (whole ones in full, others to six digits), or null for what is not finite. */
void fb_page_json_number(FILE *out, double x);

#endif
