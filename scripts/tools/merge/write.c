/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the joined folder; see merge.h. The folder has a temporary name until it is complete and
 * checked, so that a job that is killed while it merges leaves no part of a result behind.
 */
#include "common/base/append.h"
#include "common/base/error.h"
#include "common/record/csv.h"
#include "common/record/csv_check.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/merge/merge.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is being written. */
struct target {
	char *path;
	FILE *out;
};

static int open_target(struct target *target, const char *folder, const char *name)
{
	*target = (struct target){.path = fb_new_text("%s/%s.csv", folder, name)};
	target->out = fopen(target->path, "we");
	if (!target->out)
		return fb_error(FB_EIO, "cannot write '%s': %s", target->path, strerror(errno));
	return FB_OK;
}

/* Closes the file and, if `checked`, checks it against the schema. `err`: an earlier error. */
static int close_target(struct target *target, int err, bool checked)
{
	struct fb_csv_check check = {.out = stderr};
	bool bad = false;

	if (target->out) {
		bad = ferror(target->out) != 0;
		bad |= fclose(target->out) != 0;
	}
	if (!err && bad)
		err = fb_error(FB_EIO, "cannot write '%s': %s", target->path, strerror(errno));
	if (!err && checked)
		err = fb_csv_check_file(&check, target->path);
	if (!err && check.problems)
		err = fb_error(FB_EINPUT,
			       "%" PRIu64 " problems in the joined rows: the input "
			       "breaks the rules of the schema",
			       check.problems);
	return err;
}

/* The columns of a program that are not fixed ones, each once. */
static const char **extra_columns(const struct fb_merge *merge, const char *program, size_t *count)
{
	const char **names = NULL;
	const struct fb_sheet *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < merge->rows.count; i++) {
		const struct fb_merge_item *item = &merge->rows.item[i];

		if (item->sheet == last || strcmp(fb_merge_cell(item, "program"), program))
			continue;
		last = item->sheet;
		for (size_t c = 0; c < last->ncolumns; c++) {
			bool known = fb_column_find(last->column[c]) >= 0;

			for (size_t k = 0; k < n && !known; k++)
				known = !strcmp(names[k], last->column[c]);
			if (!known)
				*FB_ADD(names, n) = last->column[c];
		}
	}
	*count = n;
	return names;
}

static void put_cell(const struct fb_merge *merge, const struct fb_merge_item *item,
		     const char *column, FILE *out)
{
	if (!strcmp(column, "launch_index"))
		fprintf(out, "%" PRIu64, merge->launch[item->launch].after);
	else
		fb_csv_put_field(out, fb_merge_cell(item, column));
}

static void put_row(const struct fb_merge *merge, const struct fb_merge_item *item,
		    const char *const *extra, size_t nextra, FILE *out)
{
	size_t launch = (size_t)fb_column_find("launch_index");
	size_t schema = (size_t)fb_column_find("schema");

	for (size_t i = 0; i < fb_columns_count; i++) {
		if (i)
			fputc(',', out);
		if (i == launch)
			fprintf(out, "%" PRIu64, merge->launch[item->launch].after);
		else if (i == schema) /* the header's, whatever the source's was */
			fprintf(out, "%d", FB_SCHEMA_VERSION);
		else
			fb_csv_put_field(out, fb_merge_fixed(item, i));
	}
	for (size_t i = 0; i < nextra; i++) {
		fputc(',', out);
		fb_csv_put_field(out, fb_merge_cell(item, extra[i]));
	}
	fputc('\n', out);
}

/*
 * Sorts by launch, then by time of writing, because readers let the later one of a fault and its
 * repetition count, and the two may come from different sources.
 */
static int by_launch_and_time(const void *a, const void *b, void *arg)
{
	const struct fb_merge *merge = arg;
	const struct fb_merge_item *const *x = a, *const *y = b;
	uint64_t left = merge->launch[(*x)->launch].after;
	uint64_t right = merge->launch[(*y)->launch].after;
	int order;

	if (left != right)
		return left < right ? -1 : 1;
	order = strcmp(fb_merge_cell(*x, "utc"), fb_merge_cell(*y, "utc"));
	return order ? order : *x < *y ? -1 : *x > *y;
}

static size_t count_launches(const struct fb_merge *merge, const struct fb_merge_item **item,
			     size_t n)
{
	size_t launches = 0;

	for (size_t i = 0; i < n; i++)
		launches += i == 0 || merge->launch[item[i]->launch].after !=
					      merge->launch[item[i - 1]->launch].after;
	return launches;
}

