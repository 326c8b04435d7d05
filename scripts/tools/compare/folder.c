/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of a side; see launches.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/compare/set.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Folders may hold a folder for each launch. Links that go deeper than this form a loop. */
enum { DEPTH_MAX = 8 };

/* What is read. */
struct walk {
	struct fb_set *set;
	const struct fb_reading *reading;
	const char *tag; /* of the side, or NULL */
};

/* Whether path/name is a folder, or path/x/name is for a folder x. */
static bool has_folder(const char *path, const char *name, int depth)
{
	struct fb_names names;

	if (fb_is_folder(fb_new_text("%s/%s", path, name)))
		return true;
	if (depth == 0 || !fb_is_folder(path) || fb_folder_names(path, "", &names))
		return false;
	for (size_t i = 0; i < names.count; i++)
		if (has_folder(fb_new_text("%s/%s", path, names.name[i]), name, depth - 1))
			return true;
	return false;
}

bool fb_folder_has_sides(const char *path)
{
	return has_folder(path, "a", 1) && has_folder(path, "b", 1);
}

static int read_file(struct walk *walk, const char *path, const char *name)
{
	if (!strcmp(name, "environment.csv"))
		return fb_env_read(&walk->set->facts, path);
	if (!strcmp(name, "launches.csv"))
		return fb_marks_read(walk->set->marks, path, walk->tag);
	if (!strcmp(name, "plan.tsv"))
		return walk->tag ? fb_env_read_plan(&walk->set->facts, path, walk->tag) : FB_OK;
	return fb_set_read_rows(walk->set, walk->reading, path, true);
}

/* Counts the launches without their closing fact of what was read from one folder. */
static int count_incomplete(struct walk *walk, size_t first_row, size_t first_fact)
{
	struct fb_set *set = walk->set;
	struct fb_closing closing = {.launch = NULL};
	int err = FB_OK;

	for (size_t i = first_row; i < set->count && !err; i++) {
		const struct fb_observation *row = &set->row[i];
		const struct fb_key *key = &walk->reading->keys->key[row->key];
		char launch[24];

		snprintf(launch, sizeof(launch), "%llu",
			 (unsigned long long)set->launch[row->launch].index);
		err = fb_closing_row(&closing, fb_key_text(key, "program"), launch);
	}
	for (size_t i = first_fact; i < set->facts.count && !err; i++)
		err = fb_closing_fact(&closing, set->facts.fact[i].key);
	if (!err)
		set->incomplete += fb_closing_lacking(&closing, set->lacking);
	fb_closing_free(&closing);
	return err;
}

/* Reads the files of a folder before its folders, so that rows of one folder are adjacent. */
static int read_folder(struct walk *walk, const char *path, int depth)
{
	size_t rows = walk->set->count, facts = walk->set->facts.count;
	struct fb_names files = {0}, all = {0};
	int err = fb_folder_names(path, ".csv", &files);

	if (!err)
		err = fb_folder_names(path, "", &all);
	for (size_t i = 0; !err && i < files.count; i++) {
		const char *file = fb_new_text("%s/%s", path, files.name[i]);

		if (!fb_is_folder(file))
			err = read_file(walk, file, files.name[i]);
	}
	if (!err)
		err = count_incomplete(walk, rows, facts);
	for (size_t i = 0; !err && i < all.count && depth < DEPTH_MAX; i++) {
		const char *inner = fb_new_text("%s/%s", path, all.name[i]);

		if (fb_is_folder(inner))
			err = read_folder(walk, inner, depth + 1);
	}
	return err;
}

/* Reads FOLDER/../name or, for a file, FOLDER/name, where it is there. */
static int read_beside(struct walk *walk, const char *path, const char *name)
{
	const char *beside = fb_is_folder(path) ? fb_new_text("%s/../%s", path, name)
						: fb_beside(path, name);

	return access(beside, R_OK) == 0 ? read_file(walk, beside, name) : FB_OK;
}

static int compare_launches(const void *x, const void *y)
{
	const struct fb_launch *a = *(const struct fb_launch *const *)x;
	const struct fb_launch *b = *(const struct fb_launch *const *)y;
	int order = strcmp(a->run, b->run);

	return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Sorts launches by run and index, so that the order of files and rows does not matter. */
static void sort_launches(struct fb_set *set)
{
	const struct fb_launch **order = fb_new(set->nlaunches + 1, sizeof(*order));
	struct fb_launch *sorted = fb_new(set->nlaunches + 1, sizeof(*sorted));
	uint16_t *number = fb_new(set->nlaunches + 1, sizeof(*number));

	for (size_t i = 0; i < set->nlaunches; i++)
		order[i] = &set->launch[i];
	qsort(order, set->nlaunches, sizeof(*order), compare_launches);
	for (size_t i = 0; i < set->nlaunches; i++) {
		sorted[i] = *order[i];
		number[order[i] - set->launch] = (uint16_t)i;
	}
	for (size_t i = 0; i < set->count; i++)
		set->row[i].launch = number[set->row[i].launch];
	set->launch = sorted;
}

/*
 * A side of a study: path/tag, and path/x/tag for the parts x of a study that several jobs made.
 * Beside each lie its launches.csv and its plan.tsv.
 */
static int read_side(struct walk *walk, const char *path, int depth)
{
	struct fb_names names;
	int err = fb_folder_names(path, "", &names);

	for (size_t i = 0; i < names.count && !err; i++) {
		const char *name = names.name[i], *inner = fb_new_text("%s/%s", path, name);

		if (!strcmp(name, "launches.csv") || !strcmp(name, "plan.tsv"))
			err = read_file(walk, inner, name);
		else if (fb_is_folder(inner) && !strcmp(name, walk->tag))
			err = read_folder(walk, inner, 0);
		else if (fb_is_folder(inner) && depth == 0 && name[1])
			err = read_side(walk, inner, 1);
	}
	return err;
}

static int read_all(struct walk *walk, const char *path)
{
	char tag[] = {fb_side_of(path), '\0'};
	int err;

	if (!fb_is_folder(path)) {
		err = fb_set_read_rows(walk->set, walk->reading, path, false);
		if (!err)
			err = read_beside(walk, path, "environment.csv");
		if (!err)
			err = count_incomplete(walk, 0, 0);
		return err ? err : read_beside(walk, path, "launches.csv");
	}
	if (walk->tag) {
		err = read_side(walk, path, 0);
	} else {
		walk->tag = *tag ? tag : NULL;
		err = read_folder(walk, path, 0);
		if (!err && walk->tag)
			err = read_beside(walk, path, "launches.csv");
		if (!err && walk->tag)
			err = read_beside(walk, path, "plan.tsv");
		walk->tag = NULL;
	}
	if (!err && walk->set->files == 0)
		err = fb_error(FB_EINPUT, "%s: no result file in this folder", path);
	return err;
}

int fb_set_read(struct fb_set *set, const struct fb_reading *reading, const char *path,
		const char *tag)
{
	struct walk walk = {.set = set, .reading = reading, .tag = tag};
	int err;

	set->path = path;
	set->side = tag;
	set->marks = fb_new(1, sizeof(*set->marks));
	if (access(path, R_OK) != 0)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	err = read_all(&walk, path);
	if (!err)
		sort_launches(set);
	if (!err && !reading->keep_marked)
		fb_marks_apply(set->marks, set, reading->keys);
	fb_env_sort(&set->facts);
	return err;
}
