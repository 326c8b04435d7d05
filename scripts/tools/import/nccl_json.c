/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the file that nccl-tests writes with -J: version 3 and the earlier ones, which lack some
 * names. With -I 1 it holds every repetition's time, which gives real samples; they are separate
 * rows, timed by events on the device and not by the host's clock.
 */
#include "common/base/error.h"
#include "scripts/tools/import/json.h"
#include "scripts/tools/import/nccl.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct state {
	struct fb_import *import;
	const struct fb_text *text;
	struct fb_nccl_run run;
};

static uint64_t whole(double value, uint64_t otherwise)
{
	return value >= 0 && value < 1e15 ? (uint64_t)value : otherwise;
}

/* A name or path of a program without its folders. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The command line and the variables that it ran with, as a log would show them. */
static void take_command(struct state *s, const json_t *document)
{
	const json_t *arguments = json_object_get(document, "args");
	const json_t *variables = json_object_get(document, "env");
	size_t n = json_array_size(arguments), length = 1;
	char *line;

	for (size_t i = 0; i < json_array_size(variables); i++) {
		const char *variable = json_string_value(json_array_get(variables, i));

		if (variable)
			fb_config_export(&s->import->config, variable);
	}
	for (size_t i = 0; i < n; i++)
		length += json_string_length(json_array_get(arguments, i)) + 1;
	line = fb_new(length, 1);
	for (size_t i = 0; i < n; i++) {
		const char *word = json_string_value(json_array_get(arguments, i));

		fb_append(line, length, "%s%s", i ? " " : "", word ? word : "");
	}
	fb_config_take(&s->import->config, line);
}

static void take_devices(struct state *s, const json_t *config)
{
	const json_t *devices = json_object_get(config, "devices");
	uint64_t per_process = whole(fb_json_number(config, "nthreads"), 1) *
			       whole(fb_json_number(config, "ngpus"), 1);
	uint64_t processes = json_array_size(devices), groups = 1, nodes = 0;

	for (size_t i = 0; i < processes; i++) {
		const json_t *device = json_array_get(devices, i);
		uint64_t group = whole(fb_json_number(device, "group"), 0);
		bool seen = false;

		for (size_t j = 0; j < i && !seen; j++)
			seen = !strcmp(fb_json_text(json_array_get(devices, j), "hostname"),
				       fb_json_text(device, "hostname"));
		nodes += seen ? 0 : 1;
		groups = group + 1 > groups ? group + 1 : groups;
	}
	fb_text_copy(fb_json_text(json_array_get(devices, 0), "device_info"), "", s->run.gpu,
		     sizeof(s->run.gpu));
	s->run.groups = groups;
	s->run.ranks = processes * per_process / groups;
	s->run.nodes = nodes < s->run.ranks ? nodes : s->run.ranks;
}

static void take_config(struct state *s, const json_t *document)
{
	const json_t *config = json_object_get(document, "config");
	const json_t *arguments = json_object_get(document, "args");
	const char *program = json_string_value(json_array_get(arguments, 0));
	double library = fb_json_number(document, "nccl_version");
	double aggregated = fb_json_number(config, "aggregated_iterations");

	snprintf(s->run.program, sizeof(s->run.program), "%.63s", program ? base_of(program) : "");
	if (library > 0 && library < 1e9)
		fb_nccl_version((uint64_t)library, s->run.library, sizeof(s->run.library));
	s->run.aggregated = whole(aggregated, 1);
	s->run.iterations =
		fb_json_number(config, "iterations") * (aggregated > 0 ? aggregated : 1);
	s->run.graph = fb_json_number(config, "graph") > 0;
	s->run.threads = whole(fb_json_number(config, "nthreads"), 0);
	s->run.gpus = whole(fb_json_number(config, "ngpus"), 0);
	s->run.registered = -1;
	take_devices(s, config);
}

/* Parsed JSON does not say in which line a result is, so its number in the list is used instead. */
static int complain(const struct state *s, size_t index, const char *what)
{
	return fb_error(FB_EINPUT, "%s: result %zu of \"results\": %s", s->text->path, index + 1,
			what);
}

