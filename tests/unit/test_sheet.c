/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sheets: kinds of files, columns in any order, what is refused with which line; and files cut
 * off or damaged at many places, which are rows or a refusal.
 */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/record/csv.h"
#include "scripts/tools/lib/sheet.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

#include <csv.h>

static const char one[] = "tests/golden/summary/one/all_reduce.csv";

static int read_text(const char *folder, const char *text, struct fb_sheet *sheet)
{
	example_write(example_path(folder, "file.csv"), text);
	return fb_sheet_read(sheet, example_path(folder, "file.csv"));
}

static void test_kinds(const char *folder)
{
	static const struct {
		const char *text;
		enum fb_csv_kind kind;
		size_t rows;
	} cases[] = {
		{"", FB_CSV_OTHER, 0},
		{"a,b\n1,2\n", FB_CSV_OTHER, 0},
		{"scope,host,rank,key,value\n", FB_CSV_FACTS, 0},
		{"index,launch_index,flags\n0,0,drift\n", FB_CSV_LAUNCHES, 1},
		{"index,launch_index\n0,0\n", FB_CSV_OTHER, 0},
		{"scope,host,rank,key,value\nrun,,,a,\"b,c\"\nrun,,,b,", FB_CSV_FACTS, 1},
		{"run,launch_index,program,row,repetition,time_us\ns,0,p,0,0,1\n", FB_CSV_SAMPLES,
		 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fb_sheet sheet;

		CHECK_INT(read_text(folder, cases[i].text, &sheet), FB_OK);
		CHECK_INT(sheet.kind, cases[i].kind);
		CHECK_INT(sheet.nrows, cases[i].rows);
	}
}

static void test_results(void)
{
	struct fb_sheet sheet;

	CHECK_INT(fb_sheet_read(&sheet, one), FB_OK);
	CHECK_INT(sheet.kind, FB_CSV_RESULTS);
	CHECK_INT(sheet.nrows, 14);
	CHECK_INT(sheet.row[0].line, 2);
	CHECK_STR(sheet.row[3].cell[fb_sheet_column(&sheet, "algorithm")], "tree");
	CHECK_STR(sheet.row[10].cell[fb_sheet_column(&sheet, "reason")],
		  "needs \"two nodes\", or more");
	CHECK_INT(fb_sheet_column(&sheet, "bites"), -1);
}

static void test_refused(const char *folder)
{
	struct fb_sheet sheet;
	char *header = fb_csv_header(NULL, 0), *text = NULL;

	if (header && asprintf(&text, "%.*s,status\n", (int)strlen(header) - 1, header) > 0) {
		CHECK_INT(read_text(folder, header, &sheet), FB_OK);
		CHECK_INT(read_text(folder, text, &sheet), FB_EINPUT);
		free(text);
	}
	CHECK_INT(read_text(folder, "schema,run\n1,x\n", &sheet), FB_EINPUT);
	CHECK_INT(read_text(folder, "scope,host,rank,key,value\nrun,,,a\n", &sheet), FB_EINPUT);
	CHECK_INT(fb_sheet_read(&sheet, "/nonexistent/file.csv"), FB_EINPUT);
	free(header);
}

/* A file cut off at, or with another byte at, places drawn by lot. */
static void test_damaged(const char *folder)
{
	static const char others[] = "0,\"\n\r x\xff";
	char *text = strdup(example_read(one));
	size_t n = text ? strlen(text) : 0;
	struct fb_rng rng;

	fb_rng_seed(&rng, 1);
	CHECK(n > 1000);
	for (size_t i = 0; i < 600 && n; i++) {
		size_t at = (size_t)fb_rng_below(&rng, n);
		char before = text[at];
		struct fb_sheet sheet;
		int ret;

		text[at] = i % 2 ? '\0' : others[fb_rng_below(&rng, sizeof(others) - 1)];
		ret = read_text(folder, text, &sheet);
		CHECK(ret == FB_OK || ret == FB_EINPUT);
		CHECK(sheet.nrows <= 15);
		text[at] = before;
	}
	free(text);
}

int main(void)
{
	char *folder = example_folder();

	if (!CHECK(folder != NULL))
		return check_done("sheet");
	/* A refusal a case would be much text. */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	test_kinds(folder);
	test_results();
	test_refused(folder);
	test_damaged(folder);
	example_remove(folder);
	return check_done("sheet");
}
