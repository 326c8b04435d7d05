/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: every type, defaults, both spellings, and many bad command lines. */
#include "tests/unit/check.h"
#include "tests/unit/option_example.h"

#include <math.h>
#include <stdlib.h>

static void test_defaults(const struct fb_option_chain *chain, const struct values *v,
			  const struct own *o)
{
	char text[1024];

	CHECK_INT(parse(chain, "", text, sizeof(text)), FB_OK);
	CHECK_STR(text, "");
	CHECK_INT(v->bytes.count, 4);
	CHECK_INT(v->engines, 7);
	CHECK_INT(v->engine, 1);
	CHECK_INT(v->root, 0);
	CHECK_INT(v->samples, 2000);
	CHECK_NEAR(v->factor, 1.5, 0);
	CHECK_NEAR(v->ci, 0.01, 1e-15);
	CHECK_NEAR(v->max_time_s, 1, 0);
	CHECK(!v->raw && !v->quiet);
	CHECK(v->csv == NULL);
	CHECK_STR(v->even, "ab");
	CHECK_INT(o->depth, 4);
}

static void test_values(const struct fb_option_chain *chain, const struct values *v,
			const struct own *o)
{
	static const struct {
		const char *text;
		double seconds;
	} times[] = {
		{"1s", 1},    {"1.5s", 1.5},   {"500ms", 0.5},	 {"20000us", 0.02}, {"2min", 120},
		{"1h", 3600}, {"1e6ns", 1e-3}, {"0.001s", 1e-3}, {".5s", 0.5},	    {"1e1s", 10},
	};
	char text[1024], line[64];

	CHECK_INT(parse(chain, "--bytes=1K --engines nccl,host -r -1 -n4K --factor=2.5", text,
			sizeof(text)),
		  FB_OK);
	CHECK_INT(v->bytes.count, 1);
	CHECK_INT(v->bytes.value[0], 1024);
	CHECK_INT(v->engines, 5);
	CHECK_INT(v->root, -1);
	CHECK_INT(v->samples, 4096);
	CHECK_NEAR(v->factor, 2.5, 0);
	CHECK_INT(parse(chain, "--ci 2% --raw -q --csv out --engine=nccl -d 64 --", text,
			sizeof(text)),
		  FB_OK);
	CHECK_NEAR(v->ci, 0.02, 1e-15);
	CHECK(v->raw && v->quiet);
	CHECK_STR(v->csv, "out");
	CHECK_INT(v->engine, 2);
	CHECK_INT(o->depth, 64);
	CHECK_INT(v->samples, 2000);
	CHECK_INT(parse(chain, "--ci=0.25 --raw=no --quiet=yes --engines host,host", text,
			sizeof(text)),
		  FB_OK);
	CHECK_NEAR(v->ci, 0.25, 0);
	CHECK(!v->raw && v->quiet);
	CHECK_INT(v->engines, 1);
	CHECK_INT(parse(chain, "--root 5 -r 5 --raw --raw", text, sizeof(text)), FB_OK);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		snprintf(line, sizeof(line), "--max-time=%s", times[i].text);
		CHECK_INT(parse(chain, line, text, sizeof(text)), FB_OK);
		CHECK_NEAR(v->max_time_s, times[i].seconds, times[i].seconds * 1e-12);
	}
}

