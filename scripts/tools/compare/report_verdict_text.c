/* SPDX-License-Identifier: BSD-3-Clause */
/* The report for people; see report_verdict.h. The CSV has everything that matters as well. */
#include "common/base/error.h"
#include "scripts/tools/compare/report_verdict.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 25, CELL_CHARS = 32 };

/* Where more rows are UNSURE, only those that changed most are shown. --csv has all of them. */
enum { UNSURE_SHOWN = 40 };

enum { LAUNCHES_GATE = 8, LAUNCHES_ADVISED = 10 };

/* "BASE results/a, 10 launches, from 2026-11-21T19:44 to 2026-11-21T20:31". */
static void print_side(const struct fb_comparison *c, int s, FILE *out)
{
	const struct fb_set *set = &c->set[s];
	const char *first = "", *last = "", *side = set->side ? set->side : "";
	size_t n = strlen(set->path);

	for (size_t i = 0; i < set->nlaunches; i++) {
		const char *utc = set->launch[i].utc;

		if (*utc && (!*first || strcmp(utc, first) < 0))
			first = utc;
		if (*utc && strcmp(utc, last) > 0)
			last = utc;
	}
	fprintf(out, "%-5s%s%s%s%s, %zu launches%s%.16s%s%.16s\n", set->name, n > 38 ? "..." : "",
		n > 38 ? set->path + n - 35 : set->path, *side ? "/" : "", side,
		s ? c->size.b : c->size.a, *first ? ", from " : "", first, *last ? " to " : "",
		last);
}

/* Names the launches that are left out, wholly or with some of their rows. */
static void print_left_out(const struct fb_comparison *c, FILE *out)
{
	enum { SHOWN = 10 };
	size_t total = 0;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < c->set[s].nlaunches; i++) {
			const struct fb_launch *launch = &c->set[s].launch[i];
			const char *why = launch->out && *launch->mark ? launch->mark
					  : c->block		       ? "lacks rows or its partner"
						     : "lacks rows that the others have";
			char rows[32] = "";

			if (!launch->out && !launch->marked)
				continue;
			if (!launch->out)
				snprintf(rows, sizeof(rows), "%zu rows of ", launch->marked);
			if (total++ < SHOWN)
				fprintf(out, "left out: %slaunch %llu of %s (%s)\n", rows,
					(unsigned long long)launch->index, c->set[s].name,
					launch->out ? why : launch->mark);
		}
	}
	if (total > SHOWN)
		fprintf(out, "left out: %zu launches, or rows of them, in all\n", total);
	for (int s = 0; s < 2; s++)
		if (c->set[s].incomplete)
			fprintf(out,
				"launches of %s without their closing fact, which may lack rows: "
				"%zu\n  (%s)\n",
				c->set[s].name, c->set[s].incomplete, c->set[s].lacking);
}

static void print_head(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct fb_family *family = &c->family;

	print_side(c, 0, out);
	print_side(c, 1, out);
	fprintf(out, "%s, %s is better; changes of %.3g%% matter; alpha %.3g, seed %llu\n",
		c->metric->column, c->metric->rate ? "more" : "less", 100 * report->threshold,
		report->alpha, (unsigned long long)report->seed);
	if (c->rows == 0)
		return;
	fprintf(out, "tested together: %zu rows, by %s%llu assignments of %s", family->complete,
		family->exhaustive ? "all " : "", (unsigned long long)family->assignments,
		c->block ? "signs to blocks" : "launches");
	if (family->incomplete)
		fprintf(out, "\ntested one by one, as they lack a launch: %zu", family->incomplete);
	fputc('\n', out);
	print_left_out(c, out);
}

