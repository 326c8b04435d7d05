/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces in Chrome's format, as much of them as timelines need; see spans.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/json.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/spans.h"

#include <jansson.h>
#include <string.h>

/* While a trace is read. */
struct trace {
	struct fb_spans *spans;
	struct fb_spans open;  /* begun (B) and not ended; end_us is not used */
	struct fb_spans names; /* lane: "pid" or "pid/tid", name: what it is called */
};

/* The texts are borrowed. */
static void add(struct fb_spans *spans, const char *lane, const char *name, double begin_us,
		double end_us)
{
	*FB_ADD(spans->span, spans->count) = (struct fb_span){
		.row = "", .lane = lane, .name = name, .begin_us = begin_us, .end_us = end_us};
}

/* A process or thread: a text, or a number as text. */
static const char *id_of(const json_t *event, const char *name)
{
	const json_t *value = json_object_get(event, name);

	if (json_is_integer(value))
		return fb_new_text("%lld", (long long)json_integer_value(value));
	return json_is_real(value) ? fb_new_text("%g", json_real_value(value))
				   : fb_json_text(event, name);
}

/* Ends the last one begun on the lane. */
static void end_span(struct trace *t, const char *lane, double ts)
{
	for (size_t i = t->open.count; i-- > 0;) {
		const struct fb_span *open = &t->open.span[i];

		if (strcmp(open->lane, lane))
			continue;
		add(t->spans, lane, open->name, open->begin_us, ts);
		t->open.count--;
		memmove(&t->open.span[i], &t->open.span[i + 1],
			(t->open.count - i) * sizeof(t->open.span[0]));
		return;
	}
}

static void add_event(struct trace *t, const json_t *event)
{
	const char *ph = fb_json_text(event, "ph"), *pid = id_of(event, "pid");
	const char *name = fb_new_copy(fb_json_text(event, "name"));
	const char *lane = fb_new_text("%s/%s", pid, id_of(event, "tid"));
	const char *label =
		fb_new_copy(fb_json_text(json_object_get(event, "args"), "name"));
	const json_t *begin = json_object_get(event, "ts"), *dur = json_object_get(event, "dur");
	double ts = json_number_value(begin);

	if (!strcmp(ph, "X") && json_is_number(begin) && json_is_number(dur) &&
	    json_number_value(dur) >= 0)
		add(t->spans, lane, name, ts, ts + json_number_value(dur));
	else if (!strcmp(ph, "B") && json_is_number(begin))
		add(&t->open, lane, name, ts, ts);
	else if (!strcmp(ph, "E") && json_is_number(begin))
		end_span(t, lane, ts);
	else if (!strcmp(ph, "M") && !strcmp(name, "thread_name"))
		add(&t->names, lane, label, 0, 0);
	else if (!strcmp(ph, "M") && !strcmp(name, "process_name"))
		add(&t->names, fb_new_copy(pid), label, 0, 0);
}

static const char *find_name(const struct trace *t, const char *lane, size_t length)
{
	for (size_t i = 0; i < t->names.count; i++) {
		const struct fb_span *name = &t->names.span[i];

		if (strlen(name->lane) == length && !strncmp(name->lane, lane, length))
			return name->name;
	}
	return NULL;
}

/* Lanes get the names of process and thread where there are any. */
static void name_lanes(struct trace *t)
{
	for (size_t i = 0; i < t->spans->count; i++) {
		const char *lane = t->spans->span[i].lane, *slash = strchr(lane, '/');
		int pid = (int)(slash - lane);
		const char *process = find_name(t, lane, (size_t)pid);
		const char *thread = find_name(t, lane, strlen(lane));

		t->spans->span[i].lane =
			process ? fb_new_text("%s %s", process, thread ? thread : slash + 1)
				: fb_new_text("%.*s %s", pid, lane, thread ? thread : slash + 1);
	}
}

int fb_trace_read(struct fb_spans *spans, const char *path)
{
	json_t *document = fb_json_load(path);
	const json_t *events = json_is_object(document)
				       ? json_object_get(document, "traceEvents") : document;
	struct trace t = {.spans = spans};
	int err = document ? FB_OK : FB_EINPUT;

	if (!err && !json_is_array(events))
		err = fb_error(FB_EINPUT, "%s: no Chrome trace: it has no array traceEvents", path);
	for (size_t i = 0; i < json_array_size(events); i++)
		add_event(&t, json_array_get(events, i));
	name_lanes(&t);
	json_decref(document);
	return err;
}
