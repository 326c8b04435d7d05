/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the results of sets of nodes; see node_sets.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/node_sets.h"
#include "scripts/tools/lib/results.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char names_file[] = "nodes.txt";
static const char places_file[] = "allocation.txt";

/* The number of a name, a new one where it was not met before; or FB_ENOMEM (printed). */
static int name_number(struct fb_node_sets *sets, const char *name, size_t *number)
{
	char **names, *copy;

	for (size_t i = 0; i < sets->nnames; i++)
		if (!strcmp(sets->name[i], name)) {
			*number = i;
			return FB_OK;
		}
	copy = strdup(name);
	names = copy ? realloc(sets->name, (sets->nnames + 1) * sizeof(*names)) : NULL;
	if (!names) {
		free(copy);
		return fb_error(FB_ENOMEM, "out of memory for the name of a node");
	}
	sets->name = names;
	sets->name[sets->nnames] = copy;
	*number = sets->nnames++;
	return FB_OK;
}

static int add_node(struct fb_node_set *set, size_t number)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->node[i] == number)
			return FB_OK;
	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? 2 * set->capacity : 8;
		size_t *node = realloc(set->node, capacity * sizeof(*node));

		if (!node)
			return fb_error(FB_ENOMEM, "out of memory for %zu nodes", capacity);
		set->node = node;
		set->capacity = capacity;
	}
	set->node[set->count++] = number;
	return FB_OK;
}

static int read_names(struct fb_node_sets *sets, struct fb_node_set *set, FILE *file)
{
	char *line = NULL;
	size_t room = 0, number;
	int err = FB_OK;

	while (!err && getline(&line, &room, file) > 0) {
		line[strcspn(line, " \t\r\n")] = '\0';
		if (!*line)
			continue;
		err = name_number(sets, line, &number);
		if (!err)
			err = add_node(set, number);
	}
	free(line);
	if (!err && ferror(file))
		err = fb_error(FB_EINPUT, "%s/%s: %s", set->path, names_file, strerror(errno));
	if (!err && set->count == 0)
		err = fb_error(FB_EINPUT, "%s/%s: expected names of nodes, one a line", set->path,
			       names_file);
	return err;
}

/* All key columns of a row, separated by what no field holds. NULL where memory is out. */
static char *key_of(const struct fb_result *row)
{
	size_t used = 0, n = 1;
	char *key;

	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY)
			n += strlen(row->field[i]) + 1;
	key = malloc(n);
	if (!key)
		return NULL;
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY)
			used += (size_t)snprintf(key + used, n - used, "%s\n", row->field[i]);
	return key;
}

static int add_time(struct fb_node_sets *sets, const struct fb_result *row, size_t set)
{
	struct fb_node_time *time;
	size_t capacity = sets->capacity ? 2 * sets->capacity : 256;

	if (sets->ntimes == sets->capacity) {
		time = realloc(sets->time, capacity * sizeof(*time));
		if (!time)
			return fb_error(FB_ENOMEM, "out of memory for %zu rows", capacity);
		sets->time = time;
		sets->capacity = capacity;
	}
	time = &sets->time[sets->ntimes];
	*time = (struct fb_node_time){
		.key = key_of(row),
		.bytes = strtoull(fb_result_text(row, "bytes"), NULL, 10),
		.set = set,
		.us = fb_result_number(row, "median_us"),
	};
	if (!time->key)
		return fb_error(FB_ENOMEM, "out of memory for a row");
	sets->ntimes++;
	return FB_OK;
}

/* Of the rows of set number `set` those that have a time. */
static int add_times(struct fb_node_sets *sets, const struct fb_results *results, size_t set)
{
	size_t before = sets->ntimes;
	int err = FB_OK;

	for (size_t i = 0; i < results->count && !err; i++) {
		const struct fb_result *row = &results->row[i];
		int status = fb_status_parse(fb_result_text(row, "status"));

		if ((status == FB_STATUS_OK || status == FB_STATUS_FEW) &&
		    fb_result_number(row, "median_us") > 0)
			err = add_time(sets, row, set);
	}
	sets->without += sets->ntimes == before ? 1 : 0;
	return err;
}

static int is_csv(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && !strcmp(end, ".csv");
}

/* Facts, samples and a sweep's own records lie beside results; and a file may be empty still. */
static bool is_result_file(const char *path)
{
	static const char begin[] = "schema,run,";
	char bytes[sizeof(begin)] = "";
	FILE *file = fopen(path, "r");
	bool is;

	if (!file)
		return false;
	is = fgets(bytes, sizeof(bytes), file) && !strcmp(bytes, begin);
	fclose(file);
	return is;
}

static int read_rows(struct fb_node_sets *sets, size_t set)
{
	struct fb_results results = {0};
	struct dirent **entries;
	char *path = NULL;
	int n = scandir(sets->set[set].path, &entries, is_csv, alphasort), err = FB_OK;

	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", sets->set[set].path, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!err && asprintf(&path, "%s/%s", sets->set[set].path, entries[i]->d_name) < 0)
			err = fb_error(FB_ENOMEM, "out of memory for a path");
		else if (!err && is_result_file(path))
			err = fb_results_read(&results, path);
		free(path);
		path = NULL;
		free(entries[i]);
	}
	free(entries);
	if (!err)
		err = add_times(sets, &results, set);
	fb_results_free(&results);
	return err;
}

