/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the report of a comparison: text for people, CSV, JUnit XML, forest-plot data. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_REPORT_VERDICT_H
#define FB_SCRIPTS_TOOLS_COMPARE_REPORT_VERDICT_H

#include "scripts/tools/compare/cause.h"
#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/compare/environment_diff.h"
#include "scripts/tools/compare/label.h"
#include "scripts/tools/compare/path_changes.h"
#include "scripts/tools/lib/number.h"

#include <stdio.h>

enum { FB_REPORT_WIDTH = 100, FB_INTERVAL_CHARS = 52 };

struct fb_verdicts_report {
	const struct fb_comparison *comparison;
	const struct fb_differences *differences; /* ranked */
	const char *trait;			  /* of fb_cause_rank */
	struct fb_labels labels;
	double alpha, threshold;
	uint64_t seed;
	bool all;    /* rows that are SAME too, and lists in full */
	bool strict; /* UNSURE, and rows that NEW lacks or runs another way, are failures */
};

/* NEW / BASE of the metric itself, with its interval: rates are not inverted to costs. */
struct fb_shown_ratio {
	double value, low, high;
};
struct fb_shown_ratio fb_shown_ratio(const struct fb_metric_name *metric, double cost_ratio,
				     double cost_low, double cost_high);

/* The metric's median over launches on a side (0 BASE, 1 NEW); NAN: no value. */
double fb_shown_value(const struct fb_metric_name *metric, const struct fb_judged *row, int side);

/* "1.052", "12.30", ">999": at most six characters; "-" for what is not finite. Returns buf. */
const char *fb_ratio_text(double x, char buf[FB_NUMBER_CHARS]);

/* "0.982..1.052", "-" where there is none. Returns buf. */
const char *fb_interval_text(struct fb_shown_ratio ratio, char buf[FB_INTERVAL_CHARS]);

/* "ONLY_BASE", "LOST" ...: why a row has no verdict; "" for FB_PLACE_JUDGED. */
const char *fb_place_name(enum fb_place place);

/* The reason that the files give for a key, NEW's before BASE's; "" for none. Borrowed. */
const char *fb_place_reason(const struct fb_comparison *comparison, uint32_t key);

/* The judged rows that ran one way in BASE and another way in NEW. */
struct fb_path_changes fb_verdicts_path_changes(const struct fb_comparison *comparison);

/* Whether more than half of a side's launches are left out, so that the rest is a selection. */
bool fb_verdicts_most_left_out(const struct fb_comparison *comparison, int side);

/*
 * The exit code: FB_EXIT_WRONG, _FAULT, _REGRESSION, _UNSURE (strict), _NOTHING (every
 * row is UNSURE, or most launches of a side are left out), _OK.
 */
int fb_verdicts_exit(const struct fb_verdicts_report *report);

/* At most FB_REPORT_WIDTH columns. Returns 0 or FB_EINPUT (printed). */
int fb_verdicts_text(const struct fb_verdicts_report *report, FILE *out);

/* Its parts in files of their own: what could not be judged; what changed. */
void fb_verdicts_lists(const struct fb_verdicts_report *report, FILE *out);
void fb_differences_text(const struct fb_differences *differences, const char *trait, FILE *out);

/* report_groups.c: geometric means by operation, engine and algorithm, and the worst row. */
int fb_verdicts_groups(const struct fb_verdicts_report *report, FILE *out);

/* A line for each key of both sides; docs/compare.md names the columns. */
void fb_verdicts_csv(const struct fb_verdicts_report *report, FILE *out);

/* One test case for each key; see report_junit.c. */
void fb_verdicts_junit(const struct fb_verdicts_report *report, FILE *out);

/* label,ratio,low,high,verdict of judged rows, by ratio. */
void fb_verdicts_forest(const struct fb_verdicts_report *report, FILE *out);

#endif
