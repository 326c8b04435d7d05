/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a side; see launches.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/compare/set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders in folders: launches may have one each. Deeper than this is a loop of links. */
enum { DEPTH_MAX = 8, TAG_CHARS = 64 };

/* What is read. */
struct walk {
	struct fb_set *set;
	const struct fb_reading *reading;
	const char *tag; /* of the side, or NULL */
};

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Whether path/name is a folder, or path/x/name is for a folder x. */
static bool has_folder(const char *path, const char *name, int depth)
{
	struct dirent **entries;
	char *inner = NULL;
	bool found;
	int n;

	if (asprintf(&inner, "%s/%s", path, name) < 0)
		return false;
	found = is_folder(inner);
	free(inner);
	n = found || depth == 0 ? 0 : scandir(path, &entries, wanted, alphasort);
	for (int i = 0; i < n; i++) {
		if (!found && asprintf(&inner, "%s/%s", path, entries[i]->d_name) >= 0) {
			found = is_folder(inner) && has_folder(inner, name, depth - 1);
			free(inner);
		}
		free(entries[i]);
	}
	if (n > 0)
		free(entries);
	return found;
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

/* Files first, so that what belongs to one folder follows each other. */
static int read_folder(struct walk *walk, const char *path, int depth)
{
	size_t rows = walk->set->count, facts = walk->set->facts.count;
	struct dirent **entries;
	int n = scandir(path, &entries, wanted, alphasort), err = FB_OK;

	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	for (int i = 0; i < 2 * n && !err; i++) {
		const char *name = entries[i % n]->d_name;
		char *file = NULL;
		bool folder;

		if (i == n)
			err = count_incomplete(walk, rows, facts);
		if (!err && asprintf(&file, "%s/%s", path, name) < 0)
			err = fb_error(FB_ENOMEM, "out of memory for a path");
		folder = !err && is_folder(file);
		if (!err && i < n && !folder && ends(name, ".csv"))
			err = read_file(walk, file, name);
		else if (!err && i >= n && folder && depth < DEPTH_MAX)
			err = read_folder(walk, file, depth + 1);
		free(file);
	}
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return err;
}

/* Reads FOLDER/../name or, for a file, FOLDER/name, where it is there. */
static int read_beside(struct walk *walk, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) + 1 : 0, err = FB_OK, printed;
	char *beside = NULL;

	if (is_folder(path))
		printed = asprintf(&beside, "%s/../%s", path, name);
	else
		printed = asprintf(&beside, "%.*s%s", length, path, name);
	if (printed < 0)
		return fb_error(FB_ENOMEM, "out of memory for a path");
	if (access(beside, R_OK) == 0)
		err = read_file(walk, beside, name);
	free(beside);
	return err;
}

static int compare_launches(const void *x, const void *y)
{
	const struct fb_launch *a = *(const struct fb_launch *const *)x;
	const struct fb_launch *b = *(const struct fb_launch *const *)y;
	int order = strcmp(a->run, b->run);

	return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* By run and index, so that nothing depends on the order of files and rows. */
static int sort_launches(struct fb_set *set)
{
	const struct fb_launch **order = calloc(set->nlaunches + 1, sizeof(*order));
	struct fb_launch *sorted = calloc(set->nlaunches + 1, sizeof(*sorted));
	uint16_t *number = calloc(set->nlaunches + 1, sizeof(*number));
	int err = FB_OK;

	if (!order || !sorted || !number) {
		err = fb_error(FB_ENOMEM, "out of memory for launches");
		goto free_lists;
	}
	for (size_t i = 0; i < set->nlaunches; i++)
		order[i] = &set->launch[i];
	qsort(order, set->nlaunches, sizeof(*order), compare_launches);
	for (size_t i = 0; i < set->nlaunches; i++) {
		sorted[i] = *order[i];
		number[order[i] - set->launch] = (uint16_t)i;
	}
	for (size_t i = 0; i < set->count; i++)
		set->row[i].launch = number[set->row[i].launch];
	free(set->launch);
	set->launch = sorted;
	sorted = NULL;
free_lists:
	free(number);
	free(sorted);
	free(order);
	return err;
}

/* The last part of a path, if it names a side: "a" of "study/a/". */
static const char *tag_of(const char *path, char tag[TAG_CHARS])
{
	size_t n = strlen(path), start;

	while (n && path[n - 1] == '/')
		n--;
	for (start = n; start && path[start - 1] != '/'; start--)
		;
	if (n - start == 0 || n - start >= TAG_CHARS)
		return NULL;
	snprintf(tag, TAG_CHARS, "%.*s", (int)(n - start), path + start);
	return !strcmp(tag, "a") || !strcmp(tag, "b") ? tag : NULL;
}

/*
 * A side of a study: path/tag, and path/x/tag for the parts x of a study that several jobs made.
 * Beside each lie its launches.csv and its plan.tsv.
 */
static int read_side(struct walk *walk, const char *path, int depth)
{
	struct dirent **entries;
	int n = scandir(path, &entries, wanted, alphasort), err = FB_OK;

	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char *inner = NULL;

		if (!err && asprintf(&inner, "%s/%s", path, name) < 0)
			err = fb_error(FB_ENOMEM, "out of memory for a path");
		else if (!err && (!strcmp(name, "launches.csv") || !strcmp(name, "plan.tsv")))
			err = read_file(walk, inner, name);
		else if (!err && is_folder(inner) && !strcmp(name, walk->tag))
			err = read_folder(walk, inner, 0);
		else if (!err && is_folder(inner) && depth == 0 && name[1])
			err = read_side(walk, inner, 1);
		free(inner);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int read_all(struct walk *walk, const char *path)
{
	char tag[TAG_CHARS];
	int err;

	if (!is_folder(path)) {
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
		walk->tag = tag_of(path, tag);
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
	set->marks = calloc(1, sizeof(*set->marks));
	if (!set->marks)
		return fb_error(FB_ENOMEM, "out of memory for marks");
	if (access(path, R_OK) != 0)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	err = read_all(&walk, path);
	if (!err)
		err = sort_launches(set);
	if (!err && !reading->keep_marked)
		fb_marks_apply(set->marks, set, reading->keys);
	fb_env_sort(&set->facts);
	return err;
}
