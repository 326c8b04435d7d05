/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of columns and the text of their fields; see schema.h. docs/csv.md is made of it. */
#include "common/record/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One line per column: name, kind, type, unit, where it is, meaning. */
#define IDENTITY(name, type, unit, field, offset, help)                                            \
	{                                                                                          \
		name, FB_COLUMN_IDENTITY, FB_COLUMN_##type, unit, help, FB_FIELD_##field, offset   \
	}
#define KEY(name, type, unit, field, offset, help)                                                 \
	{                                                                                          \
		name, FB_COLUMN_KEY, FB_COLUMN_##type, unit, help, FB_FIELD_##field, offset        \
	}
#define VALUE(name, type, unit, field, offset, help)                                               \
	{                                                                                          \
		name, FB_COLUMN_VALUE, FB_COLUMN_##type, unit, help, FB_FIELD_##field, offset      \
	}
#define ROW(member)  offsetof(struct fb_row, member)
#define CASE(member) offsetof(struct fb_case, member)

const struct fb_column fb_columns[] = {
	IDENTITY("schema", U64, "", VERSION, 0, "version of this table"),
	IDENTITY("run", TEXT, "", ROW_TEXT, ROW(run), "name of the study, same for its launches"),
	IDENTITY("launch_index", U64, "", ROW_U64, ROW(launch_index),
		 "which start of the program within the run, from 0: the unit of replication"),
	IDENTITY("utc", TEXT, "", UTC, ROW(utc), "time of writing, as 2024-05-31T23:59:59Z"),

	KEY("program", TEXT, "", CASE_TEXT, CASE(program), "program that measured the row"),
	KEY("operation", TEXT, "", CASE_TEXT, CASE(operation), "what was timed"),
	KEY("engine", TEXT, "", CASE_TEXT, CASE(engine), "what carried the operation out"),
	KEY("algorithm", TEXT, "", CASE_TEXT, CASE(algorithm),
	    "algorithm asked for; 'library' where the library chooses"),
	KEY("protocol", TEXT, "", CASE_TEXT, CASE(protocol), "how bytes cross a link"),
	KEY("transport", TEXT, "", CASE_TEXT, CASE(transport), "what the links are made of"),
	KEY("memory", TEXT, "", CASE_TEXT, CASE(memory), "kind of memory of the user's buffers"),
	KEY("registration", TEXT, "", CASE_TEXT, CASE(registration),
	    "whether the buffers are known to the engine beforehand"),
	KEY("launch", TEXT, "", CASE_TEXT, CASE(launch), "how the operation is started"),
	KEY("cadence", TEXT, "", CASE_CADENCE, CASE(cadence),
	    "isolated: ranks synchronise before each repetition; streaming: calls back to back"),
	KEY("datatype", TEXT, "", CASE_DATATYPE, CASE(datatype), "type of one element"),
	KEY("redop", TEXT, "", CASE_REDOP, CASE(redop), "reduction; '-' where nothing is reduced"),
	KEY("root", I64, "", CASE_INT, CASE(root), "root rank; -1 where there is none"),
	KEY("in_place", TEXT, "", CASE_BOOL, CASE(in_place),
	    "yes: input and output are one buffer; no: two"),
	KEY("bytes", U64, "bytes", CASE_U64, CASE(bytes), "message size as asked for"),
	KEY("ranks", U64, "", ROW_U64, ROW(ranks), "processes that took part"),
	KEY("nodes", U64, "", ROW_U64, ROW(nodes), "hosts that they ran on"),
	KEY("variant", TEXT, "", CASE_CHARS, CASE(variant),
	    "the program's own keys and those of --tag, sorted, as k=v;k=v"),

	VALUE("status", TEXT, "", STATUS, ROW(status),
	      "ok, wrong (data), skipped, few (samples), fault"),
	VALUE("reason", TEXT, "", ROW_TEXT, ROW(reason), "why the status is not ok"),
	VALUE("samples", U64, "", ROW_U64, ROW(samples), "repetitions that the figures rest on"),
	VALUE("stop", TEXT, "", STOP, ROW(stop),
	      "what ended sampling: ci (interval tight), nmax (count), time; empty for none"),
	VALUE("setup_us", TIME_US, "us", ROW_F64, ROW(setup_us),
	      "registration, connection, plan, not what rows share; slowest rank"),
	VALUE("first_us", TIME_US, "us", ROW_F64, ROW(first_us),
	      "first call, before any warm-up; slowest rank"),
	VALUE("median_us", TIME_US, "us", ROW_F64, ROW(median_us),
	      "the row's time: median over repetitions of the time until the last rank is through"),
	VALUE("median_low_us", TIME_US, "us", ROW_F64, ROW(median_low_us),
	      "lower end of the median's 95% confidence interval within this launch"),
	VALUE("median_high_us", TIME_US, "us", ROW_F64, ROW(median_high_us), "its upper end"),
	VALUE("min_us", TIME_US, "us", ROW_F64, ROW(min_us), "least repetition"),
	VALUE("p05_us", TIME_US, "us", ROW_F64, ROW(p05_us),
	      "5th percentile; empty below 100 samples"),
	VALUE("p95_us", TIME_US, "us", ROW_F64, ROW(p95_us),
	      "95th percentile; empty below 100 samples"),
	VALUE("p99_us", TIME_US, "us", ROW_F64, ROW(p99_us),
	      "99th percentile; empty below 1000 samples"),
	VALUE("max_us", TIME_US, "us", ROW_F64, ROW(max_us), "greatest repetition"),
	VALUE("mad_us", TIME_US, "us", ROW_F64, ROW(mad_us),
	      "median absolute deviation from the median (not scaled)"),
	VALUE("rank_mean_us", TIME_US, "us", ROW_F64, ROW(rank_mean_us),
	      "median over repetitions of the mean over ranks"),
	VALUE("rank_min_us", TIME_US, "us", ROW_F64, ROW(rank_min_us),
	      "median over repetitions of the minimum over ranks"),
	VALUE("skew_us", TIME_US, "us", ROW_F64, ROW(skew_us),
	      "how far apart ranks began: median over repetitions; several hosts: self test's"),
	VALUE("outliers", U64, "", ROW_U64, ROW(outliers),
	      "repetitions above the median by more than 5 * 1.4826 * mad; counted, never dropped"),
	VALUE("algbw_GBps", F64, "GB/s", ROW_F64, ROW(algbw_GBps),
	      "bytes that count (see below) / median, in 1e9 bytes per second"),
	VALUE("busbw_GBps", F64, "GB/s", ROW_F64, ROW(busbw_GBps),
	      "algbw times the operation's factor: what the busiest link carried"),
	VALUE("bound_us", TIME_US, "us", ROW_F64, ROW(bound_us),
	      "least possible time, from rates that were measured; empty: none is known"),
	VALUE("efficiency", F64, "", ROW_F64, ROW(efficiency), "bound / median"),
	VALUE("errors", U64, "", ROW_U64, ROW(errors), "wrong elements, all ranks together"),
	VALUE("path", TEXT, "", ROW_TEXT, ROW(path), "what really ran, where it can be known"),
	VALUE("channels", U64, "", ROW_U64, ROW(channels),
	      "parallel channels, on GPUs thread blocks; 0 for unknown"),
	VALUE("flags", TEXT, "", ROW_TEXT, ROW(flags),
	      "remarks on the row's quality, joined by ';'"),
	VALUE("cpu_s", F64, "s", ROW_F64, ROW(cpu_s),
	      "processor time of an operation: user and system, all threads of all ranks"),
	VALUE("traffic", TEXT, "", ROW_TEXT, ROW(traffic),
	      "bytes by interface, RDMA port and GPU link during the case, all hosts, as k=v;k=v"),
	VALUE("counters", TEXT, "", ROW_TEXT, ROW(counters),
	      "what else these counted: errors, drops, retransmissions, congestion, pauses"),
};

