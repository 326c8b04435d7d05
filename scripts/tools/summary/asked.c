/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares what was requested of NCCL with what it ran; see summary.h. */
#include "common/base/sizes.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/summary/ran.h"
#include "scripts/tools/summary/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one kind: a name and how many, and their sizes. */
struct kind {
	char name[FB_RAN_CHARS];
	size_t count;
	double least_bytes, most_bytes;
};

/* One value that was asked for, or one way in which something else ran (ran not ""). */
struct line {
	char asked[FB_RAN_CHARS], ran[FB_RAN_CHARS];
	size_t count[FB_OUTCOMES];
	/* [kinds]: the reasons of rows that did not run, the operations where something else ran */
	struct kind *kind;
	size_t kinds;
};

struct table {
	struct line *line; /* [count] */
	size_t count;
};

static struct line *line_of(struct table *table, const char *asked, const char *ran)
{
	struct line *larger;

	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->line[i].asked, asked) && !strcmp(table->line[i].ran, ran))
			return &table->line[i];
	larger = FB_ADD(table->line, table->count);
	snprintf(larger->asked, sizeof(larger->asked), "%s", asked);
	snprintf(larger->ran, sizeof(larger->ran), "%s", ran);
	return larger;
}

static void add_kind(struct line *line, const char *name, double bytes)
{
	struct kind *kind = line->kind;

	while (kind < line->kind + line->kinds && strcmp(kind->name, name))
		kind++;
	if (kind == line->kind + line->kinds) {
		kind = FB_ADD(line->kind, line->kinds);
		snprintf(kind->name, sizeof(kind->name), "%s", name);
		kind->least_bytes = kind->most_bytes = bytes;
	}
	kind->count++;
	kind->least_bytes = fmin(kind->least_bytes, bytes);
	kind->most_bytes = fmax(kind->most_bytes, bytes);
}

/* Notes one value that a row was asked for. `ran`: what ran instead, where it did. */
static void note(struct table *table, const struct fb_result *row, enum fb_outcome outcome,
		 const char *asked, const char *ran)
{
	const char *operation = fb_result_text(row, "operation");
	const char *redop = fb_result_text(row, "redop"); /* "-": none */
	bool usual = !*redop || !strcmp(redop, "-") || !strcmp(redop, "sum");
	double bytes = fb_result_number(row, "bytes");
	struct line *line = line_of(table, asked, "");
	char name[FB_RAN_CHARS];

	line->count[outcome]++;
	if (outcome == FB_NOT_RUN)
		add_kind(line, fb_result_text(row, "reason"), bytes);
	if (outcome != FB_RAN_OTHERWISE)
		return;
	line = line_of(table, asked, ran);
	line->count[outcome]++;
	snprintf(name, sizeof(name), "%s%s%s", operation, usual ? "" : " ", usual ? "" : redop);
	add_kind(line, name, bytes);
}

/* Judges the keys of `variant`: the CTAs asked for, and variables of the environment. */
static void judge_variant(struct table *table, const struct fb_result *row,
			  const struct fb_ran *ran, bool measured)
{
	const char *variant = fb_result_text(row, "variant");
	struct fb_span_text name, value;

	while (fb_variant_next(&variant, &name, &value)) {
		char asked[FB_RAN_CHARS], key[64], text[FB_RAN_CHARS];
		const char *instead = "";
		enum fb_outcome outcome = FB_RAN_UNTOLD;
		bool environment = name.length > 4 && !strncmp(name.text, "env.", 4);

		snprintf(key, sizeof(key), "%.*s", (int)name.length - (environment ? 4 : 0),
			 name.text + (environment ? 4 : 0));
		snprintf(text, sizeof(text), "%.*s", (int)value.length, value.text);
		snprintf(asked, sizeof(asked), "%s=%.*s", key, 80, text);
		if (environment)
			outcome = fb_ran_variable(row, key, text, ran, &instead);
		else if (!strcmp(key, "channels") || !strcmp(key, "nccl_cluster") ||
			 !strcmp(key, "nccl_cta_policy") || !strcmp(key, "nccl_max_ctas") ||
			 !strcmp(key, "nccl_min_ctas"))
			outcome = fb_ran_ctas(row, key, text, ran, &instead);
		else
			continue;
		note(table, row, measured ? outcome : FB_NOT_RUN, asked, instead);
	}
}

/*
 * Only windows show in what ran; other kinds of registration cannot be judged. A variable may rule
 * windows out, so a row with NCCL's variables is judged by these alone.
 */
static enum fb_outcome registration(const struct fb_result *row, const char *asked,
				    const struct fb_ran *ran)
{
	if (strstr(fb_result_text(row, "variant"), "env.NCCL_"))
		return FB_RAN_UNTOLD;
	if (!strcmp(asked, "window"))
		return fb_ran_as(*ran->algorithm, !strcmp(ran->algorithm, "symmetric"));
	if (!strcmp(asked, "window-copy"))
		return fb_ran_as(*ran->algorithm, !strcmp(ran->algorithm, "copyengine"));
	return FB_RAN_UNTOLD;
}

