/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer of result files: exact bytes, other people's files, torn lines, full disks. */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "common/record/samples.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char header[] =
	"schema,run,launch_index,utc,program,operation,engine,algorithm,protocol,transport,memory,"
	"registration,launch,cadence,datatype,redop,root,in_place,bytes,ranks,nodes,variant,status,"
	"reason,samples,stop,setup_us,first_us,median_us,median_low_us,median_high_us,min_us,"
	"p05_us,p95_us,p99_us,max_us,mad_us,rank_mean_us,rank_min_us,skew_us,outliers,algbw_GBps,"
	"busbw_GBps,bound_us,efficiency,errors,path,channels,flags,cpu_s,traffic,counters";

static const char first_row[] =
	"3,study,3,2024-05-31T23:59:59Z,all_reduce,all_reduce,host,ring,simple,shm,host,none,"
	"blocking,streaming,f32,sum,-1,yes,1024,8,2,a=1;b=2,ok,,1000,ci,1234.5679,50.0000,"
	"10.0000,9.9000,10.1250,8.0000,9.0000,12.0000,20.0000,1000000.0000,0.5000,9.5000,"
	"9.0000,0.2000,4,12.3457,21.6049,5.0000,0.5,0,\"shm, \"\"direct\"\"\",2,,7.5e-05,"
	"lo=2000;eth0=30,eth0.rx_dropped=2";

static const struct fb_column extra[] = {
	{.name = "exposed_us", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_TIME_US, .unit = "us"},
	{.name = "share", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = ""},
	{.name = "calls", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_U64, .unit = ""},
};

static void test_rows(const char *dir)
{
	struct fb_case c = example_case(1024);
	struct fb_row row = example_row(&c), skipped = fb_row_empty(&c);
	struct fb_csv csv;
	char expected[FILE_CHARS];

	skipped.run = "study";
	skipped.utc = "2024-01-01T00:00:00Z";
	skipped.ranks = skipped.nodes = 1;
	skipped.status = FB_STATUS_SKIPPED;
	skipped.reason = "no GPU,\nreally\t\x01";
	CHECK_INT(fb_csv_open(&csv, dir, "all_reduce", NULL, 0, true), FB_OK);
	CHECK_INT(fb_csv_append(&csv, &row), FB_OK);
	c.redop = -1;
	c.in_place = false;
	c.cadence = FB_ISOLATED;
	c.variant[0] = '\0';
	CHECK_INT(fb_csv_append(&csv, &skipped), FB_OK);
	CHECK_INT(fb_csv_close(&csv), FB_OK);
	CHECK_INT(fb_csv_close(&csv), FB_OK);
	snprintf(
		expected, sizeof(expected),
		"%s\n%s\n3,study,0,2024-01-01T00:00:00Z,all_reduce,all_reduce,host,ring,simple,shm,"
		"host,none,blocking,isolated,f32,-,-1,no,1024,1,1,,skipped,\"no GPU, really  \",0,"
		",,,,,,,,,,,,,,,0,,,,,0,,0,,,,\n",
		header, first_row);
	CHECK_STR(example_read(example_path(dir, "all_reduce.csv")), expected);
}

static void test_extra(const char *dir)
{
	struct fb_case c = example_case(1024);
	struct fb_row row = example_row(&c);
	const double values[] = {1.25, 0.333333333, 123456789};
	const double partly[] = {(double)NAN, (double)NAN, 7};
	struct fb_csv csv;
	char expected[FILE_CHARS];

	CHECK_INT(fb_csv_open(&csv, dir, "overlap", extra, 3, false), FB_OK);
	row.extra = values;
	CHECK_INT(fb_csv_append(&csv, &row), FB_OK);
	row.extra = partly;
	CHECK_INT(fb_csv_append(&csv, &row), FB_OK);
	row.extra = NULL;
	CHECK_INT(fb_csv_append(&csv, &row), FB_OK);
	CHECK_INT(fb_csv_close(&csv), FB_OK);
	snprintf(expected, sizeof(expected),
		 "%s,exposed_us,share,calls\n%s,1.2500,0.333333,123456789\n%s,,,7\n%s,,,\n", header,
		 first_row, first_row, first_row);
	CHECK_STR(example_read(example_path(dir, "overlap.csv")), expected);
	/* Other columns, fewer or more, are another file. */
	CHECK_INT(fb_csv_open(&csv, dir, "overlap", extra, 2, false), FB_EINPUT);
	CHECK_INT(fb_csv_open(&csv, dir, "overlap", NULL, 0, false), FB_EINPUT);
	CHECK_STR(example_read(example_path(dir, "overlap.csv")), expected);
}

/* Opens after the file was given this text; returns the error and leaves the file's new text. */
static int reopen(const char *dir, const char *text)
{
	struct fb_csv csv;
	int ret;

	example_write(example_path(dir, "torn.csv"), text);
	ret = fb_csv_open(&csv, dir, "torn", NULL, 0, false);
	if (!ret)
		ret = fb_csv_close(&csv);
	return ret;
}