/* Each line with two things that the message has to say. */
static const struct {
	const char *line, *first, *second;
} bad[] = {
	{"foo", "argument 'foo'", "--help"},
	{"8", "argument '8'", "options only"},
	{"--raw yes", "argument 'yes'", "options only"},
	{"-- foo", "argument 'foo'", "options only"},
	{"-- --raw", "argument '--raw'", "options only"},
	{"_", "argument ''", "options only"},
	{"-", "argument '-'", "options only"},
	{"--byte=8", "unknown option --byte", "did you mean --bytes?"},
	{"--byts 8", "unknown option --byts", "did you mean --bytes?"},
	{"--max-time-s=1", "unknown option --max-time-s", "did you mean --max-time?"},
	{"--maxsamples=9", "unknown option --maxsamples", "did you mean --max-samples?"},
	{"--engin=mpi", "unknown option --engin:", "did you mean --engine?"},
	{"--engnies=mpi", "unknown option --engnies", "did you mean --engines?"},
	{"--max=9", "unknown option --max", "did you mean --max-"},
	{"--Root=1", "unknown option --Root", "did you mean --root?"},
	{"--zzzzzzzz", "unknown option --zzzzzzzz", "--help lists"},
	{"--x", "unknown option --x", "--help lists"},
	{"--=8", "unknown option --", "--help lists"},
	{"--no-raw", "unknown option --no-raw", "--help lists"},
	{"-z", "unknown option -z", "--help lists"},
	{"-bytes=8", "option --bytes: 'ytes=8'", "from:to:factor"},
	{"-qr", "option --quiet: 'r'", "yes or no"},
	{"---raw", "unknown option ---raw", "--help"},
	{"--bytes", "option --bytes: no value given", "from:to:factor"},
	{"--bytes --raw", "option --bytes: no value given", "from:to:factor"},
	{"-b", "option --bytes: no value given", "from:to:factor"},
	{"--csv --raw", "option --csv: no value given", "characters"},
	{"--bytes=", "option --bytes: ''", "is empty"},
	{"--bytes _", "option --bytes: ''", "is empty"},
	{"--bytes=8:4:2", "option --bytes: '8:4:2'", "runs backwards"},
	{"--bytes=8,x", "option --bytes: '8,x'", "'x' is not a size"},
	{"--bytes=8:64:1", "option --bytes: '8:64:1'", "factor of at least 2"},
	{"--bytes=8:64", "option --bytes: '8:64'", "no factor or step"},
	{"--bytes=0:1M:+1", "option --bytes: '0:1M:+1'", "more than 4096"},
	{"--bytes=2T", "option --bytes: '2T'", "2T is out of range"},
	{"--bytes=-8", "option --bytes: '-8'", "is not a size"},
	{"--root=101", "option --root: '101'", "from -1 to 100"},
	{"--root -2", "option --root: '-2'", "from -1 to 100"},
	{"--root=1.0", "option --root: '1.0'", "whole number"},
	{"--root=0x1", "option --root: '0x1'", "whole number"},
	{"--root=one", "option --root: 'one'", "whole number"},
	{"--root=+1", "option --root: '+1'", "whole number"},
	{"--root=-", "option --root: '-'", "whole number"},
	{"--root=1K", "option --root: '1K'", "whole number"},
	{"--root=99999999999999999999", "option --root: '99999999999999999999'", "-1 to 100"},
	{"--root=", "option --root: ''", "whole number"},
	{"--root=1 --root=2", "option --root: given twice", "'1' and as '2'"},
	{"-r1 --root=2", "option --root: given twice", "expected once"},
	{"--raw --raw=no", "option --raw: given twice", "'yes' and as 'no'"},
	{"--raw=maybe", "option --raw: 'maybe'", "yes or no"},
	{"--raw=", "option --raw: ''", "yes or no"},
	{"--raw=1", "option --raw: '1'", "yes or no"},
	{"--max-samples=4", "option --max-samples: '4'", "from 5 to 1M"},
	{"--max-samples=2M", "option --max-samples: '2M'", "from 5 to 1M"},
	{"--max-samples=-5", "option --max-samples: '-5'", "from 5 to 1M"},
	{"--max-samples=1e3", "option --max-samples: '1e3'", "whole number"},
	{"--max-samples=16777216T", "option --max-samples: '16777216T'", "whole number"},
	{"--factor=0.1", "option --factor: '0.1'", "from 0.5 to 8"},
	{"--factor=9", "option --factor: '9'", "from 0.5 to 8"},
	{"--factor=nan", "option --factor: 'nan'", "a number"},
	{"--factor=inf", "option --factor: 'inf'", "a number"},
	{"--factor=0x2", "option --factor: '0x2'", "a number"},
	{"--factor=2x", "option --factor: '2x'", "a number"},
	{"--factor=1e999", "option --factor: '1e999'", "a number"},
	{"--factor=2,5", "option --factor: '2,5'", "a number"},
	{"--ci=0", "option --ci: '0'", "from 0.01% to 50%"},
	{"--ci=51%", "option --ci: '51%'", "from 0.01% to 50%"},
	{"--ci=1%%", "option --ci: '1%%'", "ratio"},
	{"--ci=%", "option --ci: '%'", "ratio"},
	{"--max-time=0", "option --max-time: '0'", "from 1ms to 1h"},
	{"--max-time=500us", "option --max-time: '500us'", "from 1ms to 1h"},
	{"--max-time=2h", "option --max-time: '2h'", "from 1ms to 1h"},
	{"--max-time=1", "option --max-time: '1'", "in ns, us, ms, s, min or h"},
	{"--max-time=1m", "option --max-time: '1m'", "in ns, us, ms, s, min or h"},
	{"--max-time=1S", "option --max-time: '1S'", "in ns, us"},
	{"--max-time=s", "option --max-time: 's'", "in ns, us"},
	{"--max-time=-1s", "option --max-time: '-1s'", "from 1ms"},
	{"--engine=cuda", "option --engine: 'cuda'", "one of host, mpi, nccl"},
	{"--engine=all", "option --engine: 'all'", "one of host, mpi, nccl"},
	{"--engine=host,mpi", "option --engine: 'host,mpi'", "one of"},
	{"--engine=HOST", "option --engine: 'HOST'", "one of"},
	{"--engine=", "option --engine: ''", "one of"},
	{"--engines=host,cuda", "'cuda' is none of them", "list of host, mpi, nccl"},
	{"--engines=host,", "option --engines: 'host,'", "all, or a comma-separated list"},
	{"--engines=,host", "option --engines: ',host'", "all, or"},
	{"--engines=host,all", "'all' is none of them", "all, or"},
	{"--engines=host;mpi", "option --engines: 'host;mpi'", "all, or"},
	{"--csv=", "option --csv: ''", "1 to 4095 characters"},
	{"--even=abc", "option --even: 'abc'", "an even number of characters"},
	{"--depth=65", "option --depth: '65'", "from 1 to 64"},
	{"--raw --depth", "option --depth: no value", "from 1 to 64"},
};