/* times_us of a half: every repetition but those that were to be skipped. */
static int add_samples(struct state *s, size_t index, const json_t *half,
		       const struct fb_nccl_cell *cell)
{
	const json_t *times = json_object_get(half, "times_us");
	size_t n = json_array_size(times);
	size_t skipped = (size_t)whole(fb_json_number(half, "skipped_iterations"), 0);
	struct fb_import_record *record;
	int err = FB_OK;

	if (n <= skipped)
		return FB_OK;
	record = fb_nccl_add(s->import, index + 1, &s->run, cell, "per_iteration");
	record->extra[FB_EXTRA_ITERATIONS] = (double)(n - skipped);
	record->extra[FB_EXTRA_MEAN_US] = fb_json_number(half, "avg_us");
	record->extra[FB_EXTRA_STDEV_US] = fb_json_number(half, "stdev_us");
	record->extra[FB_EXTRA_REPORTED_P95_US] = fb_json_number(half, "p95_us");
	record->extra[FB_EXTRA_REPORTED_P99_US] = fb_json_number(half, "p99_us");
	for (size_t i = skipped; i < n && !err; i++) {
		double us = fb_json_value(json_array_get(times, i));

		if (isfinite(us))
			fb_import_sample(record, us);
		else
			err = complain(s, index, "a time in times_us is no number");
	}
	return err;
}

static int take_half(struct state *s, size_t index, const json_t *result, struct fb_nccl_cell cell)
{
	const json_t *half = json_object_get(result, cell.in_place ? "in_place" : "out_of_place");
	const json_t *samples = json_object_get(result, cell.in_place ? "in_place_per_iter"
								      : "out_of_place_per_iter");
	int err;

	if (!json_is_object(half))
		return FB_OK;
	cell.us = fb_json_number(half, "time");
	if (!isfinite(cell.us))
		cell.us = fb_json_number(half, "cpu_time");
	if (!isfinite(cell.us))
		return complain(s, index, "no time");
	cell.wrong = fb_json_number(half, "nwrong");
	cell.min_us = fb_json_number(samples, "min_us");
	cell.max_us = fb_json_number(samples, "max_us");
	cell.p99_us = fb_json_number(samples, "p99_us");
	err = fb_nccl_add_mean(s->import, index + 1, &s->run, &cell);
	return err ? err : add_samples(s, index, samples, &cell);
}

static int take_result(struct state *s, size_t index, const json_t *result)
{
	double bytes = fb_json_number(result, "size");
	struct fb_nccl_cell cell = {
		.bytes = whole(bytes, 0),
		.type = fb_json_text(result, "type"),
		.redop = fb_json_text(result, "redop"),
		.root = strtoll(fb_json_text(result, "root"), NULL, 10),
	};
	int err;

	if (!isfinite(bytes))
		return complain(s, index, "no size");
	err = take_half(s, index, result, cell);
	cell.in_place = true;
	return err ? err : take_half(s, index, result, cell);
}

int fb_nccl_json_read(struct fb_import *import, const struct fb_text *text)
{
	json_t *document = fb_json_parse(text);
	struct state s = {.import = import, .text = text};
	const json_t *results = json_object_get(document, "results");
	int err = FB_OK;

	if (!document)
		return FB_EINPUT;
	take_config(&s, document);
	if (!fb_nccl_program(s.run.program) && json_array_size(results)) {
		const char *name = fb_json_text(json_array_get(results, 0), "experiment_name");
		const char *program = fb_nccl_program(name);

		if (program)
			snprintf(s.run.program, sizeof(s.run.program), "%s", program);
	}
	take_command(&s, document);
	if (!err)
		err = fb_nccl_begin(import, text, 1, &s.run);
	for (size_t i = 0; i < json_array_size(results) && !err; i++)
		err = take_result(&s, i, json_array_get(results, i));
	json_decref(document);
	return err;
}
