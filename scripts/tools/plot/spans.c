/* SPDX-License-Identifier: BSD-3-Clause */
/* See spans.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/spans.h"
#include "scripts/tools/lib/sheet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	if (err)
		return err;
	row = fb_sheet_column(&table, "row");
	rank = fb_sheet_column(&table, "rank");
	kind = fb_sheet_column(&table, "kind");
	for (size_t i = 0; i < table.nrows; i++) {
		double begin = fb_sheet_number(&table, i, c[2]);
		double end = fb_sheet_number(&table, i, c[3]);

		if (!(end >= begin))
			return fb_error(FB_EINPUT,
					"%s: data line %zu: begin_us '%s', end_us '%s': "
					"expected numbers, the first not above the second",
					path, i + 1, fb_sheet_text(&table, i, c[2]),
					fb_sheet_text(&table, i, c[3]));
		*FB_ADD(spans->span, spans->count) = (struct fb_span){
			.row = fb_sheet_text(&table, i, row),
			.lane = fb_sheet_text(&table, i, c[0]),
			.name = fb_sheet_text(&table, i, c[1]),
			.begin_us = begin,
			.end_us = end,
			.kind = kind_of(fb_sheet_text(&table, i, kind)),
			.rank = (int)strtol(fb_sheet_text(&table, i, rank), NULL, 10),
		};
	}
	return FB_OK;
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
