/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of DCGM, switches and fabric managers as facts of the launches that ran then: mean,
 * range and growth of each counter between a launch's first and last row; see import.h.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"

enum { NAME_CHARS = 48 };

struct reading {
	double at; /* seconds since 1970 */
	char source[NAME_CHARS], counter[NAME_CHARS];
	double value;
};

struct readings {
	struct reading *item;
	size_t count;
};

/* A time as "2026-01-02T03:04:05.250Z" or in seconds since 1970. */
static bool read_time(const char *text, double *at)
{
	struct tm tm = {.tm_isdst = 0};
	double fraction = 0;
	const char *end;

	if (fb_word_number(text, at))
		return true;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		return false;
	if (*end == '.') {
		char *rest;

		fraction = strtod(end, &rest);
		end = rest;
	}
	*at = (double)timegm(&tm) + fraction;
	return !*end || !strcmp(end, "Z");
}

/* Names become parts of a fact's key. */
static void copy_name(char to[NAME_CHARS], const char *text)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-/:";

	snprintf(to, NAME_CHARS, "%s", text);
	for (char *c = to; *c; c++)
		if (!strchr(fine, *c))
			*c = '_';
}

static int refuse(const struct fb_text *text, size_t i, const char *expected)
{
	return fb_error(FB_EINPUT, "%s:%zu: '%.60s': expected %s", text->path, i + 1, text->line[i],
			expected);
}

static int read_csv(const struct fb_text *text, struct readings *readings)
{
	static const char expected[] = "time,source,counter,value; the time as "
				       "2026-01-02T03:04:05Z or in seconds since 1970";
	int err = FB_OK;

	for (size_t i = 1; i < text->count && !err; i++) {
		struct reading reading;
		char *line = fb_new_copy(text->line[i]), *at = line, *field[4] = {NULL};
		size_t n = 0;

		while (n < 4 && (field[n] = strsep(&at, ",")))
			n++;
		if (!*text->line[i] || fb_text_is_torn(text, i))
			continue;
		if (n < 4 || at || !*field[1] || !*field[2] || !read_time(field[0], &reading.at) ||
		    !fb_word_number(field[3], &reading.value)) {
			err = refuse(text, i, expected);
		} else {
			copy_name(reading.source, field[1]);
			copy_name(reading.counter, field[2]);
			*FB_ADD(readings->item, readings->count) = reading;
		}
	}
	return err;
}

/* A line of one entity: its time, "GPU 0", and a value for each column of the header. */
static int read_entity(const struct fb_text *text, size_t i, const struct fb_words *words,
		       const struct fb_words *header, struct readings *readings)
{
	struct reading reading;
	char name[NAME_CHARS];
	int err = FB_OK;

	if (!read_time(words->word[0], &reading.at))
		return refuse(text, i, "a time before each line, as of ts '%Y-%m-%dT%H:%M:%SZ'");
	if (words->count != header->count + 1)
		return refuse(text, i, "a time, a kind, a number and a value for each column");
	snprintf(name, sizeof(name), "%.20s%.20s", words->word[1], words->word[2]);
	copy_name(reading.source, name);
	for (size_t c = 2; c < header->count && !err; c++) {
		const char *word = words->word[c + 1];

		copy_name(reading.counter, header->word[c]);
		if (fb_word_number(word, &reading.value))
			*FB_ADD(readings->item, readings->count) = reading;
		else if (strcmp(word, "N/A"))
			err = refuse(text, i, "numbers, or N/A");
	}
	return err;
}

/* dcgmi dmon repeats its header. "#Entity" is behind a time, as every line is. */
static int read_dmon(const struct fb_text *text, struct readings *readings)
{
	struct fb_words header = {.count = 0}, words;
	int err = FB_OK;

	for (size_t i = 0; i < text->count && !err; i++) {
		if (fb_text_is_torn(text, i))
			continue;
		fb_words_split(&words, text->line[i]);
		if (words.count > 1 && !strcmp(words.word[1], "#Entity")) {
			header = words;
			continue;
		}
		if (words.count && !strcmp(words.word[0], "#Entity"))
			err = refuse(text, i, "a time before each line, as of ts "
					      "'%Y-%m-%dT%H:%M:%SZ'");
		else if (words.count > 2 && header.count)
			err = read_entity(text, i, &words, &header, readings);
	}
	return err;
}

