/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all forms of the report; see report_verdict.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/report_verdict.h"

#include <math.h>

struct fb_shown_ratio fb_shown_ratio(const struct fb_metric_name *metric, double cost_ratio,
				     double cost_low, double cost_high)
{
	if (!metric->rate)
		return (struct fb_shown_ratio){cost_ratio, cost_low, cost_high};
	return (struct fb_shown_ratio){1 / cost_ratio, 1 / cost_high, 1 / cost_low};
}

double fb_shown_value(const struct fb_metric_name *metric, const struct fb_judged *row, int side)
{
	double cost = side ? row->effect.b_us : row->effect.a_us;

	return metric->rate ? 1 / cost : cost;
}

const char *fb_ratio_text(double x, char buf[FB_NUMBER_CHARS])
{
	if (!isfinite(x))
		snprintf(buf, FB_NUMBER_CHARS, "-");
	else if (x < 0.0005)
		snprintf(buf, FB_NUMBER_CHARS, "<0.001");
	else if (x >= 999.5)
		snprintf(buf, FB_NUMBER_CHARS, ">999");
	else
		snprintf(buf, FB_NUMBER_CHARS, "%.*f", x < 9.9995 ? 3 : x < 99.995 ? 2 : 0, x);
	return buf;
}

const char *fb_interval_text(struct fb_shown_ratio ratio, char buf[FB_INTERVAL_CHARS])
{
	char low[FB_NUMBER_CHARS], high[FB_NUMBER_CHARS];

	if (isfinite(ratio.low) && isfinite(ratio.high))
		snprintf(buf, FB_INTERVAL_CHARS, "%s..%s", fb_ratio_text(ratio.low, low),
			 fb_ratio_text(ratio.high, high));
	else
		snprintf(buf, FB_INTERVAL_CHARS, "-");
	return buf;
}

const char *fb_place_name(enum fb_place place)
{
	static const char *const names[FB_PLACES] = {
		[FB_PLACE_JUDGED] = "",
		[FB_PLACE_ONLY_BASE] = "ONLY_BASE",
		[FB_PLACE_ONLY_NEW] = "ONLY_NEW",
		[FB_PLACE_LOST] = "LOST",
		[FB_PLACE_GAINED] = "GAINED",
		[FB_PLACE_NEITHER] = "NEITHER",
		[FB_PLACE_NO_METRIC] = "NO_METRIC",
		[FB_PLACE_LEFT_OUT] = "LEFT_OUT",
	};

	return names[place];
}

const char *fb_place_reason(const struct fb_comparison *c, uint32_t key)
{
	for (int s = 1; s >= 0; s--)
		if (key < c->set[s].nnotes && c->set[s].note[key].reason)
			return c->set[s].note[key].reason;
	return "";
}

struct fb_path_changes fb_verdicts_path_changes(const struct fb_comparison *c)
{
	struct fb_path_changes ways = {.kinds = 0};

	for (size_t i = 0; i < c->rows; i++)
		fb_path_changes_add(&ways, c->judged[i].key,
				    fb_set_path(&c->set[0], c->judged[i].key),
				    fb_set_path(&c->set[1], c->judged[i].key));
	return ways;
}

bool fb_verdicts_most_left_out(const struct fb_comparison *c, int s)
{
	size_t out = 0;

	for (size_t i = 0; i < c->set[s].nlaunches; i++)
		out += c->set[s].launch[i].out;
	return 2 * out > c->set[s].nlaunches;
}

int fb_verdicts_exit(const struct fb_verdicts_report *report)
{
	const struct fb_comparison *c = report->comparison;

	if (c->wrong[1])
		return FB_EXIT_WRONG;
	if (c->faults[1])
		return FB_EXIT_FAULT;
	if (c->verdicts[FB_REGRESSED])
		return FB_EXIT_REGRESSION;
	if (report->strict && (c->verdicts[FB_UNSURE] || c->places[FB_PLACE_ONLY_BASE] ||
			       c->places[FB_PLACE_LOST] || c->places[FB_PLACE_LEFT_OUT] ||
			       fb_verdicts_path_changes(c).rows))
		return FB_EXIT_UNSURE;
	if (c->verdicts[FB_UNSURE] == c->rows || fb_verdicts_most_left_out(c, 0) ||
	    fb_verdicts_most_left_out(c, 1))
		return FB_EXIT_NOTHING;
	return FB_EXIT_OK;
}
