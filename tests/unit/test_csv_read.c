/* SPDX-License-Identifier: BSD-3-Clause */
/* The CSV reader on well-formed and malformed text, and what --resume reads with it. */
#include <math.h>

#include "common/base/error.h"
#include "common/record/csv_read.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

/* The file's records as "[field|field]..." and, at the end, "!problem" where there is one. */
static void read_all(const char *path, char *buf, size_t n)
{
	struct fb_csv_reader r;
	size_t used = 0;
	int more;

	buf[0] = '\0';
	if (fb_csv_reader_open(&r, path))
		return;
	while ((more = fb_csv_reader_next(&r)) == 1) {
		used += (size_t)snprintf(buf + used, n - used, "%d[", (int)r.line);
		for (size_t i = 0; i < r.nfields; i++)
			used += (size_t)snprintf(buf + used, n - used, "%s%s", i ? "|" : "",
						 r.fields[i]);
		used += (size_t)snprintf(buf + used, n - used, "]%s", r.torn ? "torn" : "");
	}
	if (more < 0)
		snprintf(buf + used, n - used, "%d!%s", (int)r.line, r.problem);
	fb_csv_reader_close(&r);
	fb_csv_reader_close(&r);
}

static void test_records(const char *dir)
{
	static const struct {
		const char *text, *records;
	} known[] = {
		{"", ""},
		{"a\n", "1[a]"},
		{"a,b\nc,d\n", "1[a|b]2[c|d]"},
		{"a,b\r\nc,d\r\n", "1[a|b]2[c|d]"},
		{"a,b", "1[a|b]torn"},
		{"a,", "1[a|]torn"},
		{",\n", "1[|]"},
		{",,\n,,\n", "1[||]2[||]"},
		{"\n\n", "1[]2[]"},
		{"\"a\",\"\"\n", "1[a|]"},
		{"\"a,b\",c\n", "1[a,b|c]"},
		{"\"say \"\"hi\"\"\",x\n", "1[say \"hi\"|x]"},
		{"\"two\nlines\",x\ny,z\n", "1[two\nlines|x]3[y|z]"},
		{"\"a\"", "1[a]torn"},
		{"\"a\"\r\nb\n", "1[a]2[b]"},
		{" a , b \n", "1[ a | b ]"},
		{"\"\"\"\"\n", "1[\"]"},
		{"a\n\"b", "1[a]2!the file ends inside a quoted field"},
		{"a\nb\"c\n", "1[a]2!a quote stands inside an unquoted field"},
		{"\"a\"b\n", "1!text follows a closing quote"},
		{"\"a\" ,b\n", "1!text follows a closing quote"},
		{"a\rb\n", "1!a carriage return stands alone"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char got[512];
		const char *path = example_path(dir, "a.csv");

		example_write(path, known[i].text);
		read_all(path, got, sizeof(got));
		CHECK_STR(got, known[i].records);
	}
}

static void test_limits(const char *dir)
{
	const char *path = example_path(dir, "b.csv");
	char got[256];
	FILE *file = fopen(path, "w");

	fwrite("a\0b\n", 1, 4, file);
	fclose(file);
	read_all(path, got, sizeof(got));
	CHECK_STR(got, "1!there is a NUL byte");
	file = fopen(path, "w");
	for (int i = 0; i < FB_CSV_FIELDS_MAX; i++)
		fputc(',', file);
	fputc('\n', file);
	fclose(file);
	read_all(path, got, sizeof(got));
	CHECK_STR(got, "1!a record has more than 1024 fields");
	file = fopen(path, "w");
	for (int i = 0; i < FB_CSV_RECORD_MAX; i++)
		fputc('x', file);
	fclose(file);
	read_all(path, got, sizeof(got));
	CHECK_STR(got, "1!a record is longer than 1 MiB");
	CHECK_INT(fb_csv_reader_open(&(struct fb_csv_reader){0}, "/nowhere/x.csv"), FB_EINPUT);
}

/* Whatever the writer quotes, the reader gives back. */
static void test_round_trip(const char *dir)
{
	static const char *const fields[] = {
		"",	    "plain",  "a,b", "\"", "\"\"", "a\nb", " lead and trail ",
		"\xc3\xa9", "',;|\t", ",",
	};
	enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };
	const char *path = example_path(dir, "c.csv");
	struct fb_csv_reader r;
	FILE *file = fopen(path, "w");

	for (size_t i = 0; i < FIELDS; i++) {
		if (i)
			fputc(',', file);
		fb_csv_put_field(file, fields[i]);
	}
	fputc('\n', file);
	fclose(file);
	CHECK_INT(fb_csv_reader_open(&r, path), FB_OK);
	CHECK_INT(fb_csv_reader_next(&r), 1);
	CHECK_INT(r.nfields, FIELDS);
	for (size_t i = 0; i < FIELDS && i < r.nfields; i++)
		CHECK_STR(r.fields[i], fields[i]);
	CHECK_INT(fb_csv_reader_next(&r), 0);
	fb_csv_reader_close(&r);
}

