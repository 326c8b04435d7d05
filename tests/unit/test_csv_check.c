/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker of result files: what the writer writes is good, and each broken rule is found. */
#include "common/base/error.h"
#include "common/record/csv_check.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

enum { OUT_CHARS = 1 << 15 };

/* Checks a text as a file; the messages go to `out`, and the number of problems is returned. */
static int check_text(const char *dir, const char *text, char *out, size_t n)
{
	const char *path = example_path(dir, "x.csv");
	struct fb_csv_check check = {.out = fmemopen(out, n, "w")};
	int ret;

	out[0] = '\0';
	example_write(path, text);
	ret = fb_csv_check_file(&check, path);
	fclose(check.out);
	return ret ? ret : (int)check.problems;
}

/* The file of one good row, with the fields of the listed columns replaced. */
static void with_changes(char *text, size_t n, const char *const changes[][2])
{
	struct fb_case c = example_case(1024);
	struct fb_row row = example_row(&c);
	char *header = fb_csv_header(NULL, 0), field[FB_FIELD_CHARS];
	FILE *out = fmemopen(text, n, "w");

	fputs(header, out);
	for (size_t i = 0; i < fb_columns_count; i++) {
		fb_column_text(&fb_columns[i], &row, 0, field, sizeof(field));
		for (size_t j = 0; j < 8 && changes[j][0]; j++)
			if (!strcmp(changes[j][0], fb_columns[i].name))
				snprintf(field, sizeof(field), "%s", changes[j][1]);
		if (i)
			fputc(',', out);
		fb_csv_put_field(out, field);
	}
	fputc('\n', out);
	fclose(out);
	free(header);
}

