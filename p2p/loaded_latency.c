/* SPDX-License-Identifier: BSD-3-Clause */
/* The program loaded_latency; all it shares with the others is in program.h. */
#include <stdlib.h>
#include <string.h>

#include "common/measure/stats.h"
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8,4K"}, {"datatype", "u8"}, {"algorithm", "send"}, {"max-samples", "200"},
	{NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_PING_PONG, FB_PATTERNS};

static const struct fb_column columns[] = {
	{.name = "probe_p50_us", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_TIME_US, .unit = "us",
	 .help = "median of single messages, half a round trip each"},
	{.name = "probe_p99_us", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_TIME_US, .unit = "us",
	 .help = "99th percentile of them; empty below 1000"},
	{.name = "probe_p999_us", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_TIME_US, .unit = "us",
	 .help = "99.9th percentile of them; empty below 10000"},
	{.name = "probe_max_us", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_TIME_US, .unit = "us",
	 .help = "the slowest of them"},
};

/* Percentiles of single probes: a queue in the way shows in the tail long before the median. */
static void summarise(const struct fb_job *job, const double *us, size_t n,
		      struct fb_traits *traits)
{
	double *sorted = malloc(2 * n * sizeof(*sorted));

	(void)job;
	if (!sorted || !n) {
		free(sorted);
		return;
	}
	memcpy(sorted, us, n * sizeof(*sorted));
	fb_sort(sorted, n, sorted + n);
	traits->extra[0] = fb_sorted_median(sorted, n);
	if (n >= FB_MIN_SAMPLES_P99)
		traits->extra[1] = fb_sorted_quantile(sorted, n, 0.99);
	if (n >= 10 * FB_MIN_SAMPLES_P99)
		traits->extra[2] = fb_sorted_quantile(sorted, n, 0.999);
	traits->extra[3] = sorted[n - 1];
	free(sorted);
}

static const struct fb_p2p_program program = {
	.name = "loaded_latency",
	.summary = "how long a message takes while others load the fabric",
	.description =
		"The first pair sends small messages back and forth while 0, 1, 2, ... other pairs "
		"stream large ones. A row's time is the mean of --probes messages; the columns "
		"probe_* are of single ones, which show queues in the tail.\n\n"
		"No rank may be in two pairs: with 2N ranks there are up to N - 1 pairs of load.",
	.patterns = patterns,
	.grouping = FB_UNDER_LOAD,
	.pairs = "halves",
	.defaults = defaults,
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.summarise = summarise,
};

int main(int argc, char **argv)
{
	return fb_p2p_main(&program, argc, argv);
}
