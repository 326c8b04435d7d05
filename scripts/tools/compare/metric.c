/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics by the endings of their names; see metric.h. */
#include "common/base/error.h"
#include "common/record/schema.h"
#include "scripts/tools/compare/metric.h"

#include <stdio.h>
#include <string.h>

/* Units at the ends of names; docs/csv.md asks every column with a unit to have one. */
static const struct {
	const char *suffix;
	bool rate, time;
} units[] = {
	{"_us", false, true},	  {"_ns", false, false},    {"_ms", false, false},
	{"_s", false, false},	  {"_bytes", false, false}, {"_GBps", true, false},
	{"_Mbps", true, false},	  {"_Gbps", true, false},   {"_per_s", true, false},
	{"_Mops", true, false},	  {"_GFLOPS", true, false}, {"efficiency", true, false},
	{"_share", false, false}, {"_ratio", false, false},
};

/* Bounds of the measurement, not results of it. */
static const char *const refused[] = {"bound_us", "median_low_us", "median_high_us"};

int fb_metric_parse(const char *column, struct fb_metric_name *metric)
{
	int known = fb_column_find(column);
	size_t n = strlen(column);

	if (known >= 0 && fb_columns[known].kind != FB_COLUMN_VALUE)
		return FB_EINPUT;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strcmp(column, refused[i]))
			return FB_EINPUT;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t m = strlen(units[i].suffix);

		if (n < m || strcmp(column + n - m, units[i].suffix) != 0)
			continue;
		/* "_per_s" ends in "_s" too. */
		if (!strcmp(units[i].suffix, "_s") && n > 6 && !strcmp(column + n - 6, "_per_s"))
			continue;
		*metric = (struct fb_metric_name){column, units[i].rate, units[i].time};
		return FB_OK;
	}
	return FB_EINPUT;
}

const char *fb_metric_accepted(char *buf, size_t n)
{
	snprintf(buf, n,
		 "a column whose name ends in its unit, such as median_us, p99_us, min_us, "
		 "busbw_GBps or algbw_GBps");
	return buf;
}
