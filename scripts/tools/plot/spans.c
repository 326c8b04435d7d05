/* SPDX-License-Identifier: BSD-3-Clause */
/* See spans.h. */
#include "common/base/error.h"
#include "scripts/tools/plot/spans.h"
#include "scripts/tools/lib/sheet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fb_spans_add(struct fb_spans *spans, const char *row, const char *lane, const char *name,
		 double begin_us, double end_us)
{
	struct fb_span *span;

	if (spans->count == spans->capacity) {
		size_t capacity = spans->capacity ? 2 * spans->capacity : 256;
		struct fb_span *grown = realloc(spans->span, capacity * sizeof(*grown));

		if (!grown)
			return fb_error(FB_ENOMEM, "out of memory for %zu spans", capacity);
		spans->span = grown;
		spans->capacity = capacity;
	}
	span = &spans->span[spans->count];
	*span = (struct fb_span){
		.row = strdup(row),
		.lane = strdup(lane),
		.name = strdup(name),
		.begin_us = begin_us,
		.end_us = end_us,
	};
	spans->count++; /* also where a copy failed: then it is freed with the others */
	if (!span->row || !span->lane || !span->name)
		return fb_error(FB_ENOMEM, "out of memory for a span");
	return FB_OK;
}

static enum fb_span_kind kind_of(const char *text)
{
	return !strcmp(text, "compute")	      ? FB_SPAN_COMPUTES
	       : !strcmp(text, "communicate") ? FB_SPAN_COMMUNICATES
					      : FB_SPAN_ANY;
}

static int read_csv(struct fb_spans *spans, const char *path)
{
	static const char *const names[] = {"lane", "name", "begin_us", "end_us", NULL};
	struct fb_sheet table = {0};
	int c[4], row, rank, kind, err = fb_sheet_read_any(&table, path);

	if (!err)
		err = fb_sheet_columns(&table, names, c);
	row = fb_sheet_column(&table, "row");
	rank = fb_sheet_column(&table, "rank");
	kind = fb_sheet_column(&table, "kind");
	for (size_t i = 0; i < table.nrows && !err; i++) {
		double begin = fb_sheet_number(&table, i, c[2]);
		double end = fb_sheet_number(&table, i, c[3]);

		if (end >= begin)
			err = fb_spans_add(spans, fb_sheet_text(&table, i, row),
					   fb_sheet_text(&table, i, c[0]),
					   fb_sheet_text(&table, i, c[1]), begin, end);
		else
			err = fb_error(FB_EINPUT,
				       "%s: data line %zu: begin_us '%s', end_us '%s': "
				       "expected numbers, the first not above the second",
				       path, i + 1, fb_sheet_text(&table, i, c[2]),
				       fb_sheet_text(&table, i, c[3]));
		if (!err) {
			struct fb_span *last = &spans->span[spans->count - 1];

			last->kind = kind_of(fb_sheet_text(&table, i, kind));
			last->rank = (int)strtol(fb_sheet_text(&table, i, rank), NULL, 10);
		}
	}
	fb_sheet_free(&table);
	return err;
}

int fb_spans_read(struct fb_spans *spans, const char *path)
{
	FILE *file = fopen(path, "r");
	int c;

	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	do
		c = fgetc(file);
	while (c != EOF && isspace(c));
	fclose(file);
	return c == '{' || c == '[' ? fb_trace_read(spans, path) : read_csv(spans, path);
}

void fb_spans_free(struct fb_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++) {
		free(spans->span[i].row);
		free(spans->span[i].lane);
		free(spans->span[i].name);
	}
	free(spans->span);
	*spans = (struct fb_spans){0};
}
