/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a manual page (roff with the man macros) out of option tables; see option.h. */
#include "common/option/option.h"

#include <ctype.h>
#include <string.h>

enum { PHRASE_CHARS = 1024 };

/*
 * Writes text so that roff prints it as it is: backslashes and dashes are escaped, and a dot or
 * an apostrophe at the start of a line, which would be a request, is guarded.
 */
static void put(FILE *out, const char *text)
{
	bool starts = true;

	for (; *text; text++) {
		if (starts && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		starts = *text == '\n';
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
}

static void put_upper(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(toupper((unsigned char)*text), out);
}

/* Paragraphs are separated by empty lines, which roff wants as requests. */
static void put_paragraphs(FILE *out, const char *text)
{
	for (;;) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);
		char paragraph[PHRASE_CHARS * 4];

		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)length, text);
		fputs(".PP\n", out);
		put(out, paragraph);
		fputc('\n', out);
		if (!end)
			return;
		text = end + 2;
	}
}

static void put_option(FILE *out, const struct fb_option *option)
{
	char accepted[PHRASE_CHARS];

	fputs(".TP\n", out);
	if (option->short_name)
		fprintf(out, "\\fB\\-%c\\fR, ", option->short_name);
	fputs("\\fB\\-\\-", out);
	put(out, option->name);
	fputs("\\fR", out);
	if (option->placeholder) {
		fputs("=\\fI", out);
		put(out, option->placeholder);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	put(out, option->help);
	fputs(".\n", out);
	if (option->type != FB_OPT_FLAG && (option->type != FB_OPT_STRING || option->check)) {
		fputs("Accepted: ", out);
		put(out, fb_option_accepted(option, accepted, sizeof(accepted)));
		fputs(".\n", out);
	}
	if (option->type != FB_OPT_FLAG && option->fallback) {
		fputs("Default: ", out);
		put(out, option->fallback);
		fputs(".\n", out);
	}
}

void fb_option_man(const struct fb_option_chain *chain, const struct fb_option_about *about,
		   FILE *out)
{
	fputs(".TH ", out);
	put_upper(out, about->program);
	fprintf(out, " 1 \"\" \"fabricbench %s\" \"fabricbench\"\n", about->version);
	fputs(".SH NAME\n", out);
	put(out, about->program);
	fputs(" \\- ", out);
	put(out, about->summary);
	fputs("\n.SH SYNOPSIS\n.B ", out);
	put(out, about->program);
	fputs("\n[\\fIOPTION\\fR]...\n", out);
	if (about->description) {
		fputs(".SH DESCRIPTION\n", out);
		put_paragraphs(out, about->description);
	}
	fputs(".SH OPTIONS\n", out);
	for (; chain; chain = chain->next)
		for (const struct fb_option *o = chain->table; o->type != FB_OPT_END; o++) {
			if (o->type == FB_OPT_GROUP && fb_option_group_used(o)) {
				fputs(".SS ", out);
				put(out, o->name);
				fputc('\n', out);
			} else if (o->type != FB_OPT_GROUP && !o->unused_by) {
				put_option(out, o);
			}
		}
}
