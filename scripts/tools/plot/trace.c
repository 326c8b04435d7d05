/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chrome's trace format, as much of it as timelines need; see spans.h. Only a few fields of flat
 * objects count, so this is a scanner that walks over all else, and no general JSON parser.
 */
#include "common/base/error.h"
#include "scripts/tools/plot/spans.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_CHARS = 128, DEPTH_MAX = 64 };

/* The fields of one event that count. "args" holds a name too: that of a thread or process. */
struct event {
	char name[TEXT_CHARS], label[TEXT_CHARS], ph[8], pid[32], tid[32];
	double ts, dur;
};

struct scanner {
	const char *path, *text, *at;
	struct fb_spans *spans;
	struct fb_spans open;  /* begun (B) and not ended; end_us is not used */
	struct fb_spans names; /* lane: "pid" or "pid/tid", name: what it is called */
	int err;
};

static void fail(struct scanner *s, const char *expected)
{
	size_t line = 1;

	if (s->err)
		return;
	for (const char *c = s->text; c < s->at; c++)
		line += *c == '\n' ? 1 : 0;
	s->err = fb_error(FB_EINPUT, "%s:%zu: expected %s", s->path, line, expected);
}

static void skip_blanks(struct scanner *s)
{
	while (isspace((unsigned char)*s->at))
		s->at++;
}

static bool take(struct scanner *s, char c)
{
	skip_blanks(s);
	if (*s->at != c)
		return false;
	s->at++;
	return true;
}

/* A string without its quotes; what does not fit is cut, escapes other than \" \\ \/ are kept. */
static void read_string(struct scanner *s, char *buf, size_t n)
{
	size_t used = 0;

	if (!take(s, '"')) {
		fail(s, "a string");
		return;
	}
	while (*s->at && *s->at != '"') {
		if (*s->at == '\\' && s->at[1])
			s->at++;
		if (used + 1 < n)
			buf[used++] = *s->at;
		s->at++;
	}
	buf[used] = '\0';
	if (!take(s, '"'))
		fail(s, "the end of a string");
}

/* A string, or the text of a number or word. */
static void read_scalar(struct scanner *s, char *buf, size_t n)
{
	size_t length;

	skip_blanks(s);
	if (*s->at == '"') {
		read_string(s, buf, n);
		return;
	}
	length = strcspn(s->at, ",]} \t\r\n");
	snprintf(buf, n, "%.*s", (int)length, s->at);
	s->at += length;
	if (length == 0)
		fail(s, "a value");
}

/* Walks over a value. Of objects in it only "name" is kept (that of args). */
static void skip_value(struct scanner *s, struct event *event, int depth)
{
	char text[TEXT_CHARS];
	bool object;

	skip_blanks(s);
	if (*s->at != '{' && *s->at != '[') {
		read_scalar(s, text, sizeof(text));
		return;
	}
	if (depth == DEPTH_MAX) {
		fail(s, "fewer brackets in brackets");
		return;
	}
	object = *s->at++ == '{';
	while (!s->err && !take(s, object ? '}' : ']')) {
		if (object) {
			read_string(s, text, sizeof(text));
			if (!take(s, ':'))
				fail(s, "':'");
			skip_blanks(s);
			if (event && !strcmp(text, "name") && *s->at == '"') {
				read_string(s, event->label, sizeof(event->label));
				take(s, ',');
				continue;
			}
		}
		if (!s->err)
			skip_value(s, event, depth + 1);
		if (!take(s, ',') && *s->at != (object ? '}' : ']'))
			fail(s, "',' or a closing bracket");
	}
}

static void read_field(struct scanner *s, struct event *e)
{
	char key[TEXT_CHARS] = "", text[TEXT_CHARS] = "";
	const struct {
		const char *key;
		char *text;
		size_t n;
	} texts[] = {{"name", e->name, sizeof(e->name)},
		     {"ph", e->ph, sizeof(e->ph)},
		     {"pid", e->pid, sizeof(e->pid)},
		     {"tid", e->tid, sizeof(e->tid)}};

	read_string(s, key, sizeof(key));
	if (!s->err && !take(s, ':'))
		fail(s, "':'");
	if (s->err)
		return;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(key, texts[i].key)) {
			read_scalar(s, texts[i].text, texts[i].n);
			return;
		}
	if (strcmp(key, "ts") && strcmp(key, "dur")) {
		skip_value(s, strcmp(key, "args") ? NULL : e, 0);
		return;
	}
	read_scalar(s, text, sizeof(text));
	*(strcmp(key, "ts") ? &e->dur : &e->ts) = strtod(text, NULL);
}

