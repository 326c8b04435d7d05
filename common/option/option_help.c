/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes --help out of option tables; see option.h. Plain text of at most 100 columns. */
#include "common/option/option.h"

#include <string.h>

enum {
	WIDTH = 100,
	HELP_COLUMN = 32, /* where the explanations begin */
	PHRASE_CHARS = 2048,
};

/*
 * Writes text word by word between `indent` and WIDTH, beginning at column `at`. A word that is
 * longer than a line stands alone on one. Newlines in the text are kept.
 */
static void wrap(FILE *out, const char *text, int at, int indent)
{
	while (*text) {
		int word = (int)strcspn(text, " \n");

		if (at > indent && at + 1 + word > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (at < indent) {
			fprintf(out, "%*s", indent - at, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", word, text);
		at += word;
		text += word;
		for (; *text == '\n'; text++) {
			fputc('\n', out);
			at = 0;
		}
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

/* "help (accepted; default X)": the parts that there are. */
static void explain(const struct fb_option *option, char *buf, size_t n)
{
	bool describes =
		option->type != FB_OPT_FLAG && (option->type != FB_OPT_STRING || option->check);
	bool defaults = option->type != FB_OPT_FLAG && option->fallback;
	char accepted[PHRASE_CHARS / 2] = "";

	if (describes)
		fb_option_accepted(option, accepted, sizeof(accepted));
	snprintf(buf, n, "%s%s%s%s%s%s%s", option->help, describes || defaults ? " (" : "",
		 accepted, describes && defaults ? "; " : "", defaults ? "default " : "",
		 defaults ? option->fallback : "", describes || defaults ? ")" : "");
}

static void help_option(const struct fb_option *option, FILE *out)
{
	char text[PHRASE_CHARS];
	int at = option->short_name ? fprintf(out, "  -%c, --%s", option->short_name, option->name)
				    : fprintf(out, "      --%s", option->name);

	if (option->placeholder)
		at += fprintf(out, "=%s", option->placeholder);
	if (at + 2 > HELP_COLUMN) {
		fputc('\n', out);
		at = 0;
	}
	explain(option, text, sizeof(text));
	wrap(out, text, at, HELP_COLUMN);
}

void fb_option_help(const struct fb_option_chain *chain, const struct fb_option_about *about,
		    FILE *out)
{
	char summary[PHRASE_CHARS];

	fprintf(out, "Usage: %s [OPTION]...\n", about->program);
	snprintf(summary, sizeof(summary), "%s: %s.", about->program, about->summary);
	wrap(out, summary, 0, 0);
	if (about->description) {
		fputc('\n', out);
		wrap(out, about->description, 0, 0);
	}
	for (; chain; chain = chain->next)
		for (const struct fb_option *o = chain->table; o->type != FB_OPT_END; o++) {
			if (o->type != FB_OPT_GROUP && !o->unused_by)
				help_option(o, out);
			else if (o->type == FB_OPT_GROUP && fb_option_group_used(o))
				fprintf(out, "\n%s:\n", o->name);
		}
}