static int by_counter(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;
	int order = strcmp(x->source, y->source);

	if (!order)
		order = strcmp(x->counter, y->counter);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static bool same_counter(const struct reading *a, const struct reading *b)
{
	return !strcmp(a->source, b->source) && !strcmp(a->counter, b->counter);
}

/* Makes a fact of the readings of one counter during a launch. */
static void add_counter(struct fb_import *import, const struct reading *first, size_t count,
			double begin, double end)
{
	const struct reading *from = NULL, *to = NULL;
	double sum = 0, least = 0, most = 0;
	size_t n = 0;
	char key[2 * NAME_CHARS + 16], value[160];

	for (const struct reading *r = first; r < first + count; r++) {
		if (r->at < begin || r->at > end)
			continue;
		from = from ? from : r;
		to = r;
		least = n && least < r->value ? least : r->value;
		most = n && most > r->value ? most : r->value;
		sum += r->value;
		n++;
	}
	if (!n)
		return;
	snprintf(key, sizeof(key), "telemetry.%s.%s", first->source, first->counter);
	snprintf(value, sizeof(value), "mean %.6g, %.6g to %.6g, grew by %.6g, %zu readings",
		 sum / (double)n, least, most, to->value - from->value, n);
	fb_import_fact(import, key, value);
}

/* The duration of a launch's measurements, by the folder's facts; 0: not known. */
static double duration(const struct fb_sheet *facts, const char *program, const char *launch)
{
	int key = fb_sheet_column(facts, "key"), value = fb_sheet_column(facts, "value");
	char wanted[160];

	snprintf(wanted, sizeof(wanted), FB_FACTS_KEPT "%.64s.%.20s.rows_s", program, launch);
	for (size_t i = 0; key >= 0 && i < facts->nrows; i++)
		if (!strcmp(fb_sheet_text(facts, i, key), wanted))
			return strtod(fb_sheet_text(facts, i, value), NULL);
	return 0;
}

/* The launch that begins in this row: the time from its first row to its last. */
static int add_launch(struct fb_import *import, const struct fb_text *text,
		      const struct readings *readings, const struct fb_sheet *sheet, size_t row,
		      const char *program, const struct fb_sheet *facts)
{
	int launch = fb_sheet_column(sheet, "launch_index"), utc = fb_sheet_column(sheet, "utc");
	const char *number = fb_sheet_text(sheet, row, launch);
	double begin = 0, end = 0, at;
	size_t n;
	struct fb_import_section *section;
	int err;

	for (size_t i = row; i < sheet->nrows; i++) {
		if (strcmp(fb_sheet_text(sheet, i, launch), number) ||
		    !read_time(fb_sheet_text(sheet, i, utc), &at))
			continue;
		begin = begin > 0 && begin < at ? begin : at;
		end = end > at ? end : at;
	}
	/* A row is written after its measurement, and its time is in whole seconds. */
	at = end - duration(facts, program, number);
	begin = at < begin ? at : begin;
	err = fb_import_begin(import, text, program, "-");
	if (err)
		return err;
	section = &import->section[import->nsections - 1];
	section->side = true;
	section->launch = strtoull(number, NULL, 10);
	for (size_t i = 0; i < readings->count; i += n) {
		for (n = 1; i + n < readings->count &&
			    same_counter(&readings->item[i], &readings->item[i + n]);)
			n++;
		add_counter(import, &readings->item[i], n, begin, end + 1);
	}
	if (!section->facts.count) {
		fb_facts_free(&section->tags);
		import->nsections--;
	}
	return FB_OK;
}

/* All launches of one result file. */
static int add_file(struct fb_import *import, const struct fb_text *text,
		    const struct readings *readings, const char *name, const struct fb_sheet *facts)
{
	struct fb_sheet sheet = {.path = NULL};
	char *path = NULL, program[64];
	int launch, err = FB_OK;

	snprintf(program, sizeof(program), "%.*s", (int)(strlen(name) - strlen(".csv")), name);
	path = fb_new_text("%s/%s", import->folder, name);
	err = fb_sheet_read(&sheet, path);
	launch = err || sheet.kind != FB_CSV_RESULTS ? -1 : fb_sheet_column(&sheet, "launch_index");
	for (size_t i = 0; launch >= 0 && i < sheet.nrows && !err; i++) {
		bool seen = false;

		for (size_t j = 0; j < i && !seen; j++)
			seen = !strcmp(fb_sheet_text(&sheet, i, launch),
				       fb_sheet_text(&sheet, j, launch));
		if (!seen)
			err = add_launch(import, text, readings, &sheet, i, program, facts);
	}
	return err;
}

static int add_folder(struct fb_import *import, const struct fb_text *text,
		      struct readings *readings)
{
	struct fb_sheet facts = {.path = NULL};
	struct fb_names names = {.count = 0};
	size_t sections = import->nsections;
	int err = FB_OK;

	if (readings->count)
		qsort(readings->item, readings->count, sizeof(*readings->item), by_counter);
	if (import->folder && fb_is_folder(import->folder))
		err = fb_folder_names(import->folder, ".csv", &names);
	if (!err && names.count)
		err = fb_sheet_read(&facts, fb_new_text("%s/environment.csv", import->folder));
	for (size_t i = 0; i < names.count && !err; i++)
		err = add_file(import, text, readings, names.name[i], &facts);
	if (!err && import->nsections == sections)
		err = fb_error(FB_EINPUT,
			       "%s: no reading is of a time in which a launch of '%s' ran: "
			       "expected the folder of its results, and times in UTC", text->path,
			       import->folder ? import->folder : "");
	return err;
}

bool fb_telemetry_csv_detect(const struct fb_text *text)
{
	return text->count && !strcmp(text->line[0], "time,source,counter,value");
}

int fb_telemetry_csv_read(struct fb_import *import, const struct fb_text *text)
{
	struct readings readings = {.count = 0};
	int err = read_csv(text, &readings);

	if (!err)
		err = add_folder(import, text, &readings);
	return err;
}

bool fb_dcgm_dmon_detect(const struct fb_text *text)
{
	return fb_text_holds(text, "#Entity");
}

int fb_dcgm_dmon_read(struct fb_import *import, const struct fb_text *text)
{
	struct readings readings = {.count = 0};
	int err = read_dmon(text, &readings);

	if (!err)
		err = add_folder(import, text, &readings);
	return err;
}