/*
 * Cuts the leaf switch out of a line "address h3 top.right.h3", and takes it where that is about
 * the node; the last attempt's line counts.
 */
static void take_leaf(char *line, const char *node, char **leaf)
{
	char *name, *path, *end, *rest = line;

	if (strcmp(strtok_r(line, " \n", &rest), "address"))
		return;
	name = strtok_r(NULL, " \n", &rest);
	path = strtok_r(NULL, " \n", &rest);
	if (!name || !path || strcmp(name, node))
		return;
	end = strrchr(path, '.');
	free(*leaf);
	*leaf = NULL;
	if (!end)
		return;
	*end = '\0';
	end = strrchr(path, '.');
	*leaf = strdup(end ? end + 1 : path);
}

/* The leaf switch of a node by a folder's allocation.txt; malloced, NULL where it is not known. */
static char *leaf_of(FILE *places, const char *node)
{
	char *line = NULL, *leaf = NULL;
	size_t room = 0;

	rewind(places);
	while (getline(&line, &room, places) > 0)
		if (line[strspn(line, " \n")])
			take_leaf(line, node, &leaf);
	free(line);
	return leaf;
}

/* How many leaf switches the set's nodes are at. */
static size_t count_switches(const struct fb_node_sets *sets, const struct fb_node_set *set,
			     FILE *places)
{
	char **leaf = calloc(set->count + 1, sizeof(*leaf));
	size_t known = 0, switches = 0;

	for (size_t i = 0; leaf && i < set->count; i++) {
		leaf[i] = leaf_of(places, sets->name[set->node[i]]);
		known += leaf[i] ? 1 : 0;
	}
	for (size_t i = 0; leaf && known == set->count && i < set->count; i++) {
		size_t before = 0;

		while (before < i && strcmp(leaf[before], leaf[i]))
			before++;
		switches += before == i ? 1 : 0;
	}
	for (size_t i = 0; leaf && i < set->count; i++)
		free(leaf[i]);
	free(leaf);
	return switches;
}

static int read_places(const struct fb_node_sets *sets, struct fb_node_set *set)
{
	char *path = NULL;
	FILE *places;

	if (asprintf(&path, "%s/%s", set->path, places_file) < 0)
		return fb_error(FB_ENOMEM, "out of memory for a path");
	places = fopen(path, "r");
	free(path);
	if (places) {
		set->switches = count_switches(sets, set, places);
		fclose(places);
	}
	return FB_OK;
}

static int add_set(struct fb_node_sets *sets, const char *folder, FILE *names)
{
	struct fb_node_set *set = realloc(sets->set, (sets->nsets + 1) * sizeof(*set));

	if (!set)
		return fb_error(FB_ENOMEM, "out of memory for %zu sets", sets->nsets + 1);
	sets->set = set;
	set += sets->nsets;
	*set = (struct fb_node_set){.path = strdup(folder)};
	if (!set->path)
		return fb_error(FB_ENOMEM, "out of memory for a path");
	sets->nsets++;
	if (read_names(sets, set, names))
		return FB_EINPUT;
	if (read_places(sets, set))
		return FB_ENOMEM;
	return read_rows(sets, sets->nsets - 1);
}

/* Links to folders are not followed: they might lead back. */
static int is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static int walk(struct fb_node_sets *sets, const char *folder);

/* A folder's entry, of any kind. */
static int visit(struct fb_node_sets *sets, const char *folder, const char *name)
{
	char *path = NULL;
	FILE *names;
	int err = FB_OK;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return fb_error(FB_ENOMEM, "out of memory for a path");
	if (!strcmp(name, names_file)) {
		names = fopen(path, "r");
		if (names) {
			err = add_set(sets, folder, names);
			fclose(names);
		} else {
			err = fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
		}
	} else if (name[0] != '.' && is_folder(path)) {
		err = walk(sets, path);
	}
	free(path);
	return err;
}

static int walk(struct fb_node_sets *sets, const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort), err = FB_OK;

	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!err)
			err = visit(sets, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int compare_times(const void *x, const void *y)
{
	const struct fb_node_time *a = x, *b = y;
	int order = strcmp(a->key, b->key);

	return order ? order : (a->set > b->set) - (a->set < b->set);
}

int fb_node_sets_read(struct fb_node_sets *sets, const char *folder)
{
	size_t before = sets->nsets;
	int err = walk(sets, folder);

	if (!err && sets->nsets == before)
		err = fb_error(FB_EINPUT,
			       "%s: no folder with a file %s: expected results that "
			       "scripts/slurm/submit --permute made",
			       folder, names_file);
	if (sets->ntimes)
		qsort(sets->time, sets->ntimes, sizeof(*sets->time), compare_times);
	return err;
}

void fb_node_sets_free(struct fb_node_sets *sets)
{
	for (size_t i = 0; i < sets->nnames; i++)
		free(sets->name[i]);
	for (size_t i = 0; i < sets->nsets; i++) {
		free(sets->set[i].path);
		free(sets->set[i].node);
	}
	for (size_t i = 0; i < sets->ntimes; i++)
		free(sets->time[i].key);
	free(sets->name);
	free(sets->set);
	free(sets->time);
	*sets = (struct fb_node_sets){0};
}