/* Warns of what makes a conclusion from the numbers doubtful. */
static void print_warnings(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	size_t least = c->size.a < c->size.b ? c->size.a : c->size.b, before[FB_VERDICTS] = {0};

	if (c->block)
		least = c->size.blocks;
	if (c->rows && c->family.complete && c->family.least_p > report->alpha)
		fprintf(out,
			"\n*** launches a side: %zu. The least possible p is %.3g:\n"
			"*** no row can be called changed; make %d launches\n",
			least, c->family.least_p, LAUNCHES_ADVISED);
	else if (c->rows && least < LAUNCHES_GATE)
		fprintf(out,
			"\n*** launches a side: %zu. They find only large changes: make %d ***\n",
			least, LAUNCHES_ADVISED);
	for (int s = 0; s < 2; s++)
		if (fb_verdicts_most_left_out(c, s))
			fprintf(out,
				"\n*** most launches of %s are left out: the others may not be "
				"typical ***\n",
				c->set[s].name);
	if (fb_verdicts_exit(report) == FB_EXIT_NOTHING)
		fputs("\n*** nothing could be judged, which does not mean that nothing changed "
		      "***\n",
		      out);
	for (size_t i = 0; i < c->rows; i++)
		before[c->judged[i].before]++;
	if (c->order.drift)
		fprintf(out,
			"\n*** the machine drifted: %zu of %zu rows move with time in a side;\n"
			"*** every row is UNSURE (else REGRESSED %zu, IMPROVED %zu, SAME %zu)\n",
			c->order.drifting, c->order.rows, before[FB_REGRESSED], before[FB_IMPROVED],
			before[FB_SAME]);
	else if (c->apart && c->sessions.enough)
		fprintf(out,
			"\nThe sides ran one after the other, in %zu and %zu sessions, which vary "
			"%.1f times as\nindependent launches would (variance): only changes "
			"beyond that count (min).\n",
			c->sessions.count[0], c->sessions.count[1], c->sessions.inflation);
	else if (c->apart && c->family.least_p <= report->alpha)
		fprintf(out,
			"\n*** The sides ran one after the other, in %zu and %zu sessions: a "
			"change cannot be told\n*** from the session (it would be REGRESSED %zu, "
			"IMPROVED %zu). Interleave the sides, or\n*** make two sessions or more "
			"of each, or give --noise of this machine.\n",
			c->sessions.count[0], c->sessions.count[1], before[FB_REGRESSED],
			before[FB_IMPROVED]);
}

static void print_row(const struct fb_verdicts_report *report, const struct fb_judged *row,
		      FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct fb_effect *e = &row->effect;
	struct fb_shown_ratio ratio = fb_shown_ratio(c->metric, e->ratio, e->low, e->high);
	char who[FB_ROW_LABEL_CHARS], bytes[FB_SIZE_CHARS], base[FB_NUMBER_CHARS];
	char times[FB_NUMBER_CHARS], interval[FB_INTERVAL_CHARS];
	char p[CELL_CHARS], found[FB_NUMBER_CHARS], min[CELL_CHARS];

	fb_row_who(&report->labels, row->key, who);
	if (strlen(who) > LABEL_WIDTH)
		stpcpy(who + LABEL_WIDTH - 2, "..");
	fb_interval_text(ratio, interval);
	snprintf(p, sizeof(p), row->test.p < 0.99995 ? "%.4f" : "1", row->test.p);
	if (row->limit.theta > FB_LARGEST_NOISE_THETA)
		snprintf(min, sizeof(min), ">50");
	else
		snprintf(min, sizeof(min), "%.0f%%", 100 * row->limit.theta);
	fprintf(out, "%-9s %-*s %6s %9s %8s %14s %3s %6s", fb_verdict_name(row->verdict),
		LABEL_WIDTH, who, fb_row_bytes(&report->labels, row->key, bytes),
		fb_number_text(fb_shown_value(c->metric, row, 0), base),
		fb_ratio_text(ratio.value, times), interval, min, p);
	if (row->verdict == FB_UNSURE)
		fprintf(out, " %6s", fb_percent_text(row->least_change - 1, found));
	if (row->verdict == FB_UNSURE && row->launches_needed > 9999)
		fputs(" >9999", out);
	else if (row->verdict == FB_UNSURE && row->launches_needed)
		fprintf(out, " %5zu", row->launches_needed);
	fputc('\n', out);
}

static double moved(const struct fb_judged *row)
{
	double change = fabs(log(row->effect.ratio));

	return isnan(change) ? 0 : change;
}

static int descending(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a < *b) - (*a > *b);
}

/* How much an UNSURE row must have moved to be shown. */
static double least_moved(const struct fb_verdicts_report *report)
{
	const struct fb_comparison *c = report->comparison;
	double *x;
	size_t n = 0;

	if (report->all || c->verdicts[FB_UNSURE] <= UNSURE_SHOWN)
		return 0;
	x = fb_new(c->rows, sizeof(*x));
	for (size_t i = 0; i < c->rows; i++)
		if (c->judged[i].verdict == FB_UNSURE)
			x[n++] = moved(&c->judged[i]);
	qsort(x, n, sizeof(*x), descending);
	return x[UNSURE_SHOWN - 1];
}

