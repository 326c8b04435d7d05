/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch numbers and facts of the folder that import adds to; see folder.h. */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "scripts/tools/import/folder.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCOPE, HOST, RANK, KEY, VALUE, FIELDS };

/* One row of environment.csv. */
struct line {
	const char *field[FIELDS];
};

struct lines {
	struct line *line;
	size_t count;
};

static const char hash_key[] = "import.hash";

/* Reads a file of the folder if it is there: sheet->path is NULL where it is not. */
static int read_sheet(struct fb_sheet *sheet, const char *folder, const char *name)
{
	char *path;
	int err = FB_OK;

	*sheet = (struct fb_sheet){.path = NULL};
	path = fb_new_text("%s/%s.csv", folder, name);
	if (access(path, F_OK) == 0)
		err = fb_sheet_read(sheet, path);
	return err;
}

static int number_section(struct fb_import *import, size_t at, const struct fb_sheet *sheet,
			  bool numbered, uint64_t first)
{
	struct fb_import_section *section = &import->section[at];
	int column = fb_sheet_column(sheet, "launch_index");
	bool there = false;

	section->launch = first;
	for (size_t i = 0; column >= 0 && i < sheet->nrows; i++) {
		uint64_t launch = strtoull(sheet->row[i].cell[column], NULL, 10);

		if (!numbered && launch >= section->launch)
			section->launch = launch + 1;
	}
	for (size_t i = 0; i < at; i++)
		if (!import->section[i].side &&
		    !strcmp(import->section[i].program, section->program) &&
		    import->section[i].launch >= section->launch)
			section->launch = import->section[i].launch + 1;
	for (size_t i = 0; column >= 0 && i < sheet->nrows; i++)
		there |= strtoull(sheet->row[i].cell[column], NULL, 10) == section->launch;
	if (there)
		return fb_error(FB_EINPUT,
				"--launch-index: %s has launch %" PRIu64 " already: expected "
				"another number, or none",
				sheet->path, section->launch);
	return FB_OK;
}

static int refuse_twice(const struct fb_import_section *section, const char *where)
{
	return fb_error(FB_EINPUT,
			"%s: %s has this very file already; once more it would count as another "
			"launch",
			section->file, where);
}

/* A file that was imported before, or is given twice. */
static int check_twice(const struct fb_import *import, const struct fb_sheet *facts)
{
	for (size_t i = 0; i < import->nsections; i++) {
		const struct fb_import_section *section = &import->section[i];
		char hash[24];

		snprintf(hash, sizeof(hash), "%016" PRIx64, section->hash);
		for (size_t j = 0; j < i; j++)
			if (import->section[j].hash == section->hash &&
			    import->section[j].file != section->file)
				return refuse_twice(section, "the command line");
		for (size_t j = 0; facts->kind == FB_CSV_FACTS && j < facts->nrows; j++) {
			const char *key = facts->row[j].cell[KEY];
			size_t n = strlen(key), end = strlen(hash_key);

			if (n > end && !strcmp(key + n - end, hash_key) &&
			    !strcmp(facts->row[j].cell[VALUE], hash))
				return refuse_twice(section, facts->path);
		}
	}
	return FB_OK;
}

int fb_import_number(struct fb_import *import, const char *folder, bool numbered, uint64_t first)
{
	struct fb_sheet sheet;
	int err = read_sheet(&sheet, folder, "environment");

	if (!err)
		err = check_twice(import, &sheet);
	for (size_t i = 0; i < import->nsections && !err; i++) {
		if (import->section[i].side)
			continue;
		err = read_sheet(&sheet, folder, import->section[i].program);
		if (!err)
			err = number_section(import, i, &sheet, numbered, first);
	}
	return err;
}

static void add_fact(struct lines *lines, const struct fb_import_section *section,
		     const char *key, const char *value)
{
	const char *whole = key;

	if (section)
		whole = fb_new_text(FB_FACTS_KEPT "%s.%" PRIu64 ".%s", section->program,
				    section->launch, key);
	*FB_ADD(lines->line, lines->count) = (struct line){{"run", "", "", whole, value}};
}