const size_t fb_columns_count = sizeof(fb_columns) / sizeof(fb_columns[0]);

/* [version]: how many columns it appended. */
static const size_t appended[FB_SCHEMA_VERSION + 1] = {[2] = 1, [3] = 2};

size_t fb_columns_of(int version)
{
	size_t columns = fb_columns_count;

	if (version < FB_SCHEMA_OLDEST || version > FB_SCHEMA_VERSION)
		return 0;
	for (int v = version + 1; v <= FB_SCHEMA_VERSION; v++)
		columns -= appended[v];
	return columns;
}

bool fb_schema_known(const char *text)
{
	return text[0] >= '0' + FB_SCHEMA_OLDEST && text[0] <= '0' + FB_SCHEMA_VERSION && !text[1];
}

static const char *const statuses[] = {"ok", "wrong", "skipped", "few", "fault"};
static const char *const stops[] = {"", "ci", "nmax", "time"};
const char *const fb_cadence_names[] = {"isolated", "streaming", NULL};
static const char *const types[] = {"text", "u64", "i64", "f64", "time_us"};

static int parse_name(const char *const names[], int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *fb_status_name(enum fb_status status)
{
	return statuses[status];
}

int fb_status_parse(const char *name)
{
	return parse_name(statuses, FB_STATUSES, name);
}

const char *fb_stop_name(enum fb_stop stop)
{
	return stops[stop];
}

int fb_stop_parse(const char *name)
{
	return parse_name(stops, FB_STOPS, name);
}

const char *fb_cadence_name(enum fb_cadence cadence)
{
	return fb_cadence_names[cadence];
}

int fb_cadence_parse(const char *name)
{
	return parse_name(fb_cadence_names, FB_CADENCES, name);
}

const char *fb_column_type_name(enum fb_column_type type)
{
	return types[type];
}

int fb_column_find(const char *name)
{
	for (size_t i = 0; i < fb_columns_count; i++)
		if (!strcmp(fb_columns[i].name, name))
			return (int)i;
	return -1;
}

struct fb_row fb_row_empty(const struct fb_case *key)
{
	const double none = (double)NAN;
	struct fb_row row = {.key = key};

	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].field == FB_FIELD_ROW_F64)
			memcpy((char *)&row + fb_columns[i].offset, &none, sizeof(none));
	return row;
}