static void put_program(const struct fb_merge *merge, const char *program, FILE *out)
{
	const struct fb_merge_item **item = fb_new(merge->rows.count + 1, sizeof(*item));
	size_t nextra = 0, n = 0;
	const char **extra = extra_columns(merge, program, &nextra);
	char *header = fb_csv_header(NULL, 0);

	for (size_t i = 0; i < merge->rows.count; i++)
		if (!merge->rows.item[i].dropped &&
		    !strcmp(fb_merge_cell(&merge->rows.item[i], "program"), program))
			item[n++] = &merge->rows.item[i];
	qsort_r(item, n, sizeof(*item), by_launch_and_time, (void *)(uintptr_t)merge);
	fprintf(out, "%.*s", header ? (int)strcspn(header, "\n") : 0, header ? header : "");
	free(header);
	for (size_t i = 0; i < nextra; i++) {
		fputc(',', out);
		fb_csv_put_field(out, extra[i]);
	}
	fputc('\n', out);
	for (size_t i = 0; i < n; i++)
		put_row(merge, item[i], extra, nextra, out);
	printf("%s.csv: %zu rows of %zu launches\n", program, n, count_launches(merge, item, n));
}

static int write_programs(const struct fb_merge *merge, const char *folder)
{
	for (size_t i = 0; i < merge->nlaunches; i++) {
		const char *program = merge->launch[i].program;
		struct target target;
		bool done = false;
		int err;

		for (size_t j = 0; j < i; j++)
			done |= !strcmp(merge->launch[j].program, program);
		if (done)
			continue;
		err = open_target(&target, folder, program);
		if (!err)
			put_program(merge, program, target.out);
		err = close_target(&target, err, true);
		if (err)
			return err;
	}
	return FB_OK;
}

static int write_repetitions(const struct fb_merge *merge, const struct fb_merge_items *items,
			     const char *folder, const char *name)
{
	const struct fb_sheet *sheet;
	struct target target;
	int err;

	if (items->count == 0)
		return FB_OK;
	err = open_target(&target, folder, name);
	sheet = items->item[0].sheet;
	for (size_t c = 0; c < sheet->ncolumns && !err; c++)
		fprintf(target.out, "%s%s", c ? "," : "", sheet->column[c]);
	for (size_t i = 0; i < items->count && !err; i++) {
		const struct fb_merge_item *item = &items->item[i];

		for (size_t c = 0; c < sheet->ncolumns && !item->dropped; c++) {
			fputc(c ? ',' : '\n', target.out);
			put_cell(merge, item, sheet->column[c], target.out);
		}
	}
	if (!err)
		fputc('\n', target.out);
	return close_target(&target, err, true);
}

static int write_facts(const struct fb_merge *merge, const char *folder)
{
	struct target target;
	bool any = false;
	int err;

	for (size_t i = 0; i < merge->sheets->count; i++)
		any |= merge->sheets->sheet[i].kind == FB_CSV_FACTS;
	if (!any)
		return FB_OK;
	err = open_target(&target, folder, "environment");
	if (!err)
		fb_merge_put_facts(merge, target.out);
	return close_target(&target, err, true);
}

static int write_launches(const struct fb_merge *merge, const char *folder)
{
	struct target target;
	bool checked = false;
	int err;

	if (!fb_merge_has_launches(merge))
		return FB_OK;
	err = open_target(&target, folder, "launches");
	if (!err)
		err = fb_merge_put_launches(merge, target.out, &checked);
	return close_target(&target, err, checked);
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

/* The folder under its temporary name, which is removed also if the process ends without memory. */
static const char *unfinished;

static void remove_unfinished(void)
{
	if (unfinished)
		remove_folder(unfinished);
	unfinished = NULL;
}

int fb_merge_write(const struct fb_merge *merge, const char *folder)
{
	size_t length = strlen(folder);
	char *temporary;
	int err;

	while (length > 1 && folder[length - 1] == '/')
		length--;
	temporary = fb_new_text("%.*s.%ld.tmp", (int)length, folder, (long)getpid());
	unfinished = temporary;
	atexit(remove_unfinished);
	err = fb_make_folder(temporary, "csv");
	if (!err)
		err = write_programs(merge, temporary);
	if (!err)
		err = write_repetitions(merge, &merge->samples, temporary, "samples");
	if (!err)
		err = write_repetitions(merge, &merge->ranks, temporary, "ranks");
	if (!err)
		err = write_facts(merge, temporary);
	if (!err)
		err = write_launches(merge, temporary);
	if (!err && rename(temporary, folder))
		err = fb_error(errno == ENOTEMPTY || errno == EEXIST ? FB_EINPUT : FB_EIO,
			       "cannot make the folder '%s': %s", folder, strerror(errno));
	if (!err)
		unfinished = NULL;
	remove_unfinished();
	return err;
}
