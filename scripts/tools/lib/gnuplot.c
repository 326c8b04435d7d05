/* SPDX-License-Identifier: BSD-3-Clause */
/* See gnuplot.h. */
#include "scripts/tools/lib/gnuplot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A datablock and a string end at a line end, and a control byte is never meant. */
static char printable(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f ? ' ' : c;
}

void fb_gnuplot_quote(FILE *out, const char *text)
{
	/* A doubled quote at the begin would be read as an empty string. */
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
		/* A name behind it would be replaced, as that of a macro. */
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

/* Appends up to `most` characters of text. */
static void append(char *buf, size_t n, const char *before, const char *text, size_t most)
{
	size_t used = strlen(buf);

	snprintf(buf + used, n - used, "%s%.*s", before, (int)most, text);
}

static bool seen_before(const struct fb_results *results, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(results->fact[j].key, results->fact[i].key) &&
		    !strcmp(results->fact[j].value, results->fact[i].value))
			return true;
	return false;
}

/* The different values of a fact, joined. */
static size_t append_all(char *buf, const struct fb_results *results, const char *key)
{
	size_t found = 0;

	for (size_t i = 0; i < results->nfacts; i++) {
		if (strcmp(results->fact[i].key, key) || seen_before(results, i))
			continue;
		append(buf, FB_MACHINE_CHARS,
		       found == 0  ? "host "
		       : found < 3 ? ", "
				   : "",
		       found < 3 ? results->fact[i].value : "", 64);
		found++;
	}
	return found;
}

const char *fb_results_machine(const struct fb_results *results, char buf[FB_MACHINE_CHARS])
{
	static const struct {
		const char *key, *before, *after;
	} facts[] = {{"cpu.model", "", ""}, {"cpu.count", "", " cpus"}, {"gpu.model", "", ""},
		     {"mpi.library", "", ""}, {"library.libnccl.version", "NCCL ", ""}};

	buf[0] = '\0';
	append_all(buf, results, "hostname");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const char *value = fb_results_fact(results, facts[i].key);

		if (!value || !*value)
			continue;
		append(buf, FB_MACHINE_CHARS, *buf ? ", " : "", facts[i].before,
		       strlen(facts[i].before));
		/* Of the library's text only what precedes the packager's remarks. */
		append(buf, FB_MACHINE_CHARS, "", value, strcspn(value, ","));
		append(buf, FB_MACHINE_CHARS, facts[i].after, "", 0);
	}
	return buf;
}
