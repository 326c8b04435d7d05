/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: what is written out of a table: effective values, --help, and the manual page. */
#include "tests/unit/check.h"
#include "tests/unit/option_example.h"

#include <stdlib.h>

enum { TEXT_CHARS = 32768 };

static const struct fb_option_about about = {
	.program = "all_reduce",
	.summary = "times all_reduce",
	.description = "First paragraph of it.\n\n.second paragraph, \\ and 'quotes'.",
	.version = "1.0",
};

static void collect(void *arg, const char *name, const char *value)
{
	FILE *out = arg;

	fprintf(out, "%s=%s\n", name, value);
}

static void test_list(const struct fb_option_chain *chain)
{
	char text[2048];
	FILE *out;

	CHECK_INT(parse(chain, "--max-time=1500us --ci=0.015 --engines=nccl,host -n 64K -q", text,
			sizeof(text)),
		  FB_OK);
	out = fmemopen(text, sizeof(text), "w");
	fb_option_list(chain, collect, out);
	fclose(out);
	CHECK_STR(text, "bytes=8:64:2\nengines=host,nccl\nengine=mpi\nroot=0\nmax-samples=64K\n"
			"factor=1.5\nci=1.5%\nmax-time=1.5ms\nraw=no\nquiet=yes\ncsv=\neven=ab\n"
			"depth=4\na-name-that-is-rather-long=x\n");
}

static void test_help(const struct fb_option_chain *chain)
{
	static const char *const says[] = {
		"Usage: all_reduce [OPTION]...\n",
		"all_reduce: times all_reduce.\n",
		"First paragraph of it.\n\n.second paragraph",
		"\nSweep:\n  -b, --bytes=SIZES             message sizes (sizes from 0",
		"\nThis program:\n  -d, --depth=N                 messages in flight (a whole "
		"number from 1 to 64; default 4)\n",
		"\n      --a-name-that-is-rather-long=TEXT\n"
		"                                an option",
		"      --raw                     write every repetition\n",
		"folder for results\n",
		"a checked text (an even number of characters; default ab)\n",
		"default 8:64:2)",
	};
	char *text = calloc(1, TEXT_CHARS);
	FILE *out = fmemopen(text, TEXT_CHARS, "w");
	size_t widest = 0;

	fb_option_help(chain, &about, out);
	fclose(out);
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (!CHECK(strstr(text, says[i])))
			printf("\tmissing: %s\n", says[i]);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		widest = strcspn(line, "\n") > widest ? strcspn(line, "\n") : widest;
		CHECK(!strcspn(line, "\n") || line[strcspn(line, "\n") - 1] != ' ');
	}
	CHECK(widest <= 100 && widest > 80);
	free(text);
}

static void test_man(const struct fb_option_chain *chain)
{
	static const char *const says[] = {
		".TH ALL_REDUCE 1 \"\" \"fabricbench 1.0\"",
		".SH NAME\nall_reduce \\- times all_reduce\n",
		".PP\nFirst paragraph of it.\n.PP\n\\&.second paragraph, \\e and 'quotes'.\n",
		".SS Measurement\n",
		".TP\n\\fB\\-n\\fR, \\fB\\-\\-max\\-samples\\fR=\\fIN\\fR\n",
		"Default: 8:64:2.\n",
		"Accepted: one of host, mpi, nccl.\n",
	};
	char *text = calloc(1, TEXT_CHARS);
	FILE *out = fmemopen(text, TEXT_CHARS, "w");

	fb_option_man(chain, &about, out);
	fclose(out);
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (!CHECK(strstr(text, says[i])))
			printf("\tmissing: %s\n", says[i]);
	free(text);
}

int main(void)
{
	static struct values v;
	static struct own o;
	const struct fb_option_chain second = {own, &o, NULL};
	const struct fb_option_chain chain = {common, &v, &second};

	test_list(&chain);
	test_help(&chain);
	test_man(&chain);
	return check_done("option_help");
}