static void add_section(struct lines *lines, const struct fb_import_section *section)
{
	if (!section->side) {
		add_fact(lines, section, "import.file", section->file);
		add_fact(lines, section, "import.format", section->format);
		add_fact(lines, section, "import.tool", section->path);
		add_fact(lines, section, hash_key, fb_new_text("%016" PRIx64, section->hash));
	}
	for (size_t i = 0; i < section->facts.count; i++)
		add_fact(lines, section, section->facts.item[i].key,
			 section->facts.item[i].value);
}

/* What all sections say, once, without a launch. */
static void add_common(struct lines *lines, const struct fb_import *import, const char *run)
{
	const struct fb_facts *facts = &import->section[0].facts;

	add_fact(lines, NULL, "run.name", run);
	for (size_t i = 0; i < facts->count; i++) {
		const char *key = facts->item[i].key, *value = facts->item[i].value;
		bool common = true;

		for (size_t j = 1; j < import->nsections; j++) {
			const char *other = fb_facts_get(&import->section[j].facts, key);

			common &= other && !strcmp(other, value);
		}
		if (common)
			add_fact(lines, NULL, key, value);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = strcmp(x->field[KEY], y->field[KEY]);

	return order ? order : strcmp(x->field[HOST], y->field[HOST]);
}

/* Through a temporary file that takes the name at the end: readers never see half of it. */
static int put_lines(const struct lines *lines, const char *folder)
{
	const char *path = fb_new_text("%s/environment.csv", folder);
	const char *temporary =
		fb_new_text("%s/.environment.%ld.tmp", folder, (long)getpid());
	FILE *out;
	bool bad;
	int err = FB_OK;

	out = fopen(temporary, "we");
	bad = !out;
	if (out) {
		fputs("scope,host,rank,key,value\n", out);
		for (size_t i = 0; i < lines->count; i++)
			for (int f = 0; f < FIELDS; f++) {
				fb_csv_put_field(out, lines->line[i].field[f]);
				fputc(f < VALUE ? ',' : '\n', out);
			}
		bad = ferror(out) != 0;
		bad |= fclose(out) != 0;
	}
	if (bad || rename(temporary, path)) {
		err = fb_error(FB_EIO, "cannot write '%s': %s", path, strerror(errno));
		unlink(temporary);
	}
	return err;
}

/* Telemetry that is imported once more takes the place of what was there. */
static bool is_replaced(const struct fb_import *import, const char *key)
{
	char prefix[128];

	for (size_t i = 0; i < import->nsections; i++) {
		const struct fb_import_section *section = &import->section[i];

		snprintf(prefix, sizeof(prefix), FB_FACTS_KEPT "%s.%" PRIu64 ".", section->program,
			 section->launch);
		if (section->side && !strncmp(key, prefix, strlen(prefix)) &&
		    fb_facts_get(&section->facts, key + strlen(prefix)))
			return true;
	}
	return false;
}

int fb_import_write_facts(const struct fb_import *import, const char *folder, const char *run)
{
	struct lines lines = {.count = 0};
	struct fb_sheet old;
	int err = read_sheet(&old, folder, "environment");

	if (!err && old.path && old.kind != FB_CSV_FACTS)
		err = fb_error(FB_EINPUT, "%s:1: expected scope,host,rank,key,value", old.path);
	for (size_t i = 0; i < old.nrows && !err; i++)
		if (!is_replaced(import, old.row[i].cell[KEY]))
			memcpy(FB_ADD(lines.line, lines.count), old.row[i].cell,
			       sizeof(*lines.line));
	if (err)
		return err;
	if (!old.path)
		add_common(&lines, import, run);
	for (size_t i = 0; i < import->nsections; i++)
		add_section(&lines, &import->section[i]);
	if (lines.count)
		qsort(lines.line, lines.count, sizeof(*lines.line), by_key);
	return put_lines(&lines, folder);
}