static void test_torn(const char *dir)
{
	char text[2 * FILE_CHARS], whole[FILE_CHARS], big[3 * 4096];

	snprintf(whole, sizeof(whole), "%s\n", header);
	for (size_t cut = 0; cut <= strlen(header); cut += 7) {
		snprintf(text, sizeof(text), "%.*s", (int)cut, header);
		CHECK_INT(reopen(dir, text), FB_OK);
		CHECK_STR(example_read(example_path(dir, "torn.csv")), whole);
	}
	snprintf(whole, sizeof(whole), "%s\n%s\n", header, first_row);
	for (size_t cut = 0; cut < strlen(first_row); cut += 11) {
		snprintf(text, sizeof(text), "%s%.*s", whole, (int)cut, first_row);
		CHECK_INT(reopen(dir, text), FB_OK);
		CHECK_STR(example_read(example_path(dir, "torn.csv")), whole);
	}
	/* A torn line that is longer than the blocks that are read. */
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	snprintf(text, sizeof(text), "%s%s", whole, big);
	CHECK_INT(reopen(dir, text), FB_OK);
	CHECK_STR(example_read(example_path(dir, "torn.csv")), whole);
}

static void test_foreign(const char *dir)
{
	static const char *const foreign[] = {
		"hello", "hello\n", "schema,run\n", "\n", "schema,run,launch_indeX",
	};
	struct fb_csv csv, second;
	char path[EXAMPLE_PATH_CHARS];

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		CHECK_INT(reopen(dir, foreign[i]), FB_EINPUT);
		CHECK_STR(example_read(example_path(dir, "torn.csv")), foreign[i]);
	}
	snprintf(path, sizeof(path), "%s/torn.csv/below", dir);
	CHECK_INT(fb_csv_open(&csv, path, "all_reduce", NULL, 0, false), FB_EINPUT);
	CHECK_INT(fb_csv_open(&csv, "/proc/nowhere", "all_reduce", NULL, 0, false), FB_EINPUT);
	CHECK_INT(fb_csv_open(&csv, "", "all_reduce", NULL, 0, false), FB_EINPUT);
	mkdir(example_path(dir, "folder.csv"), 0777);
	CHECK_INT(fb_csv_open(&csv, dir, "folder", NULL, 0, false), FB_EINPUT);
	mkfifo(example_path(dir, "pipe.csv"), 0666);
	CHECK_INT(fb_csv_open(&csv, dir, "pipe", NULL, 0, false), FB_EINPUT);
	/* Two jobs, one file: the second one is refused as long as the first one has it. */
	snprintf(path, sizeof(path), "%s/a/b//c/", dir);
	CHECK_INT(fb_csv_open(&csv, path, "p", NULL, 0, false), FB_OK);
	CHECK_INT(fb_csv_open(&second, path, "p", NULL, 0, false), FB_EINPUT);
	CHECK_INT(fb_csv_close(&csv), FB_OK);
	CHECK_INT(fb_csv_open(&second, path, "p", NULL, 0, false), FB_OK);
	CHECK_INT(fb_csv_close(&second), FB_OK);
}

/* In a child, as limits cannot be raised again: the file may grow to `limit` bytes only. */
static int fill_up(const char *dir, rlim_t limit)
{
	struct fb_case c = example_case(1024);
	struct fb_row row = example_row(&c);
	struct rlimit size = {limit, limit};
	struct fb_csv csv;
	int rows = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &size))
		return 255;
	if (fb_csv_open(&csv, dir, "full", NULL, 0, false))
		return 100;
	while (rows < 50 && !fb_csv_append(&csv, &row))
		rows++;
	if (fb_csv_append(&csv, &row) != FB_EIO || fb_csv_close(&csv))
		return 254;
	return rows;
}

static void test_full(const char *dir)
{
	size_t line = strlen(first_row) + 1, head = strlen(header) + 1;
	/* Room for no header; for 3 rows and a bit; for exactly 2 rows. */
	const size_t limits[] = {head - 1, head + 3 * line + 17, head + 2 * line};
	const int rows[] = {100, 3, 2};

	for (size_t i = 0; i < 3; i++) {
		const char *path = example_path(dir, "full.csv");
		int status = 0;
		pid_t child;
		size_t length;

		unlink(path);
		fflush(stdout);
		child = fork();
		if (child == 0)
			_exit(fill_up(dir, limits[i]));
		CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
		CHECK_INT(WEXITSTATUS(status), rows[i]);
		length = strlen(example_read(path));
		CHECK_INT(length, rows[i] == 100 ? 0 : head + (size_t)rows[i] * line);
	}
}

