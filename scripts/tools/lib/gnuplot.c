/* SPDX-License-Identifier: BSD-3-Clause */
/* See gnuplot.h. */
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A line end would end a datablock or string, so control bytes become blanks. */
static char printable(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f ? ' ' : c;
}

void fb_gnuplot_quote(FILE *out, const char *text)
{
	/* gnuplot reads a doubled quote at the beginning as an empty string. */
	for (; *text == '\''; text++)
		fputs("\"'\".", out);
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(printable(*text), out);
	}
	fputc('\'', out);
}

void fb_gnuplot_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s = ", name);
	fb_gnuplot_quote(out, text);
	fputc('\n', out);
}

void fb_gnuplot_field(FILE *out, const char *text)
{
	fputs(" \"", out);
	for (; *text; text++) {
		fputc(*text == '"' || *text == '\\' ? '\'' : printable(*text), out);
		/* gnuplot would replace a name behind '@', which it takes for a macro. */
		if (*text == '@')
			fputc(' ', out);
	}
	fputc('"', out);
}

void fb_gnuplot_number(FILE *out, double x)
{
	if (isfinite(x))
		fprintf(out, " %.6g", x);
	else
		fputs(" NaN", out);
}

static bool seen_before(const struct fb_results *results, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(results->fact[j].key, results->fact[i].key) &&
		    !strcmp(results->fact[j].value, results->fact[i].value))
			return true;
	return false;
}

/* The names of the first three hosts. */
static void append_hosts(char *buf, const struct fb_results *results)
{
	size_t found = 0;

	for (size_t i = 0; i < results->nfacts && found < 3; i++)
		if (!strcmp(results->fact[i].key, "hostname") && !seen_before(results, i))
			fb_append(buf, FB_MACHINE_CHARS, "%s%.64s", found++ ? ", " : "host ",
				  results->fact[i].value);
}

const char *fb_results_machine(const struct fb_results *results, char buf[FB_MACHINE_CHARS])
{
	static const struct {
		const char *key, *before, *after;
	} facts[] = {{"cpu.model", "", ""}, {"cpu.count", "", " cpus"}, {"gpu.model", "", ""},
		     {"mpi.library", "", ""}, {"library.libnccl.version", "NCCL ", ""}};

	buf[0] = '\0';
	append_hosts(buf, results);
	for (size_t i = 0; i < FB_COUNT_OF(facts); i++) {
		const char *value = fb_results_fact(results, facts[i].key);

		/* The packager's remarks follow a comma in the text of an MPI library. */
		if (value && *value)
			fb_append(buf, FB_MACHINE_CHARS, "%s%s%.*s%s", *buf ? ", " : "",
				  facts[i].before, (int)strcspn(value, ","), value, facts[i].after);
	}
	return buf;
}
