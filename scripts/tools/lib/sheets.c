/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders and files as lists of sheets; see sheet.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/sheet.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int push(struct fb_sheets *sheets, const struct fb_sheet *sheet, size_t source)
{
	struct fb_sheet *list = realloc(sheets->sheet, (sheets->count + 1) * sizeof(*list));
	size_t *sources;

	if (list)
		sheets->sheet = list;
	sources = realloc(sheets->source, (sheets->count + 1) * sizeof(*sources));
	if (sources)
		sheets->source = sources;
	if (!list || !sources)
		return fb_error(FB_ENOMEM, "no memory for the list of files");
	sheets->sheet[sheets->count] = *sheet;
	sheets->source[sheets->count++] = source;
	return FB_OK;
}

/* A file of another kind is an error where it was named, and left out where it was found. */
static int add_file(struct fb_sheets *sheets, const char *path, size_t source, bool named)
{
	struct fb_sheet sheet = {.path = NULL};
	int err = fb_sheet_read(&sheet, path);

	if (!err && sheet.kind == FB_CSV_OTHER && named)
		err = fb_error(FB_EINPUT,
			       "%s:1: not a result file: its first line should begin "
			       "with schema,run",
			       path);
	if (!err && sheet.kind != FB_CSV_OTHER)
		err = push(sheets, &sheet, source);
	if (err || sheet.kind == FB_CSV_OTHER)
		fb_sheet_free(&sheet);
	return err;
}

static int is_csv(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 4 && !strcmp(entry->d_name + n - 4, ".csv");
}

static int add_folder(struct fb_sheets *sheets, const char *path, size_t source)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_csv, alphasort), err = FB_OK;

	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (!err && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
			err = fb_error(FB_ENOMEM, "no memory for a path");
		else if (!err)
			err = add_file(sheets, file, source, false);
		free(file);
		free(entries[i]);
	}
	free(entries);
	return err;
}

/* Reads NAME in the first `folder` characters of a path, where it is there. */
static int add_beside(struct fb_sheets *sheets, const char *path, int folder, const char *name,
		      size_t source)
{
	char *beside = NULL;
	int err = FB_OK;

	if (!strcmp(path + folder, name))
		return FB_OK;
	if (asprintf(&beside, "%.*s%s", folder, path, name) < 0)
		return fb_error(FB_ENOMEM, "no memory for a path");
	if (access(beside, R_OK) == 0)
		err = add_file(sheets, beside, source, false);
	free(beside);
	return err;
}

static int add_all_beside(struct fb_sheets *sheets, const char *path, size_t source)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	int err = add_beside(sheets, path, folder, "environment.csv", source);

	return err ? err : add_beside(sheets, path, folder, "launches.csv", source);
}

char fb_side_of(const char *path)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	if (n == 0 || (n > 1 && path[n - 2] != '/'))
		return 0;
	return path[n - 1] == 'a' || path[n - 1] == 'b' ? path[n - 1] : 0;
}

/* A sweep of two sides writes one launches.csv for both, above them. */
static int add_above(struct fb_sheets *sheets, const char *path, size_t source)
{
	char *above = NULL;
	int err;

	if (!fb_side_of(path))
		return FB_OK;
	if (asprintf(&above, "%s/../", path) < 0)
		return fb_error(FB_ENOMEM, "no memory for a path");
	err = add_beside(sheets, above, (int)strlen(above), "launches.csv", source);
	free(above);
	return err;
}

int fb_sheets_read(struct fb_sheets *sheets, char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t first = sheets->count;
		bool any = false;
		struct stat st;
		int err;

		if (stat(paths[i], &st))
			return fb_error(FB_EINPUT, "%s: %s", paths[i], strerror(errno));
		if (S_ISDIR(st.st_mode))
			err = add_folder(sheets, paths[i], i);
		else
			err = add_file(sheets, paths[i], i, true);
		if (!err)
			err = S_ISDIR(st.st_mode) ? add_above(sheets, paths[i], i)
						  : add_all_beside(sheets, paths[i], i);
		if (err)
			return err;
		for (size_t j = first; j < sheets->count; j++)
			any |= sheets->sheet[j].kind == FB_CSV_RESULTS;
		if (!any)
			return fb_error(FB_EINPUT, "%s: no result file%s", paths[i],
					S_ISDIR(st.st_mode) ? " in this folder" : "");
	}
	return FB_OK;
}

void fb_sheets_free(struct fb_sheets *sheets)
{
	for (size_t i = 0; i < sheets->count; i++)
		fb_sheet_free(&sheets->sheet[i]);
	free(sheets->sheet);
	free(sheets->source);
	*sheets = (struct fb_sheets){.sheet = NULL};
}