static void test_bad(const struct fb_option_chain *chain)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[2048];
		const char *newline;

		CHECK_INT(parse(chain, bad[i].line, text, sizeof(text)), FB_EINPUT);
		newline = strchr(text, '\n');
		if (!CHECK(newline && newline[1] == '\0') || !CHECK(strstr(text, bad[i].first)) ||
		    !CHECK(strstr(text, bad[i].second)) ||
		    !CHECK(!strncmp(text, "fabricbench: ", 13)))
			printf("\tfor: %s\n\tsaid: %s\n", bad[i].line, text);
	}
}

static void test_hostile(const struct fb_option_chain *chain)
{
	char program[] = "p", text[4096], *longest = malloc(100000);
	char newline[] = "--csv=a\nb", escape[] = "--ra\nw\033[1m",
	     *argv[] = {program, newline, escape};
	FILE *errors = fmemopen(text, sizeof(text), "w");
	struct fb_option_chain once = {.table = chain->table, .values = chain->values};

	text[0] = '\0';
	CHECK_INT(fb_option_parse(chain, 3, argv, errors), FB_EINPUT);
	fclose(errors);
	CHECK(strchr(text, '\n') && strchr(text, '\n')[1] == '\0' && !strchr(text, '\033'));
	CHECK(strstr(text, "--ra?w?[1m"));

	memset(longest, 'x', 99999);
	longest[99999] = '\0';
	memcpy(longest, "--", 2);
	argv[1] = longest;
	errors = fmemopen(text, sizeof(text), "w");
	CHECK_INT(fb_option_parse(chain, 2, argv, errors), FB_EINPUT);
	memcpy(longest, "--root=", 7);
	CHECK_INT(fb_option_parse(chain, 2, argv, NULL), FB_EINPUT);
	CHECK_INT(fb_option_parse(chain, 2, argv, errors), FB_EINPUT);
	memcpy(longest, "xxx", 3);
	CHECK_INT(fb_option_parse(&once, 2, argv, errors), FB_EINPUT);
	fclose(errors);
	CHECK(strlen(text) < 1500);
	free(longest);
}