static void test_samples(const char *dir)
{
	const double times[] = {1.5, 2.25, 0.00004, 1e7};
	struct fb_samples samples;

	CHECK_INT(fb_samples_open(&samples, dir, "r,1", 2, "all_reduce"), FB_OK);
	CHECK_INT(fb_samples_append(&samples, 0, times, 2), FB_OK);
	CHECK_INT(fb_samples_append(&samples, 1, times, 0), FB_OK);
	CHECK_INT(fb_samples_append(&samples, 5, times + 2, 2), FB_OK);
	CHECK_INT(fb_samples_close(&samples), FB_OK);
	CHECK_INT(fb_samples_open(&samples, dir, "s", 3, "barrier"), FB_OK);
	CHECK_INT(fb_samples_append(&samples, 0, times, 1), FB_OK);
	CHECK_INT(fb_samples_close(&samples), FB_OK);
	CHECK_STR(example_read(example_path(dir, "samples.csv")),
		  "run,launch_index,program,row,repetition,time_us\n"
		  "\"r,1\",2,all_reduce,0,0,1.5000\n\"r,1\",2,all_reduce,0,1,2.2500\n"
		  "\"r,1\",2,all_reduce,5,0,0.0000\n\"r,1\",2,all_reduce,5,1,10000000.0000\n"
		  "s,3,barrier,0,0,1.5000\n");
}

static void test_rank_samples(const char *dir)
{
	/* Two repetitions of two ranks, of which one does not count the second time. */
	const struct fb_rank_time times[] = {{1, 2.5}, {1.25, 3}, {10, 12}, {NAN, NAN}};
	struct fb_samples samples;

	CHECK_INT(fb_samples_open_ranks(&samples, dir, "r", 2, "barrier"), FB_OK);
	CHECK_INT(fb_samples_append_ranks(&samples, 7, times, 2, 2, true), FB_OK);
	CHECK_INT(fb_samples_append_ranks(&samples, 8, times, 0, 2, true), FB_OK);
	CHECK_INT(fb_samples_append_ranks(&samples, 9, times, 1, 2, false), FB_OK);
	CHECK_INT(fb_samples_close(&samples), FB_OK);
	CHECK_STR(example_read(example_path(dir, "ranks.csv")),
		  "run,launch_index,program,row,repetition,rank,begin_us,end_us\n"
		  "r,2,barrier,7,0,0,1.0000,2.5000\nr,2,barrier,7,0,1,1.2500,3.0000\n"
		  "r,2,barrier,7,1,0,10.0000,12.0000\n"
		  "r,2,barrier,9,0,0,,2.5000\nr,2,barrier,9,0,1,,3.0000\n");
}

static void test_schema(void)
{
	char utc[FB_UTC_CHARS];

	CHECK_INT(fb_column_find("schema"), 0);
	CHECK_INT(fb_column_find("counters"), fb_columns_count - 1);
	CHECK_INT(fb_column_find("nothing"), -1);
	for (int i = 0; i < FB_STATUSES; i++)
		CHECK_INT(fb_status_parse(fb_status_name((enum fb_status)i)), i);
	for (int i = 0; i < FB_STOPS; i++)
		CHECK_INT(fb_stop_parse(fb_stop_name((enum fb_stop)i)), i);
	for (int i = 0; i < FB_CADENCES; i++)
		CHECK_INT(fb_cadence_parse(fb_cadence_name((enum fb_cadence)i)), i);
	CHECK_INT(fb_status_parse("OK"), -1);
	CHECK_INT(strlen(fb_utc_now(utc)), 20);
	CHECK_INT(fb_columns_of(FB_SCHEMA_VERSION), fb_columns_count);
	CHECK_INT(fb_columns_of(1), fb_column_find("cpu_s"));
	CHECK_INT(fb_columns_of(2), fb_column_find("traffic"));
	CHECK_INT(fb_columns_of(0), 0);
	CHECK_INT(fb_columns_of(FB_SCHEMA_VERSION + 1), 0);
	CHECK(fb_schema_known("1") && fb_schema_known("3"));
	CHECK(!fb_schema_known("0") && !fb_schema_known("4") && !fb_schema_known("12") &&
	      !fb_schema_known(""));
	for (size_t i = 0; i < fb_columns_count; i++) {
		const char *unit = strstr(fb_columns[i].name, "_us");

		CHECK(strlen(fb_columns[i].help) > 5 && fb_columns[i].unit);
		CHECK((unit && !unit[3]) == (fb_columns[i].type == FB_COLUMN_TIME_US));
		CHECK_INT(fb_column_find(fb_columns[i].name), i);
	}
}

int main(void)
{
	char *dir = example_folder();

	if (!dir) {
		printf("SKIP csv: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_schema();
	test_rows(dir);
	test_extra(dir);
	test_torn(dir);
	test_foreign(dir);
	test_full(dir);
	test_samples(dir);
	test_rank_samples(dir);
	example_remove(dir);
	return check_done("csv");
}