static const struct {
	const char *const changes[8][2];
	int problems;
	const char *says;
} rows[] = {
	{{{NULL, NULL}}, 0, ""},
	{{{"stop", "nmax"}}, 0, ""},
	{{{"stop", ""}}, 0, ""},
	{{{"variant", ""}}, 0, ""},
	{{{"variant", "a=;b="}}, 0, ""},
	{{{"root", "7"}}, 0, ""},
	{{{"redop", "-"}, {"datatype", "-"}}, 0, ""},
	{{{"bound_us", ""}, {"efficiency", ""}}, 0, ""},
	{{{"samples", "99"}, {"p05_us", ""}, {"p95_us", ""}, {"p99_us", ""}}, 0, ""},
	{{{"samples", "999"}, {"p99_us", ""}}, 0, ""},
	{{{"status", "few"}, {"reason", "3 of 50 samples"}}, 0, ""},
	{{{"status", "wrong"}, {"reason", "rank 3"}, {"errors", "5"}}, 0, ""},
	{{{"efficiency", "0.500005"}}, 0, ""},
	{{{"skew_us", "1e-3"}}, 0, ""},

	{{{"schema", "1"}}, 1, "schema: 1: expected 3, as the header has it"},
	{{{"schema", "4"}}, 1, "schema: 4: expected 3, as the header has it"},
	{{{"schema", "one"}}, 1, "schema: 'one' is not of type u64"},
	{{{"schema", ""}}, 1, "schema: '' is not of type u64"},
	{{{"run", ""}}, 1, "run: is empty"},
	{{{"engine", ""}}, 1, "engine: is empty"},
	{{{"utc", "2024-05-31 23:59:59"}}, 1, "utc: '2024-05-31 23:59:59': expected a time"},
	{{{"utc", "2024-13-31T23:59:59Z"}}, 1, "utc:"},
	{{{"utc", "2024-05-31T24:59:59Z"}}, 1, "utc:"},
	{{{"cadence", "fast"}}, 1, "cadence: 'fast'"},
	{{{"datatype", "f33"}}, 1, "datatype: 'f33'"},
	{{{"redop", "plus"}}, 1, "redop: 'plus'"},
	{{{"in_place", "1"}}, 1, "in_place: '1': expected yes or no"},
	{{{"root", "8"}}, 1, "root: 8"},
	{{{"root", "-2"}}, 1, "root: -2"},
	{{{"root", "1.5"}}, 1, "root: '1.5' is not of type i64"},
	{{{"bytes", "-8"}}, 1, "bytes: '-8' is not of type u64"},
	{{{"bytes", "8K"}}, 1, "bytes: '8K'"},
	{{{"ranks", "0"}}, 2, "ranks: is 0"},
	{{{"nodes", "0"}}, 1, "nodes: is 0"},
	{{{"nodes", "9"}}, 1, "nodes: 9 is greater than ranks, 8"},
	{{{"variant", "b=1;a=2"}}, 1, "variant:"},
	{{{"variant", "a=1;a=2"}}, 1, "variant:"},
	{{{"variant", "a=1;"}}, 1, "variant:"},
	{{{"variant", "a"}}, 1, "variant:"},
	{{{"variant", "=1"}}, 1, "variant:"},
	{{{"variant", "a;b=1"}}, 1, "variant:"},
	{{{"status", "fine"}}, 1, "status: 'fine'"},
	{{{"stop", "tired"}}, 1, "stop: 'tired'"},
	{{{"reason", "because"}}, 1, "reason: is there with status ok"},
	{{{"status", "wrong"}}, 1, "reason: is empty with status wrong"},
	{{{"status", "fault"}}, 1, "reason: is empty with status fault"},
	{{{"status", "skipped"}, {"reason", "no GPU"}}, 1, "samples: is 1000 with status skipped"},
	{{{"errors", "1"}}, 1, "errors: is 1 with status ok"},
	{{{"samples", "0"}}, 6, "samples: is 0 with status ok"},
	{{{"samples", "99"}}, 3, "p95_us: needs 100 samples, and there are 99"},
	{{{"samples", "999"}}, 1, "p99_us: needs 1000 samples, and there are 999"},
	{{{"outliers", "1001"}}, 1, "outliers: 1001 is greater than samples, 1000"},
	{{{"median_us", ""}, {"bound_us", ""}, {"efficiency", ""}},
	 1,
	 "median_us: is empty with 1000"},
	{{{"median_us", "nan"}}, 1, "median_us: 'nan' is not of type time_us"},
	{{{"median_us", "-1"}}, 1, "median_us: '-1' is not"},
	{{{"median_us", "0x10"}}, 1, "median_us: '0x10' is not"},
	{{{"median_us", " 10"}}, 1, "median_us: ' 10' is not"},
	{{{"max_us", "1e999"}}, 1, "max_us: '1e999' is not"},
	{{{"median_low_us", "10.0001"}}, 1, "median_low_us: 10.0001 is greater than median_us, 10"},
	{{{"median_high_us", "9.9999"}}, 1, "median_us: 10 is greater than median_high_us"},
	{{{"min_us", "9.5"}}, 1, "min_us: 9.5 is greater than p05_us, 9"},
	{{{"max_us", "19"}}, 1, "p99_us: 20 is greater than max_us, 19"},
	{{{"p95_us", "9"}}, 1, "median_us: 10 is greater than p95_us, 9"},
	{{{"p99_us", "11"}}, 1, "p95_us: 12 is greater than p99_us, 11"},
	{{{"p05_us", "11"}}, 1, "p05_us: 11 is greater than median_us"},
	{{{"rank_min_us", "9.6"}}, 1, "rank_min_us: 9.6 is greater than rank_mean_us"},
	{{{"rank_mean_us", "10.1"}}, 1, "rank_mean_us: 10.1 is greater than median_us"},
	{{{"efficiency", "0.51"}}, 1, "efficiency: '0.51': expected bound_us / median_us, 0.5"},
	{{{"efficiency", ""}}, 1, "efficiency: '': expected"},
	{{{"bound_us", ""}}, 1, "efficiency: without bound_us"},
	{{{"bound_us", "10.8"}, {"efficiency", "1.08"}}, 0, ""},
	{{{"bound_us", "12"}, {"efficiency", "1.2"}}, 0, "warning: bound_us: 12 is above the time"},
	{{{"algbw_GBps", "-1"}}, 1, "algbw_GBps: is negative"},
	{{{"cpu_s", "-1"}}, 1, "cpu_s: is negative"},
	{{{"cpu_s", ""}}, 0, ""},
};