static void write_rows(const char *dir)
{
	static const enum fb_status statuses[] = {
		FB_STATUS_OK, FB_STATUS_WRONG, FB_STATUS_SKIPPED, FB_STATUS_FEW, FB_STATUS_FAULT,
	};
	struct fb_csv csv;

	CHECK_INT(fb_csv_open(&csv, dir, "all_reduce", NULL, 0, false), FB_OK);
	for (uint64_t i = 0; i < 1000; i++) {
		struct fb_case c = example_case(i);
		struct fb_row row = example_row(&c);

		row.status = statuses[i % 5];
		row.launch_index = i < 500 ? 3 : 4;
		row.median_us = (double)i + 0.5;
		row.median_low_us = (double)NAN;
		CHECK_INT(fb_csv_append(&csv, &row), FB_OK);
	}
	CHECK_INT(fb_csv_close(&csv), FB_OK);
}

static bool has(const struct fb_finished *set, uint64_t bytes)
{
	struct fb_case c = example_case(bytes);
	struct fb_row row = example_row(&c);

	return fb_finished_has(set, &row);
}

/* A row's median by its key, of this launch only, and of no row that is run again. */
static void test_times(const char *dir)
{
	struct fb_csv_median median = {0};
	int right = 0;

	for (uint64_t i = 485; i < 515; i++) {
		struct fb_case c = example_case(i);
		struct fb_row row = example_row(&c);
		bool known = fb_csv_times(dir, "all_reduce", 3, &row, &median);

		right += known == (i < 500 && i % 5 != 4) &&
			 (!known || (median.us > (double)i && median.us < (double)i + 1 &&
				     isnan(median.low_us)));
	}
	CHECK_INT(right, 30);
}

static void test_finished(const char *dir)
{
	struct fb_finished set;
	struct fb_case c = example_case(0);
	struct fb_row row = example_row(&c);
	int right = 0;

	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_OK);
	CHECK_INT(set.count, 0);
	CHECK(!has(&set, 0));
	write_rows(dir);
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_OK);
	CHECK_INT(set.count, 400);
	CHECK_INT(set.rows, 500); /* with the faults */
	for (uint64_t i = 0; i < 1000; i++)
		right += has(&set, i) == (i < 500 && i % 5 != 4);
	CHECK_INT(right, 1000);
	/* Every key column counts; values do not. */
	row.median_us = 1;
	row.run = "another";
	CHECK(fb_finished_has(&set, &row));
	row.ranks = 9;
	CHECK(!fb_finished_has(&set, &row));
	row.ranks = 8;
	c.in_place = false;
	CHECK(!fb_finished_has(&set, &row));
	c.in_place = true;
	c.algorithm = "rin";
	CHECK(!fb_finished_has(&set, &row));
	c.algorithm = "ring";
	strcpy(c.variant, "a=1;b=3");
	CHECK(!fb_finished_has(&set, &row));
	fb_finished_free(&set);
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 4), FB_OK);
	CHECK_INT(set.count, 400);
	fb_finished_free(&set);
	test_times(dir);
}

/* Files that a kill or somebody else left. */
static void test_unusual(const char *dir)
{
	struct fb_finished set;
	const char *path = example_path(dir, "all_reduce.csv");
	char *text = strdup(example_read(path)), *header = strdup(text), *row;

	header[strcspn(header, "\n") + 1] = '\0';
	row = text + strlen(header);
	row[strcspn(row, "\n") - 3] = '\0';
	example_write(path, text); /* the only row is torn */
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_OK);
	CHECK_INT(set.count, 0);
	header[20] = '\0';
	example_write(path, header); /* a torn header */
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_OK);
	example_write(path, "");
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_OK);
	example_write(path, "a,b,c\n1,2,3\n");
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_EINPUT);
	text[strlen(text)] = '\n';
	memcpy(row, "1,too,short\n", sizeof("1,too,short\n"));
	example_write(path, text);
	CHECK_INT(fb_csv_finished(&set, dir, "all_reduce", 3), FB_EINPUT);
	CHECK_INT(set.count, 0);
	free(header);
	free(text);
}

static void test_set(void)
{
	struct fb_finished set = {.slots = NULL};
	char key[32];
	int new = 0, old = 0;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			int ret;

			snprintf(key, sizeof(key), "key %d", i);
			ret = fb_finished_add(&set, key);
			new += ret == 1;
			old += ret == 0;
		}
	CHECK_INT(new, 5000);
	CHECK_INT(old, 5000);
	CHECK_INT(set.count, 5000);
	fb_finished_free(&set);
	fb_finished_free(&set);
}

int main(void)
{
	char *dir = example_folder();

	if (!dir) {
		printf("SKIP csv_read: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_records(dir);
	test_limits(dir);
	test_round_trip(dir);
	test_finished(dir);
	test_unusual(dir);
	test_set();
	example_remove(dir);
	return check_done("csv_read");
}
