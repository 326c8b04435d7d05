/* SPDX-License-Identifier: BSD-3-Clause */
/* The program steady; all it shares with the others is in program.h. */
#include <stdlib.h>
#include <string.h>

#include "common/measure/stats.h"
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "1M"},	 {"datatype", "u8"},	     {"algorithm", "send"},
	{"protocol", "auto"},   {"max-samples", "1000000"}, {"whole-time", "yes"},
	{"max-time", "60s"},	 {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_ONE_WAY, FB_PATTERNS};

static const struct fb_column columns[] = {
	{.name = "slowest_ratio", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = "",
	 .help = "slowest window's time over the median: bandwidth fell to algbw divided by this"},
	{.name = "slow_share", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = "",
	 .help = "share of the time spent in windows slower than 1.25 times the median"},
	{.name = "longest_slow_ms", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = "ms",
	 .help = "longest stretch of such windows"},
	{.name = "least_GBps", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = "GB/s",
	 .help = "bandwidth in the slowest window, as algbw"},
	{.name = "least_at_s", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = "s",
	 .help = "when that window began: seconds of windows before it"},
};

static const double slow = 1.25;

/* A link that fails now and then does not change a median, so the slowest window is shown too. */
static void summarise(const struct fb_job *job, const double *us, size_t n,
		      struct fb_traits *traits)
{
	double *scratch = malloc(2 * n * sizeof(*scratch));
	double median, most = 0, all = 0, slow_us = 0, stretch = 0, longest = 0, at = 0;

	if (!scratch || !n) {
		free(scratch);
		return;
	}
	median = fb_median(us, n, scratch);
	for (size_t i = 0; i < n; i++) {
		bool is_slow = us[i] > slow * median;

		at = us[i] > most ? all : at;
		most = us[i] > most ? us[i] : most;
		all += us[i];
		slow_us += is_slow ? us[i] : 0;
		stretch = is_slow ? stretch + us[i] : 0;
		longest = stretch > longest ? stretch : longest;
	}
	traits->extra[0] = most / median;
	traits->extra[1] = slow_us / all;
	traits->extra[2] = longest * 1e-3;
	traits->extra[3] = (double)job->bytes * job->window * job->nflows / most * 1e-3;
	traits->extra[4] = at * 1e-6;
	free(scratch);
}

static const struct fb_p2p_program program = {
	.name = "steady",
	.summary = "whether a link keeps its bandwidth over minutes",
	.description =
		"Sends windows of messages for --max-time and looks at every window: how deep "
		"bandwidth dips, for what share of the time, and for how long at a stretch. A "
		"flapping link or a card that is throttled shows here, and in no median.\n\n"
		"Takes --max-time for each pair and engine, one after the other: a minute by "
		"default, of which --pairs all of 4 ranks makes twelve; with --max-time 5s they "
		"take one together.\n\n"
		"Every engine uses its first protocol (auto). --raw keeps every window for a plot.",
	.patterns = patterns,
	.grouping = FB_ONE_BY_ONE,
	.pairs = "first",
	.defaults = defaults,
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.summarise = summarise,
};

int main(int argc, char **argv)
{
	return fb_p2p_main(&program, argc, argv);
}
