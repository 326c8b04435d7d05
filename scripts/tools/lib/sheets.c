/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders and files as lists of sheets; see sheet.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/sheet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A file of another kind is an error where it was named, and left out where it was found. */
static int add_file(struct fb_sheets *sheets, const char *path, size_t source, bool named)
{
	struct fb_sheet sheet;
	int err = fb_sheet_read(&sheet, path);

	if (err || (sheet.kind == FB_CSV_OTHER && !named))
		return err;
	if (sheet.kind == FB_CSV_OTHER)
		return fb_error(FB_EINPUT, "%s:1: " FB_NOT_RESULTS, path);
	sheet.source = source;
	*FB_ADD(sheets->sheet, sheets->count) = sheet;
	return FB_OK;
}

static int add_folder(struct fb_sheets *sheets, const char *path, size_t source)
{
	struct fb_names names;
	int err = fb_folder_names(path, ".csv", &names);

	for (size_t i = 0; i < names.count && !err; i++)
		err = add_file(sheets, fb_new_text("%s/%s", path, names.name[i]), source, false);
	return err;
}

/* Reads NAME in the first `folder` characters of a path, where it is there. */
static int add_beside(struct fb_sheets *sheets, const char *path, int folder, const char *name,
		      size_t source)
{
	const char *beside = fb_new_text("%.*s%s", folder, path, name);

	if (!strcmp(path + folder, name) || access(beside, R_OK))
		return FB_OK;
	return add_file(sheets, beside, source, false);
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
	const char *above = fb_new_text("%s/../", path);

	return fb_side_of(path)
		       ? add_beside(sheets, above, (int)strlen(above), "launches.csv", source)
		       : FB_OK;
}

int fb_sheets_read(struct fb_sheets *sheets, char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t first = sheets->count;
		bool any = false, folder = fb_is_folder(paths[i]);
		int err;

		if (access(paths[i], F_OK))
			return fb_error(FB_EINPUT, "%s: %s", paths[i], strerror(errno));
		err = folder ? add_folder(sheets, paths[i], i)
			     : add_file(sheets, paths[i], i, true);
		if (!err)
			err = folder ? add_above(sheets, paths[i], i)
				     : add_all_beside(sheets, paths[i], i);
		if (err)
			return err;
		for (size_t j = first; j < sheets->count; j++)
			any |= sheets->sheet[j].kind == FB_CSV_RESULTS;
		if (!any)
			return fb_error(FB_EINPUT, "%s: no result file%s", paths[i],
					folder ? " in this folder" : "");
	}
	return FB_OK;
}