static void test_tables(struct values *v)
{
	static const struct fb_option twice[] = {
		FB_OPTION_INT(struct own, depth, 0, "root", "N", "4", 1, 64, "name of another"),
		FB_OPTION_END,
	};
	static const struct fb_option letter[] = {
		FB_OPTION_INT(struct own, depth, 'r', "rest", "N", "4", 1, 64, "letter of another"),
		FB_OPTION_END,
	};
	static const struct fb_option range[] = {
		FB_OPTION_INT(struct own, depth, 0, "depth", "N", "65", 1, 64, "default too large"),
		FB_OPTION_END,
	};
	static const struct {
		const struct fb_option *table;
		const char *says;
	} wrong[] = {
		{twice, "--root is there twice"},
		{letter, "-r is --root and --rest"},
		{range, "default '65' of --depth: expected a whole number from 1 to 64"},
	};
	struct own o;
	char text[1024];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fb_option_chain second = {wrong[i].table, &o, NULL};
		struct fb_option_chain first = {common, v, &second};

		CHECK_INT(parse(&first, "", text, sizeof(text)), FB_EINPUT);
		CHECK(strstr(text, wrong[i].says));
	}
}

static void test_reject(void)
{
	char text[256];
	FILE *out = fmemopen(text, sizeof(text), "w");

	CHECK_INT(fb_option_reject(out, "max-samples", "5", "at least --min-samples, which is 50"),
		  FB_EINPUT);
	fclose(out);
	CHECK_STR(text, "fabricbench: option --max-samples: '5' is not accepted: expected at least "
			"--min-samples, which is 50\n");
	CHECK_INT(fb_option_reject(NULL, "x", "y", "z"), FB_EINPUT);
}

static void test_items(void)
{
	const char *cursor = "a,bcd,e";
	char item[4];

	CHECK_INT(fb_option_next_item(&cursor, item, sizeof(item)), 1);
	CHECK_STR(item, "a");
	CHECK_INT(fb_option_next_item(&cursor, item, sizeof(item)), 1);
	CHECK_STR(item, "bcd");
	CHECK_INT(fb_option_next_item(&cursor, item, sizeof(item)), 1);
	CHECK_INT(fb_option_next_item(&cursor, item, sizeof(item)), 0);
	cursor = "abcd";
	CHECK_INT(fb_option_next_item(&cursor, item, sizeof(item)), FB_EINPUT);
	cursor = "";
	CHECK_INT(fb_option_next_item(&cursor, item, sizeof(item)), FB_EINPUT);
}

static void test_names(void)
{
	CHECK(fb_option_names("all", "tcp"));
	CHECK(fb_option_names("shm,tcp", "tcp"));
	CHECK(fb_option_names("tcp", "tcp"));
	CHECK(!fb_option_names("shm+tcp", "tcp"));
	CHECK(!fb_option_names("shm", "tcp"));
	CHECK(!fb_option_names("tcp2,", "tcp"));
}

/* A word for 0, where a table says so, and only there. */
static void test_auto(void)
{
	struct {
		uint64_t channels, slots;
	} v;
	static const struct fb_option table[] = {
		FB_OPTION_U64_AUTO(__typeof__(v), channels, 0, "channels", "N", "7", 0, 9, "some"),
		FB_OPTION_U64(__typeof__(v), slots, 0, "slots", "N", "7", 0, 9, "some"),
		FB_OPTION_END,
	};
	const struct fb_option_chain chain = {.table = table, .values = &v};
	char text[1024];

	CHECK_INT(parse(&chain, "", text, sizeof(text)), FB_OK);
	CHECK_INT(v.channels, 7);
	CHECK_INT(parse(&chain, "--channels auto", text, sizeof(text)), FB_OK);
	CHECK_INT(v.channels, 0);
	CHECK_INT(parse(&chain, "--channels=9", text, sizeof(text)), FB_OK);
	CHECK_INT(v.channels, 9);
	CHECK_INT(parse(&chain, "--channels=10", text, sizeof(text)), FB_EINPUT);
	CHECK(strstr(text, "auto or a whole number from 0 to 9") != NULL);
	CHECK_INT(parse(&chain, "--slots=auto", text, sizeof(text)), FB_EINPUT);
}

int main(void)
{
	test_names();
	static struct values v;
	static struct own o;
	const struct fb_option_chain second = {own, &o, NULL};
	const struct fb_option_chain chain = {common, &v, &second};

	test_defaults(&chain, &v, &o);
	test_values(&chain, &v, &o);
	test_bad(&chain);
	test_hostile(&chain);
	test_tables(&v);
	test_reject();
	test_items();
	test_auto();
	return check_done("option");
}
