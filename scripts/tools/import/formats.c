/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats that import knows, and which of them a file is in; see import.h. */
#include "common/base/error.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/lib/text.h"

#include <string.h>

/* The Makefile leaves out the readers of JSON where the header is not there. */
#if defined(__has_include) && __has_include(<jansson.h>)
#define JSON(function) function
#else
#define JSON(function) NULL
#endif

const struct fb_import_format fb_import_formats[] = {
	{"nccl-text", "nccl-tests, what it prints", fb_nccl_text_detect, fb_nccl_text_read},
	{"nccl-json", "nccl-tests, -J FILE", fb_nccl_json_detect, JSON(fb_nccl_json_read)},
	{"osu", "OSU micro-benchmarks", fb_osu_detect, fb_osu_read},
	{"imb", "Intel MPI Benchmarks, IMB-MPI1", fb_imb_detect, fb_imb_read},
	{"perftest-text", "linux-rdma perftest, what it prints", fb_perftest_text_detect,
	 fb_perftest_text_read},
	{"perftest-json", "linux-rdma perftest, --out_json", fb_perftest_json_detect,
	 JSON(fb_perftest_json_read)},
	{"nvbandwidth-text", "nvbandwidth, what it prints", fb_nvbandwidth_text_detect,
	 fb_nvbandwidth_text_read},
	{"nvbandwidth-json", "nvbandwidth -j", fb_nvbandwidth_json_detect,
	 JSON(fb_nvbandwidth_json_read)},
	{"telemetry-csv", "time,source,counter,value of counters of switches and others",
	 fb_telemetry_csv_detect, fb_telemetry_csv_read},
	{"dcgm-dmon", "dcgmi dmon, each line behind its time in UTC", fb_dcgm_dmon_detect,
	 fb_dcgm_dmon_read},
};

const size_t fb_import_formats_count = FB_COUNT_OF(fb_import_formats);

static bool is_json(const struct fb_text *text)
{
	return text->bytes[strspn(text->bytes, " \t\r\n")] == '{';
}

bool fb_nccl_json_detect(const struct fb_text *text)
{
	return is_json(text) && fb_text_holds(text, "\"nccl_version\"");
}

bool fb_perftest_json_detect(const struct fb_text *text)
{
	return is_json(text) && fb_text_holds(text, "test_info");
}

bool fb_nvbandwidth_json_detect(const struct fb_text *text)
{
	return fb_text_holds(text, "\"nvbandwidth\"");
}

static int read_as(struct fb_import *import, const struct fb_text *text,
		   const struct fb_import_format *format)
{
	size_t sections = import->nsections;
	int err;

	if (!format->read)
		return fb_error(FB_EINPUT,
				"%s: format %s needs the library jansson (Debian package "
				"libjansson-dev), which was not there when import was built",
				text->path, format->name);
	err = format->read(import, text);
	for (; sections < import->nsections; sections++)
		import->section[sections].format = format->name;
	return err;
}

static int read_text(struct fb_import *import, const struct fb_text *text, const char *name)
{
	size_t records = import->nrecords, sections = import->nsections;
	bool known = false;
	int err = FB_OK;

	for (size_t i = 0; i < fb_import_formats_count && !err; i++) {
		const struct fb_import_format *format = &fb_import_formats[i];

		if (name ? strcmp(name, format->name) : !format->detect(text))
			continue;
		known = true;
		err = read_as(import, text, format);
	}
	if (!err && !known)
		err = fb_error(FB_EINPUT, "%s: in no format that import knows; see --help",
			       text->path);
	/* Telemetry has no rows. */
	for (; sections < import->nsections; sections++)
		records -= import->section[sections].side;
	if (!err && import->nrecords == records)
		err = fb_error(FB_EINPUT, "%s:%zu: ends without a single result", text->path,
			       text->count);
	return err;
}

int fb_import_file(struct fb_import *import, const char *path, const char *format)
{
	struct fb_text text;
	int err = fb_text_read(&text, path);

	if (!err)
		err = read_text(import, &text, format);
	fb_config_free(&import->config);
	return err;
}
