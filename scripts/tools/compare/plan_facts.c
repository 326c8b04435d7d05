/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The facts of a side in a sweep's plan: the variables that the study's line `side` sets, and the
 * build. Programs record only the variables that they know.
 */
#include "common/base/error.h"
#include "scripts/tools/compare/set.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SIDE, ENV, BUILD, COLUMNS };
static const char *const names[COLUMNS] = {[SIDE] = "side", [ENV] = "env", [BUILD] = "build"};

struct reader {
	struct fb_env *env;
	const char *path, *side;
	int at[COLUMNS]; /* columns of the file; -1: its header is still to come */
};

static int read_header(struct reader *r, char *line)
{
	char *field;

	for (int i = 0; (field = strsep(&line, "\t")); i++)
		for (int k = 0; k < COLUMNS; k++)
			if (!strcmp(field, names[k]))
				r->at[k] = i;
	for (int k = 0; k < COLUMNS; k++)
		if (r->at[k] < 0)
			return fb_error(FB_EINPUT, "%s: no column %s: expected a sweep's plan",
					r->path, names[k]);
	return FB_OK;
}

/* "NAME=VALUE;NAME=VALUE". */
static void add_variables(struct fb_env *env, char *words)
{
	for (char *save = NULL, *word = strtok_r(words, ";", &save); word;
	     word = strtok_r(NULL, ";", &save)) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		fb_env_add(env, fb_new_text("variable.%s", word), "", -1, value);
	}
}

static int read_line(struct reader *r, char *line)
{
	char *value[COLUMNS] = {NULL, NULL, NULL}, *field;

	if (*line == '#' || !*line)
		return FB_OK;
	if (r->at[SIDE] < 0)
		return read_header(r, line);
	for (int i = 0; (field = strsep(&line, "\t")); i++)
		for (int k = 0; k < COLUMNS; k++)
			if (i == r->at[k])
				value[k] = field;
	if (!value[SIDE] || !value[ENV] || !value[BUILD])
		return fb_error(FB_EINPUT, "%s: a line that is cut off", r->path);
	if (strcmp(value[SIDE], r->side) != 0)
		return FB_OK;
	if (strcmp(value[BUILD], "-"))
		fb_env_add(r->env, "build.folder", "", -1, value[BUILD]);
	add_variables(r->env, value[ENV]);
	return FB_OK;
}

int fb_env_read_plan(struct fb_env *env, const char *path, const char *side)
{
	struct reader r = {.env = env, .path = path, .side = side, .at = {-1, -1, -1}};
	FILE *in = fopen(path, "r");
	char *line;
	int err = FB_OK;

	if (!in)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	while (!err && (line = fb_file_line(in))) {
		line[strcspn(line, "\r")] = '\0';
		err = read_line(&r, line);
	}
	fclose(in);
	return err;
}
