/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what perftest writes with --out_json since 24.01; earlier versions wrote no valid JSON. The
 * file does not name the unit of its rates, so it is derived from the rate of messages.
 */
#include "common/base/error.h"
#include "scripts/tools/import/json.h"
#include "scripts/tools/import/perftest.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static void take_info(const json_t *info, struct fb_perftest_run *run)
{
	*run = (struct fb_perftest_run){
		.qps = fb_json_number(info, "Number_of_qps"),
		.post_list = fb_json_number(info, "Post_List"),
		.mtu = fb_json_number(info, "Mtu"),
		.on_gpu = json_object_get(info, "cuda_device") ||
			  json_object_get(info, "musa_device") ||
			  !strcmp(fb_json_text(info, "Use_ROCm_memory"), "ON"),
	};
	fb_text_copy(fb_json_text(info, "test"), "", run->test, sizeof(run->test));
	fb_text_copy(fb_json_text(info, "Device"), "", run->device, sizeof(run->device));
	fb_text_copy(fb_json_text(info, "Connection_type"), "", run->connection,
		     sizeof(run->connection));
	fb_text_copy(fb_json_text(info, "Link_type"), "", run->link, sizeof(run->link));
	fb_text_copy(fb_json_text(info, "Transport_type"), "", run->transport,
		     sizeof(run->transport));
}

/* GB/s of one unit: Gb/s or MiB/s, whichever agrees with messages per second times bytes. */
static double unit_of(double rate, double rate_Mps, uint64_t bytes)
{
	double expected = rate_Mps * (double)bytes * 1e-3;
	double gigabits = fb_perftest_unit("Gb/sec"), mebibytes = fb_perftest_unit("MiB/sec");

	if (!(expected > 0) || !(rate > 0))
		return (double)NAN;
	return fabs(log(rate * gigabits / expected)) < fabs(log(rate * mebibytes / expected))
		       ? gigabits
		       : mebibytes;
}

static int take_results(struct fb_import *import, const struct fb_text *text,
			const struct fb_perftest_run *run, const json_t *results)
{
	struct fb_perftest_row row = fb_perftest_row_empty();
	double size = fb_json_number(results, "MsgSize"), unit;

	if (!(size >= 0 && size < 1e15))
		return fb_error(FB_EINPUT,
				"%s: \"results\" has no MsgSize: expected the output of "
				"a full run",
				text->path);
	row.bytes = (uint64_t)size;
	row.iterations = fb_json_number(results, "n_iterations");
	row.rate_Mps = fb_json_number(results, "MsgRate");
	row.min_us = fb_json_number(results, "t_min");
	row.max_us = fb_json_number(results, "t_max");
	row.typical_us = fb_json_number(results, "t_typical");
	row.average_us = fb_json_number(results, "t_avg");
	row.stdev_us = fb_json_number(results, "t_stdev");
	row.p99_us = fb_json_number(results, "percentile_99");
	row.p999_us = fb_json_number(results, "percentile_99.9");
	row.cpu_percent = fb_json_number(results, "CPU_util");
	unit = unit_of(fb_json_number(results, "BW_average"), row.rate_Mps, row.bytes);
	row.average_GBps = fb_json_number(results, "BW_average") * unit;
	row.peak_GBps = fb_json_number(results, "BW_peak") * unit;
	if (!(row.peak_GBps > 0))
		row.peak_GBps = (double)NAN;
	return fb_perftest_add(import, text, 1, run, &row);
}

int fb_perftest_json_read(struct fb_import *import, const struct fb_text *text)
{
	json_t *document = fb_json_parse(text);
	struct fb_perftest_run run;
	int err;

	if (!document)
		return FB_EINPUT;
	take_info(json_object_get(document, "test_info"), &run);
	err = fb_perftest_begin(import, text, 1, &run);
	if (!err)
		err = take_results(import, text, &run, json_object_get(document, "results"));
	json_decref(document);
	return err;
}
