/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chrome traces as profiles. Kineto's, which PyTorch's profiler writes, have kernels, copies, calls
 * of the runtime and marks in categories. In any other trace, which has no category `kernel`, each
 * complete event is what a lane did, and the part of the lane's name before a comma is the device.
 */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "scripts/tools/lib/json.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/overlap_of/profile.h"

#include <jansson.h>
#include <string.h>

static bool has_kernels(const json_t *events)
{
	const json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
		if (!strcmp(fb_json_text(event, "cat"), "kernel"))
			return true;
	return false;
}

/* What is after "pid" or "tid" as a number: a hash where it is a text, up to a comma. */
static uint64_t number_of(const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text)
		return (uint64_t)json_integer_value(value);
	return fb_hash64(text, strcspn(text, ","), 0) >> 1;
}

/* Sets the kind of an event and the values of that kind; false: the event is ignored. */
static bool of_kineto(const struct fb_profile *p, const json_t *event, struct fb_activity_event *e)
{
	const char *category = fb_json_text(event, "cat"), *name = fb_json_text(event, "name");
	const json_t *args = json_object_get(event, "args");
	const json_t *device = json_object_get(args, "device");
	bool call = !strcmp(category, "cuda_runtime") || !strcmp(category, "cuda_driver");

	e->correlation = (uint64_t)json_integer_value(json_object_get(args, "correlation"));
	e->device = (int64_t)number_of(device ? device : json_object_get(event, "pid"));
	if (!strcmp(category, "kernel"))
		e->kind = fb_kernel_kind(p, name);
	else if (!strcmp(category, "gpu_memcpy") || !strcmp(category, "gpu_memset"))
		e->kind = strstr(name, "PtoP") ? FB_DOES_COMMUNICATION : FB_DOES_COPY;
	else if (!strcmp(category, "user_annotation") && fb_name_is(&p->names->step, name))
		e->kind = FB_DOES_STEP;
	else if (call && fb_name_is(&p->names->sync, name))
		e->kind = FB_DOES_SYNC;
	else if (call && e->correlation)
		e->kind = FB_DOES_LAUNCH;
	else
		return false;
	return true;
}

static bool of_any(const struct fb_profile *p, const json_t *event, struct fb_activity_event *e)
{
	const char *name = fb_json_text(event, "name");

	e->process = number_of(json_object_get(event, "pid"));
	e->device = (int64_t)number_of(json_object_get(event, "tid"));
	if (fb_name_is(&p->names->step, name))
		e->kind = FB_DOES_STEP;
	else if (fb_name_is(&p->names->sync, name))
		e->kind = FB_DOES_SYNC;
	else
		e->kind = fb_kernel_kind(p, name);
	/* Lanes with numbers of their own are threads of one device. */
	if (!json_is_string(json_object_get(event, "tid")))
		e->device = 0;
	return true;
}

int fb_profile_read_chrome(struct fb_profile *profile, const char *path)
{
	json_t *document = fb_json_load(path), *events = document, *event;
	bool kineto;
	int err = document ? FB_OK : FB_EINPUT;
	size_t i;

	if (json_is_object(document))
		events = json_object_get(document, "traceEvents");
	if (!err && !json_is_array(events))
		err = fb_error(FB_EINPUT, "%s: no Chrome trace: it has no array traceEvents", path);
	kineto = !err && has_kernels(events);
	json_array_foreach(events, i, event) {
		struct fb_activity_event e = {.process = 0};
		const json_t *ts = json_object_get(event, "ts");
		const json_t *duration = json_object_get(event, "dur");

		if (err)
			break;
		if (strcmp(fb_json_text(event, "ph"), "X") || !json_is_number(ts) ||
		    !(json_number_value(duration) >= 0))
			continue;
		e.begin_us = json_number_value(ts);
		e.end_us = e.begin_us + json_number_value(duration);
		if (kineto ? of_kineto(profile, event, &e) : of_any(profile, event, &e))
			*FB_ADD(profile->event, profile->count) = e;
	}
	json_decref(document);
	return err;
}
