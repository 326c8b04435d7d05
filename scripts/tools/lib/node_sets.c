/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the results of sets of nodes; see node_sets.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/node_sets.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/results.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char names_file[] = "nodes.txt";
static const char places_file[] = "allocation.txt";

/* The number of a name, a new one where it was not met before. */
static size_t name_number(struct fb_node_sets *sets, const char *name)
{
	for (size_t i = 0; i < sets->nnames; i++)
		if (!strcmp(sets->name[i], name))
			return i;
	*FB_ADD(sets->name, sets->nnames) = fb_new_copy(name);
	return sets->nnames - 1;
}

static void add_node(struct fb_node_set *set, size_t number)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->node[i] == number)
			return;
	*FB_ADD(set->node, set->count) = number;
}

static int read_names(struct fb_node_sets *sets, struct fb_node_set *set, FILE *file)
{
	char *line;

	while ((line = fb_file_line(file))) {
		line[strcspn(line, " \t\r")] = '\0';
		if (*line)
			add_node(set, name_number(sets, line));
	}
	if (ferror(file))
		return fb_error(FB_EINPUT, "%s/%s: %s", set->path, names_file, strerror(errno));
	if (set->count == 0)
		return fb_error(FB_EINPUT, "%s/%s: expected names of nodes, one a line", set->path,
				names_file);
	return FB_OK;
}

/* All key columns of a row, separated by what no field holds. */
static char *key_of(const struct fb_result *row)
{
	size_t used = 0, n = 1;
	char *key;

	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY)
			n += strlen(row->field[i]) + 1;
	key = fb_new(n, 1);
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY)
			used += (size_t)snprintf(key + used, n - used, "%s\n", row->field[i]);
	return key;
}

/* Adds those rows of set number `set` that have a time. */
static void add_times(struct fb_node_sets *sets, const struct fb_results *results, size_t set)
{
	size_t before = sets->ntimes;

	for (size_t i = 0; i < results->count; i++) {
		const struct fb_result *row = &results->row[i];
		int status = fb_status_parse(fb_result_text(row, "status"));
		double us = fb_result_number(row, "median_us");

		if ((status == FB_STATUS_OK || status == FB_STATUS_FEW) && us > 0)
			*FB_ADD(sets->time, sets->ntimes) = (struct fb_node_time){
				.key = key_of(row),
				.bytes = strtoull(fb_result_text(row, "bytes"), NULL, 10),
				.set = set,
				.us = us,
			};
	}
	sets->without += sets->ntimes == before ? 1 : 0;
}

static int read_rows(struct fb_node_sets *sets, size_t set)
{
	struct fb_results results = {0};
	struct fb_names names;
	int err = fb_folder_names(sets->set[set].path, ".csv", &names);

	for (size_t i = 0; i < names.count && !err; i++) {
		const char *path = fb_new_text("%s/%s", sets->set[set].path, names.name[i]);

		/* Facts, samples and a sweep's own records lie there too; a file may be empty. */
		if (fb_records_are_rows(path))
			err = fb_results_read(&results, path);
	}
	if (!err)
		add_times(sets, &results, set);
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
	*leaf = NULL;
	if (!end)
		return;
	*end = '\0';
	end = strrchr(path, '.');
	*leaf = fb_new_copy(end ? end + 1 : path);
}

/* The leaf switch of a node by a folder's allocation.txt; NULL where it is not known. */
static char *leaf_of(FILE *places, const char *node)
{
	char *line, *leaf = NULL;

	rewind(places);
	while ((line = fb_file_line(places))) {
		if (line[strspn(line, " ")])
			take_leaf(line, node, &leaf);
		fb_drop(line);
	}
	return leaf;
}

/* How many leaf switches the set's nodes are at. */
static size_t count_switches(const struct fb_node_sets *sets, const struct fb_node_set *set,
			     FILE *places)
{
	char **leaf = fb_new(set->count + 1, sizeof(*leaf));
	size_t known = 0, switches = 0;

	for (size_t i = 0; i < set->count; i++) {
		leaf[i] = leaf_of(places, sets->name[set->node[i]]);
		known += leaf[i] ? 1 : 0;
	}
	for (size_t i = 0; known == set->count && i < set->count; i++) {
		size_t before = 0;

		while (before < i && strcmp(leaf[before], leaf[i]))
			before++;
		switches += before == i ? 1 : 0;
	}
	return switches;
}

static int add_set(struct fb_node_sets *sets, const char *folder, FILE *names)
{
	struct fb_node_set *set = FB_ADD(sets->set, sets->nsets);
	FILE *places = fopen(fb_new_text("%s/%s", folder, places_file), "r");
	int err;

	set->path = folder;
	err = read_names(sets, set, names);
	if (places && !err)
		set->switches = count_switches(sets, set, places);
	if (places)
		fclose(places);
	return err ? err : read_rows(sets, sets->nsets - 1);
}

static int walk(struct fb_node_sets *sets, const char *folder);

/* A folder's entry, of any kind. Links to folders are not followed: they might lead back. */
static int visit(struct fb_node_sets *sets, const char *folder, const char *name)
{
	const char *path = fb_new_text("%s/%s", folder, name);
	struct stat st;
	FILE *names;
	int err;

	if (!strcmp(name, names_file)) {
		names = fopen(path, "r");
		if (!names)
			return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
		err = add_set(sets, folder, names);
		fclose(names);
		return err;
	}
	return !lstat(path, &st) && S_ISDIR(st.st_mode) ? walk(sets, path) : FB_OK;
}

static int walk(struct fb_node_sets *sets, const char *folder)
{
	struct fb_names names;
	int err = fb_folder_names(folder, "", &names);

	for (size_t i = 0; i < names.count && !err; i++)
		err = visit(sets, folder, names.name[i]);
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
