/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JUnit XML, the form in which CI systems show tests; see report_verdict.h.
 *
 * REGRESSED is a failure, wrong data and faults are errors, and what could not be judged is
 * skipped with its reason; with --strict UNSURE, and what NEW lacks or runs another way, are
 * failures as well. A row that is judged and has wrong data in one launch is an error.
 */
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <math.h>

enum result { PASSED, FAILED, BROKEN, SKIPPED, RESULTS };

static void put(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t n = fb_utf8_length(at);

		if (*at == '&')
			fputs("&amp;", out);
		else if (*at == '<')
			fputs("&lt;", out);
		else if (*at == '>')
			fputs("&gt;", out);
		else if (*at == '"')
			fputs("&quot;", out);
		else if (*at < ' ' || *at == 0x7f || n == 0)
			fputc('?', out);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
}

/* A test case. */
struct test_case {
	const struct fb_verdicts_report *report;
	const struct fb_judged *row; /* NULL: the key is not judged */
	uint32_t key;
};

static bool path_changed(const struct fb_comparison *c, uint32_t key)
{
	return fb_path_differs(fb_set_path(&c->set[0], key), fb_set_path(&c->set[1], key));
}

static enum result result_of(const struct test_case *at)
{
	const struct fb_comparison *c = at->report->comparison;
	const struct fb_outcome *new = &c->outcome[1][at->key];
	enum fb_place place = (enum fb_place)c->place[at->key];
	bool strict = at->report->strict;

	if (new->status[FB_STATUS_WRONG] || new->status[FB_STATUS_FAULT])
		return BROKEN;
	if (at->row && at->row->verdict == FB_REGRESSED)
		return FAILED;
	if (at->row && strict && path_changed(c, at->key))
		return FAILED;
	if (at->row && at->row->verdict == FB_UNSURE)
		return strict ? FAILED : SKIPPED;
	if (at->row)
		return PASSED;
	if (strict &&
	    (place == FB_PLACE_LOST || place == FB_PLACE_ONLY_BASE || place == FB_PLACE_LEFT_OUT))
		return FAILED;
	return SKIPPED;
}

static void put_message(const struct test_case *at, FILE *out)
{
	const struct fb_comparison *c = at->report->comparison;
	const struct fb_effect *e = at->row ? &at->row->effect : NULL;
	const char *reason = fb_place_reason(c, at->key);
	struct fb_shown_ratio ratio;

	if (at->row) {
		ratio = fb_shown_ratio(c->metric, e->ratio, e->low, e->high);
		fprintf(out, "%s: %s new/base %.4f", fb_verdict_name(at->row->verdict),
			c->metric->column, ratio.value);
		if (isfinite(ratio.low) && isfinite(ratio.high))
			fprintf(out, " (95%% interval %.4f to %.4f)", ratio.low, ratio.high);
		fprintf(out, ", adjusted p %.4g, changes of %.3g%% matter", at->row->test.p,
			100 * at->row->limit.theta);
		if (at->row->launches_needed && at->row->verdict == FB_UNSURE)
			fprintf(out, ", needs %zu launches a side", at->row->launches_needed);
	} else {
		fputs(fb_place_name((enum fb_place)c->place[at->key]), out);
	}
	if (at->row && path_changed(c, at->key)) {
		fputs("; ran another way: ", out);
		put(out, fb_set_path(&c->set[0], at->key));
		fputs(" -&gt; ", out);
		put(out, fb_set_path(&c->set[1], at->key));
	}
	if (*reason)
		fputs("; ", out);
	put(out, reason);
}

static void put_case(const struct test_case *at, FILE *out)
{
	static const char *const elements[RESULTS] = {NULL, "failure", "error", "skipped"};
	const struct fb_comparison *c = at->report->comparison;
	enum result result = result_of(at);
	char label[FB_ROW_LABEL_CHARS];

	fputs("    <testcase classname=\"", out);
	put(out, fb_key_text(&c->keys.key[at->key], "program"));
	fputs("\" name=\"", out);
	put(out, fb_row_label(&at->report->labels, at->key, label));
	fputs("\"", out);
	if (result == PASSED) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n      <%s message=\"", elements[result]);
	put_message(at, out);
	fputs("\"/>\n    </testcase>\n", out);
}

/* All keys: those that are judged in the order of the table, then the others. */
static struct test_case *make_cases(const struct fb_verdicts_report *report)
{
	const struct fb_comparison *c = report->comparison;
	struct test_case *cases = fb_new(c->keys.count + 1, sizeof(*cases));
	size_t n = 0;

	for (size_t i = 0; i < c->rows; i++)
		cases[n++] = (struct test_case){report, &c->judged[i], c->judged[i].key};
	for (uint32_t k = 0; k < c->keys.count; k++)
		if (c->place[k] != FB_PLACE_JUDGED)
			cases[n++] = (struct test_case){report, NULL, k};
	return cases;
}

void fb_verdicts_junit(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct test_case *cases = make_cases(report);
	size_t count[RESULTS] = {0};
	char counts[160];

	for (size_t i = 0; i < c->keys.count; i++)
		count[result_of(&cases[i])]++;
	snprintf(counts, sizeof(counts),
		 "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"", c->keys.count,
		 count[FAILED], count[BROKEN], count[SKIPPED]);
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n", counts);
	fprintf(out, "  <testsuite name=\"compare %s\" %s>\n    <properties>\n", c->metric->column,
		counts);
	for (int s = 0; s < 2; s++) {
		fprintf(out, "      <property name=\"%s\" value=\"", s ? "new" : "base");
		put(out, c->set[s].path);
		fputs(c->set[s].side ? "/" : "", out);
		put(out, c->set[s].side ? c->set[s].side : "");
		fputs("\"/>\n", out);
	}
	fprintf(out, "      <property name=\"seed\" value=\"%llu\"/>\n",
		(unsigned long long)report->seed);
	for (size_t i = 0; i < report->differences->count; i++) {
		const struct fb_difference *d = &report->differences->item[i];

		fputs("      <property name=\"changed: ", out);
		put(out, d->name);
		fputs("\" value=\"", out);
		put(out, d->base);
		fputs(" -&gt; ", out);
		put(out, d->new);
		fputs("\"/>\n", out);
	}
	fputs("    </properties>\n", out);
	for (size_t i = 0; i < c->keys.count; i++)
		put_case(&cases[i], out);
	fputs("  </testsuite>\n</testsuites>\n", out);
}