static void print_title(const struct fb_verdicts_report *report, uint32_t key, FILE *out)
{
	const char *suffix = strrchr(report->comparison->metric->column, '_');
	char title[FB_ROW_LABEL_CHARS], unit[CELL_CHARS];

	snprintf(unit, sizeof(unit), "base %.4s", suffix ? suffix + 1 : "");
	fprintf(out, "\n%.*s\n%-9s %-*s %6s %9s %8s %14s %3s %6s %6s %5s\n", FB_REPORT_WIDTH,
		fb_row_title(&report->labels, key, title), "verdict", LABEL_WIDTH, "algorithm",
		"bytes", unit, "new/base", "95% interval", "min", "p", "finds", "needs");
}

/* Whether a row would be called changed if its own limit were not above the threshold. */
static bool is_within(const struct fb_verdicts_report *report, const struct fb_judged *row)
{
	double change = moved(row);

	return row->limit.theta > report->threshold && row->test.p <= report->alpha &&
	       change >= log1p(report->threshold) && change < log1p(row->limit.theta);
}

static void print_rows(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	const struct fb_judged *last = NULL;
	size_t unsure = 0, within = 0;
	double least = least_moved(report);

	for (size_t i = 0; i < c->rows; i++) {
		const struct fb_judged *row = &c->judged[i];

		within += is_within(report, row);
		if (row->verdict == FB_SAME && !report->all)
			continue;
		if (row->verdict == FB_UNSURE && moved(row) < least)
			continue;
		unsure += row->verdict == FB_UNSURE;
		if (!last || !fb_row_same_section(&report->labels, last->key, row->key))
			print_title(report, row->key, out);
		last = row;
		print_row(report, row, out);
	}
	if (unsure < c->verdicts[FB_UNSURE])
		fprintf(out, "\n%zu more rows are UNSURE, and moved less (--all shows them)\n",
			c->verdicts[FB_UNSURE] - unsure);
	if (within)
		fprintf(out,
			"\nmoved by more than %.3g%%, but not by more than their noise, clock or "
			"own threshold\n(columns theta and theta_from of --csv): %zu rows\n",
			100 * report->threshold, within);
	if (last)
		fputs("\nbase, new/base: " FB_ESTIMATOR " of a side, and the quotient of the "
		      "sides' medians\n"
		      "min       the least change that matters in the row; >50: it cannot be "
		      "gated\n"
		      "p         adjusted for all rows\n"
		      "finds     the least change that 4 of 5 such comparisons would find\n"
		      "needs     launches a side to find a change that matters\n",
		      out);
}

static void print_verdicts(const struct fb_verdicts_report *report, FILE *out)
{
	const struct fb_comparison *c = report->comparison;
	size_t missing = c->places[FB_PLACE_ONLY_BASE] + c->places[FB_PLACE_LOST];
	size_t other_ways = fb_verdicts_path_changes(c).rows;

	fprintf(out, "\n%zu rows: REGRESSED %zu, IMPROVED %zu, SAME %zu, UNSURE %zu", c->rows,
		c->verdicts[FB_REGRESSED], c->verdicts[FB_IMPROVED], c->verdicts[FB_SAME],
		c->verdicts[FB_UNSURE]);
	if (missing)
		fprintf(out, "; %zu missing in NEW", missing);
	if (other_ways)
		fprintf(out, "; %zu rerouted", other_ways);
	if (c->wrong[1])
		fprintf(out, "; WRONG DATA in %zu", c->wrong[1]);
	if (c->faults[1])
		fprintf(out, "; FAULTS in %zu", c->faults[1]);
	fprintf(out, " (exit code %d)\n", fb_verdicts_exit(report));
}

int fb_verdicts_text(const struct fb_verdicts_report *report, FILE *out)
{
	int err;

	print_head(report, out);
	print_warnings(report, out);
	print_rows(report, out);
	err = fb_verdicts_groups(report, out);
	if (err)
		return err;
	fb_verdicts_lists(report, out);
	fb_differences_text(report->differences, report->trait, out);
	print_verdicts(report, out);
	return FB_OK;
}
