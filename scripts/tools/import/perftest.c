/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of perftest; see perftest.h.
 *
 * For latency by iterations perftest times each iteration, and drops the two greatest times first.
 * t_typical is the median of the others, and t_max about the third greatest time, so it is kept as
 * reported_max_us. With a duration, and for bandwidth, there is only a mean.
 */
#include "common/base/error.h"
#include "scripts/tools/import/perftest.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

/* n iterations give n - 1 differences of time stamps, of which two are dropped. */
enum { DROPPED = 3, ENOUGH = 5, P99_SAMPLES = 1000 };

static const struct {
	const char *verb, *program, *operation;
} verbs[] = {
	{"RDMA_Write_imm", "ib_write_imm", "rdma_write_imm"},
	{"RDMA_Write", "ib_write", "rdma_write"},
	{"RDMA_Read", "ib_read", "rdma_read"},
	{"Send_imm", "ib_send_imm", "send_imm"},
	{"Send", "ib_send", "send"},
	{"Atomic", "ib_atomic", "atomic"},
};

struct fb_perftest_row fb_perftest_row_empty(void)
{
	const double none = (double)NAN;

	return (struct fb_perftest_row){
		.iterations = none,
		.average_GBps = none,
		.peak_GBps = none,
		.rate_Mps = none,
		.min_us = none,
		.max_us = none,
		.typical_us = none,
		.average_us = none,
		.stdev_us = none,
		.p99_us = none,
		.p999_us = none,
		.cpu_percent = none,
	};
}

double fb_perftest_unit(const char *name)
{
	return strstr(name, "Gb/sec") ? 1.0 / 8 : 1048576e-9;
}

static bool is_latency(const struct fb_perftest_run *run)
{
	return strstr(run->test, "Latency") != NULL;
}

static bool is_bidirectional(const struct fb_perftest_run *run)
{
	return strstr(run->test, "Bidirectional") != NULL;
}

/* "RDMA_Write BW Test" or "RDMA_Write_BW_Test": the verb is the longest that it begins with. */
static size_t find_verb(const struct fb_perftest_run *run)
{
	size_t i = 0;

	while (i < FB_COUNT_OF(verbs) &&
	       strncmp(run->test, verbs[i].verb, strlen(verbs[i].verb)))
		i++;
	return i;
}

int fb_perftest_begin(struct fb_import *import, const struct fb_text *text, size_t line,
		      const struct fb_perftest_run *run)
{
	size_t verb = find_verb(run);
	char program[64], mtu[24] = "";
	int err;

	if (verb == FB_COUNT_OF(verbs))
		return fb_error(FB_EINPUT, "%s:%zu: a test that is not known: '%s'", text->path,
				line, run->test);
	snprintf(program, sizeof(program), "%s_%s",
		 strcmp(run->connection, "RawEth") ? verbs[verb].program : "raw_ethernet_send",
		 is_latency(run) ? "lat" : "bw");
	err = fb_import_begin(import, text, program, "perftest");
	if (!err)
		err = fb_import_size(import, text, line, 2, 0, 2);
	if (err)
		return err;
	if (isfinite(run->mtu))
		snprintf(mtu, sizeof(mtu), "%.0f", run->mtu);
	fb_import_fact(import, "rdma.device", run->device);
	fb_import_fact(import, "rdma.link", run->link);
	fb_import_fact(import, "rdma.transport", run->transport);
	fb_import_fact(import, "rdma.mtu", mtu);
	return FB_OK;
}

/* The name of the atomic operation precedes the kind of test. */
static void set_operation(struct fb_import_record *record, const struct fb_perftest_run *run)
{
	const char *verb = verbs[find_verb(run)].operation;

	if (strstr(run->test, "CMP_AND_SWAP"))
		verb = "compare_and_swap";
	else if (strstr(run->test, "FETCH_AND_ADD"))
		verb = "fetch_and_add";
	snprintf(record->operation, sizeof(record->operation), "%s%s", verb,
		 is_bidirectional(run) ? "_bidirectional" : "");
}

static void set_key(struct fb_import_record *record, const struct fb_perftest_run *run,
		    const struct fb_perftest_row *row)
{
	set_operation(record, run);
	record->key.engine = "verbs";
	record->key.algorithm = record->key.protocol = "-";
	record->key.transport = "rdma";
	record->key.memory = run->on_gpu ? "device" : "host";
	record->key.registration = "registered";
	record->key.bytes = row->bytes;
	if (*run->connection)
		fb_import_variant(record, "connection", "%s", run->connection);
	if (isfinite(run->post_list) && run->post_list > 1)
		fb_import_variant(record, "post_list", "%.0f", run->post_list);
	if (isfinite(run->qps))
		fb_import_variant(record, "qps", "%.0f", run->qps);
	/* A key, because a median must not be compared with a mean. */
	if (is_latency(run) && !isfinite(row->typical_us))
		fb_import_variant(record, "time", "mean");
}

/* A latency whose iterations were timed one by one. */
static void set_distribution(struct fb_import_record *record, const struct fb_perftest_row *row)
{
	struct fb_row *out = &record->row;
	double samples = row->iterations - DROPPED;

	out->median_us = row->typical_us;
	out->samples = samples >= 1 ? (uint64_t)samples : 1;
	if (out->samples >= ENOUGH)
		out->status = FB_STATUS_OK;
	snprintf(record->reason, sizeof(record->reason), "%.0f iterations", row->iterations);
	if (row->min_us <= row->typical_us)
		out->min_us = row->min_us;
	if (out->samples >= P99_SAMPLES && row->p99_us >= row->typical_us)
		out->p99_us = row->p99_us;
	fb_import_flag(record, "tail_dropped");
}

int fb_perftest_add(struct fb_import *import, const struct fb_text *text, size_t line,
		    const struct fb_perftest_run *run, const struct fb_perftest_row *row)
{
	double ways = is_bidirectional(run) ? 2 : 1, counted = ways * (double)row->bytes;
	double rate = row->average_GBps;
	struct fb_import_record *record;

	if (!isfinite(row->typical_us) && !isfinite(row->average_us) && !(rate > 0))
		return fb_error(FB_EINPUT, "%s:%zu: the row has neither a time nor a rate above 0",
				text->path, line);
	record = fb_import_add(import, line);
	set_key(record, run, row);
	fb_import_flag(record, "unverified");
	record->extra[FB_EXTRA_ITERATIONS] = row->iterations;
	record->extra[FB_EXTRA_MEAN_US] = row->average_us;
	record->extra[FB_EXTRA_STDEV_US] = row->stdev_us;
	record->extra[FB_EXTRA_REPORTED_MIN_US] = row->min_us;
	record->extra[FB_EXTRA_REPORTED_MAX_US] = row->max_us;
	record->extra[FB_EXTRA_REPORTED_P99_US] = row->p99_us;
	record->extra[FB_EXTRA_REPORTED_P999_US] = row->p999_us;
	record->extra[FB_EXTRA_PEAK_GBPS] = row->peak_GBps;
	record->extra[FB_EXTRA_RATE_MPS] = row->rate_Mps;
	record->extra[FB_EXTRA_CPU_PERCENT] = row->cpu_percent;
	if (isfinite(row->typical_us)) {
		record->counted_bytes = (double)row->bytes;
		record->bus_factor = 1;
		set_distribution(record, row);
		return FB_OK;
	}
	fb_import_flag(record, "mean");
	if (isfinite(row->average_us))
		return fb_import_mean(record, row->average_us, row->iterations, (double)row->bytes,
				      1);
	return fb_import_mean(record, counted / rate * 1e-3, row->iterations, counted, 1 / ways);
}
