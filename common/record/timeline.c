/* SPDX-License-Identifier: BSD-3-Clause */
/* See timeline.h. */
#include "common/record/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/append.h"
#include "common/base/error.h"

enum { PATH_CHARS = 1024 };

static const char columns[] = "lane,name,begin_us,end_us,rank,row,clock_error_us,kind\n";

void fb_timeline_row(const char *program, const struct fb_case *c,
		     char row[FB_TIMELINE_ROW_CHARS])
{
	snprintf(row, FB_TIMELINE_ROW_CHARS, "%s %s %s %s %s", program, c->operation, c->engine,
		 c->algorithm, c->variant);
	for (char *at = row; *at; at++)
		if (*at == '"' || *at == '\\' || *at == ',')
			*at = ' ';
}

static int failed(const char *option, const char *path)
{
	return fb_error(FB_EIO, "--%s %s: %s", option, path, strerror(errno));
}

/* Opens for appending; *begun: the file was there. NULL (printed): it cannot be written. */
static FILE *open_file(const char *option, const char *folder, const char *name, bool *begun)
{
	char path[PATH_CHARS];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	*begun = stat(path, &st) == 0 && st.st_size > 0;
	f = fopen(path, "a+");
	if (!f)
		(void)failed(option, path);
	return f;
}

/* Closes what was written. Returns 0 or FB_EIO (printed). */
static int close_file(FILE *f, const char *option, const char *folder)
{
	bool bad = ferror(f) != 0;

	return fclose(f) || bad ? failed(option, folder) : FB_OK;
}

static bool has_columns(FILE *f)
{
	char line[sizeof(columns)] = "";
	bool has;

	rewind(f);
	has = fgets(line, sizeof(line), f) && !strcmp(line, columns);
	/* Between reading and writing a position has to be set. */
	return !fseek(f, 0, SEEK_END) && has;
}

int fb_timeline_open(const char *option, const char *folder, const struct fb_group *world)
{
	return fb_group_agree(world, folder && !world->rank
					     ? fb_timeline_append(option, folder, "", NULL, 0, 0, 0)
					     : FB_OK);
}

int fb_timeline_append(const char *option, const char *folder, const char *row,
		       const struct fb_timeline_span *spans, size_t n, double zero_us,
		       double clock_error_us)
{
	static const char *const kinds[] = {"other", "compute", "communicate"};
	bool begun;
	FILE *f;

	if (fb_make_folder(folder, option))
		return FB_EIO;
	f = open_file(option, folder, "spans.csv", &begun);
	if (!f)
		return FB_EIO;
	if (begun && !has_columns(f)) {
		fclose(f);
		return fb_error(FB_EIO, "--%s %s: spans.csv there has other columns: expected a "
				"file of this version, or none", option, folder);
	}
	if (!begun)
		fputs(columns, f);
	for (size_t k = 0; k < n; k++)
		fprintf(f, "%s,%s,%.3f,%.3f,%d,%s,%.3f,%s\n", spans[k].lane, spans[k].name,
			spans[k].begin_us - zero_us, spans[k].end_us - zero_us, spans[k].rank, row,
			clock_error_us, kinds[spans[k].kind]);
	if (close_file(f, option, folder))
		return FB_EIO;
	/* The array form of the format, which needs no closing bracket: rows can be appended. */
	f = open_file(option, folder, "trace.json", &begun);
	if (!f)
		return FB_EIO;
	for (size_t k = 0; k < n; k++)
		fprintf(f, "%s{\"ph\":\"X\",\"pid\":\"%s\",\"tid\":\"%s\",\"name\":\"%s\","
			"\"ts\":%.3f,\"dur\":%.3f}", begun || k ? ",\n" : "[\n", row,
			spans[k].lane, spans[k].name, spans[k].begin_us - zero_us,
			spans[k].end_us - spans[k].begin_us);
	return close_file(f, option, folder);
}