/* "NCCL ran ring:ll128 where tree:library was forced: no row of that" */
static bool refused(const char *reason, char ran[FB_RAN_CHARS])
{
	static const char before[] = "NCCL ran ";
	const char *at = strstr(reason, before);

	if (!at || !strstr(reason, " was forced"))
		return false;
	at += strlen(before);
	snprintf(ran, FB_RAN_CHARS, "%.*s", (int)strcspn(at, " "), at);
	return true;
}

/* Whether an algorithm and a protocol are those that ran; kernels of windows have other names. */
static bool is_same(const char *algorithm, const char *protocol, const struct fb_ran *ran)
{
	const char *kernel = strchr(ran->protocol, '_');

	if (!strcmp(algorithm, "symk"))
		return !strcmp(ran->algorithm, "symmetric") && kernel &&
		       !strcasecmp(kernel + 1, protocol);
	return !strcmp(algorithm, ran->algorithm) &&
	       (!strcmp(protocol, "library") || !strcmp(protocol, ran->protocol));
}

static void judge(struct table *table, const struct fb_result *row)
{
	const char *algorithm = fb_result_text(row, "algorithm");
	const char *protocol = fb_result_text(row, "protocol");
	const char *registered = fb_result_text(row, "registration");
	int status = fb_status_parse(fb_result_text(row, "status"));
	bool measured =
		status == FB_STATUS_OK || status == FB_STATUS_FEW || status == FB_STATUS_WRONG;
	struct fb_ran ran = fb_ran_parse(row);
	char asked[FB_RAN_CHARS], other[FB_RAN_CHARS];

	snprintf(asked, sizeof(asked), "--nccl-force %s:%s", algorithm, protocol);
	snprintf(other, sizeof(other), "%s:%s", ran.algorithm, ran.protocol);
	if (!measured && refused(fb_result_text(row, "reason"), other))
		note(table, row, FB_RAN_OTHERWISE, asked, other);
	else if (strcmp(algorithm, "library") && strcmp(algorithm, "grouped"))
		note(table, row,
		     !measured ? FB_NOT_RUN
			       : fb_ran_as(*ran.algorithm, is_same(algorithm, protocol, &ran)),
		     asked, other);
	snprintf(asked, sizeof(asked), "--registration %s", registered);
	if (strcmp(registered, "none"))
		note(table, row, measured ? registration(row, registered, &ran) : FB_NOT_RUN, asked,
		     ran.algorithm);
	judge_variant(table, row, &ran, measured);
}

static int by_name(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int less = strcmp(x->asked, y->asked);

	return less ? less : strcmp(x->ran, y->ran);
}

/* If no row ran, reasons explain why; otherwise they only name cells that NCCL does not have. */
static void print_line(FILE *out, const struct line *l)
{
	const struct kind *most = l->kind;

	for (size_t i = 1; i < l->kinds; i++)
		if (l->kind[i].count > most->count)
			most = &l->kind[i];
	fprintf(out, "%-40s %8zu %9zu %6zu %7zu", l->asked, l->count[FB_RAN_AS_ASKED],
		l->count[FB_RAN_OTHERWISE], l->count[FB_RAN_UNTOLD], l->count[FB_NOT_RUN]);
	if (most && !l->count[FB_RAN_AS_ASKED] && !l->count[FB_RAN_OTHERWISE] &&
	    !l->count[FB_RAN_UNTOLD])
		fprintf(out, "  %s", most->name);
	fputc('\n', out);
}

static void print_finding(FILE *out, size_t number, const struct line *l)
{
	fprintf(out, "FINDING %zu: %s was asked, %s ran, in %zu rows:", number, l->asked, l->ran,
		l->count[FB_RAN_OTHERWISE]);
	for (size_t i = 0; i < l->kinds; i++) {
		const struct kind *k = &l->kind[i];
		char least[FB_SIZE_CHARS], most[FB_SIZE_CHARS];

		fprintf(out, "%s %s of %s", i ? "," : "", k->name,
			fb_size_text((uint64_t)k->least_bytes, least));
		if (k->most_bytes > k->least_bytes)
			fprintf(out, " to %s", fb_size_text((uint64_t)k->most_bytes, most));
	}
	fputc('\n', out);
}

void fb_summary_asked(const struct fb_report *report)
{
	struct table table = {0};
	size_t findings = 0;

	for (size_t i = 0; i < report->results->count; i++)
		if (!strcmp(fb_result_text(&report->results->row[i], "engine"), "nccl"))
			judge(&table, &report->results->row[i]);
	if (table.count)
		qsort(table.line, table.count, sizeof(*table.line), by_name);
	fprintf(report->out, "%-40s %8s %9s %6s %7s\n", "asked of NCCL", "ran", "otherwise",
		"untold", "not run");
	for (size_t i = 0; i < table.count; i++)
		if (!*table.line[i].ran)
			print_line(report->out, &table.line[i]);
	fputc('\n', report->out);
	for (size_t i = 0; i < table.count; i++)
		if (*table.line[i].ran)
			print_finding(report->out, ++findings, &table.line[i]);
	if (!findings)
		fprintf(report->out, "all that ran is what was asked, as far as NCCL tells\n");
}