static void test_rows(const char *dir)
{
	char *text = malloc(FILE_CHARS), *out = malloc(OUT_CHARS);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int got;

		with_changes(text, FILE_CHARS, rows[i].changes);
		got = check_text(dir, text, out, OUT_CHARS);
		if (!CHECK_INT(got, rows[i].problems) || !CHECK(strstr(out, rows[i].says)) ||
		    !CHECK(!strstr(out, "warning") == !strstr(rows[i].says, "warning")) ||
		    !CHECK(!rows[i].problems || strstr(out, "/x.csv:2: ")))
			printf("\tline %zu of the table\n%s", i, out);
	}
	free(out);
	free(text);
}

/* Files made of a header, lines, and what is to be said about them. */
static void test_files(const char *dir)
{
	static const char *const none[][2] = {{NULL, NULL}};
	static const char *const fault[][2] = {
		{"status", "fault"}, {"reason", "a rank died"}, {NULL, NULL}};
	char *good = malloc(FILE_CHARS), *bad = malloc(FILE_CHARS), *text = malloc(4 * FILE_CHARS);
	char *out = malloc(OUT_CHARS), *row, *failed;
	int head;

	with_changes(good, FILE_CHARS, none);
	with_changes(bad, FILE_CHARS, fault);
	row = strchr(good, '\n') + 1;
	failed = strchr(bad, '\n') + 1;
	head = (int)(row - good);

	CHECK_INT(check_text(dir, "", out, OUT_CHARS), FB_EINPUT);
	CHECK_INT(check_text(dir, "a,b\n1,2\n", out, OUT_CHARS), FB_EINPUT);
	snprintf(text, 4 * FILE_CHARS, "%.*s", head, good);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 0);
	text[head - 1] = '\0';
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), FB_EINPUT);
	snprintf(text, 4 * FILE_CHARS, "%s%s", good, row);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 1);
	CHECK(strstr(out, "/x.csv:3: this key is there already in launch 3 of run 'study'"));
	snprintf(text, 4 * FILE_CHARS, "%s%s%s", bad, failed, row);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 0);
	snprintf(text, 4 * FILE_CHARS, "%s%.40s", good, row);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 2);
	CHECK(strstr(out, "torn row") && strstr(out, "fields where the header has"));
	snprintf(text, 4 * FILE_CHARS, "%s1,2,3\n%s", good, row);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 2);
	snprintf(text, 4 * FILE_CHARS, "%sa\"b\n", good);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 1);
	CHECK(strstr(out,
		     "x.csv:3: a quote stands inside an unquoted field: the rest is not checked"));
	/* A program's own columns: numbers under well-formed names, none twice. */
	snprintf(text, 4 * FILE_CHARS, "%.*s,own_us,own\n%.*s,1.5,\n", head - 1, good,
		 (int)strlen(row) - 1, row);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 0);
	snprintf(text, 4 * FILE_CHARS, "%.*s,own_us,own_us\n%.*s,x,1\n", head - 1, good,
		 (int)strlen(row) - 1, row);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 2);
	snprintf(text, 4 * FILE_CHARS, "%.*s,Own us\n", head - 1, good);
	CHECK_INT(check_text(dir, text, out, OUT_CHARS), 2);
	free(out);
	free(text);
	free(bad);
	free(good);
}