/* Ends the last one begun on the lane. */
static void end_span(struct scanner *s, const char *lane, double ts)
{
	for (size_t i = s->open.count; i-- > 0;) {
		struct fb_span *open = &s->open.span[i];

		if (strcmp(open->lane, lane))
			continue;
		s->err = fb_spans_add(s->spans, "", lane, open->name, open->begin_us, ts);
		free(open->row);
		free(open->lane);
		free(open->name);
		*open = s->open.span[--s->open.count];
		return;
	}
}

static void add_event(struct scanner *s, const struct event *e)
{
	char lane[TEXT_CHARS];

	snprintf(lane, sizeof(lane), "%s/%s", e->pid, e->tid);
	if (!strcmp(e->ph, "X") && isfinite(e->ts) && e->dur >= 0)
		s->err = fb_spans_add(s->spans, "", lane, e->name, e->ts, e->ts + e->dur);
	else if (!strcmp(e->ph, "B") && isfinite(e->ts))
		s->err = fb_spans_add(&s->open, "", lane, e->name, e->ts, e->ts);
	else if (!strcmp(e->ph, "E") && isfinite(e->ts))
		end_span(s, lane, e->ts);
	else if (!strcmp(e->ph, "M") && !strcmp(e->name, "thread_name"))
		s->err = fb_spans_add(&s->names, "", lane, e->label, 0, 0);
	else if (!strcmp(e->ph, "M") && !strcmp(e->name, "process_name"))
		s->err = fb_spans_add(&s->names, "", e->pid, e->label, 0, 0);
}

/* After the opening bracket. A missing end is no error: the writer may have died. */
static void read_events(struct scanner *s)
{
	while (!s->err && !take(s, ']') && *s->at) {
		struct event e = {.ts = (double)NAN, .dur = (double)NAN};

		if (!take(s, '{'))
			fail(s, "an event, which begins with '{'");
		while (!s->err && !take(s, '}')) {
			read_field(s, &e);
			if (!s->err && !take(s, ',') && *s->at != '}')
				fail(s, "',' or '}'");
		}
		if (!s->err)
			add_event(s, &e);
		take(s, ',');
	}
}

static void read_document(struct scanner *s)
{
	char key[TEXT_CHARS];

	if (take(s, '[')) {
		read_events(s);
		return;
	}
	if (!take(s, '{'))
		fail(s, "'{' or '['");
	while (!s->err && !take(s, '}') && *s->at) {
		read_string(s, key, sizeof(key));
		if (!s->err && !take(s, ':'))
			fail(s, "':'");
		if (!s->err && !strcmp(key, "traceEvents") && take(s, '['))
			read_events(s);
		else if (!s->err)
			skip_value(s, NULL, 0);
		take(s, ',');
	}
}

static const char *find_name(const struct scanner *s, const char *lane)
{
	for (size_t i = 0; i < s->names.count; i++)
		if (!strcmp(s->names.span[i].lane, lane))
			return s->names.span[i].name;
	return NULL;
}

/* Lanes get the names of process and thread where there are any. */
static int name_lanes(struct scanner *s)
{
	for (size_t i = 0; i < s->spans->count; i++) {
		char *lane = s->spans->span[i].lane, *slash = strchr(lane, '/'), *whole = NULL;
		const char *thread = find_name(s, lane), *process;

		*slash = '\0';
		process = find_name(s, lane);
		if (asprintf(&whole, "%s %s", process ? process : lane,
			     thread ? thread : slash + 1) < 0)
			return fb_error(FB_ENOMEM, "out of memory for the name of a lane");
		free(lane);
		s->spans->span[i].lane = whole;
	}
	return FB_OK;
}

int fb_trace_read(struct fb_spans *spans, const char *path)
{
	struct scanner s = {.path = path, .spans = spans};
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;

	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	if (getdelim(&text, &n, '\0', file) < 0)
		s.err = fb_error(FB_EINPUT, "%s: empty", path);
	fclose(file);
	s.text = s.at = text;
	if (!s.err)
		read_document(&s);
	if (!s.err)
		s.err = name_lanes(&s);
	fb_spans_free(&s.open);
	fb_spans_free(&s.names);
	free(text);
	return s.err;
}