/* A file of an older schema lacks the last columns, and its rows say so. */
static void test_old(const char *dir)
{
	static const char *const names[] = {NULL, "1", "2", "3"};
	/* The headers of versions 1 and 2 end before the first of these. */
	static const char *const cut[] = {NULL, ",cpu_s,traffic,counters", ",traffic,counters"};
	static const int empty[] = {0, 3, 2};
	char *made = malloc(FILE_CHARS), *text = malloc(FILE_CHARS), out[4096], *row;
	char says[64];

	for (int version = 1; version <= FB_SCHEMA_VERSION; version++)
		for (int header = 1; header < FB_SCHEMA_VERSION; header++) {
			const char *const changes[][2] = {
				{"schema", names[version]}, {"cpu_s", ""}, {"traffic", ""},
				{"counters", ""}, {NULL, NULL}};

			with_changes(made, FILE_CHARS, changes);
			row = strchr(made, '\n') + 1;
			snprintf(text, FILE_CHARS, "%.*s\n%.*s\n",
				 (int)(row - made) - 1 - (int)strlen(cut[header]), made,
				 (int)strlen(row) - 1 - empty[header], row);
			CHECK_INT(check_text(dir, text, out, sizeof(out)), version != header);
			snprintf(says, sizeof(says),
				 "schema: %d: expected %d, as the header has it", version, header);
			CHECK(version == header || strstr(out, says));
		}
	free(text);
	free(made);
}

static void test_sheets(const char *dir)
{
	char out[4096];

	CHECK_INT(check_text(dir,
			     "run,launch_index,program,row,repetition,time_us\nr,0,p,0,0,1.5\n",
			     out, sizeof(out)),
		  0);
	CHECK_INT(check_text(dir, "run,launch_index,program,row,repetition,time_us\nr,x,p,0,0,y\n",
			     out, sizeof(out)),
		  2);
	CHECK_INT(check_text(dir, "scope,host,rank,key,value\nrun,,,a,\"b,c\"\n", out, sizeof(out)),
		  0);
	CHECK_INT(check_text(dir, "scope,host,rank,key,value\nrun,,,a,b,c\n", out, sizeof(out)), 1);
}

/* Two rows of launch 3 of run "study", of two and of no samples, beside a samples.csv. */
static void test_samples(const char *dir)
{
	static const char *const two[][2] = {{"samples", "2"}, {"p05_us", ""}, {"p95_us", ""},
					     {"p99_us", ""},   {"outliers", "0"}, {NULL, NULL}};
	static const char head[] = "run,launch_index,program,row,repetition,time_us\n";
	static const struct {
		const char *samples;
		int problems;
		const char *says;
	} cases[] = {
		{"study,3,all_reduce,0,0,9\nstudy,3,all_reduce,0,1,9\n", 0, ""},
		{"study,3,all_reduce,0,0,9\n", 1,
		 "2: samples: is 2, and samples.csv has 1 of row 0"},
		{"study,3,all_reduce,1,0,9\n", 1, "has 0 of row 0"},
		{"study,3,all_reduce,0,0,9\nstudy,3,all_reduce,0,1,9\n"
		 "study,3,all_reduce,0,2,9\n",
		 1, "has 3 of row 0"},
		/* Another launch, run or program: this one was without --raw. */
		{"study,2,all_reduce,0,0,9\n", 0, ""},
		{"other,3,all_reduce,0,0,9\n", 0, ""},
		{"study,3,broadcast,0,0,9\n", 0, ""},
		{"", 0, ""},
	};
	char *good = malloc(FILE_CHARS), text[512], out[4096];

	with_changes(good, FILE_CHARS, two);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", head, cases[i].samples);
		example_write(example_path(dir, "samples.csv"), text);
		CHECK_INT(check_text(dir, good, out, sizeof(out)), cases[i].problems);
		if (!CHECK(strstr(out, cases[i].says)))
			printf("\tcase %zu: %s\n", i, out);
	}
	unlink(example_path(dir, "samples.csv"));
	free(good);
}

int main(void)
{
	char *dir = example_folder();

	if (!dir) {
		printf("SKIP csv_check: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_rows(dir);
	test_files(dir);
	test_old(dir);
	test_sheets(dir);
	test_samples(dir);
	example_remove(dir);
	return check_done("csv_check");
}
