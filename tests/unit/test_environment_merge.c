/* SPDX-License-Identifier: BSD-3-Clause */
/* Merging the facts of many ranks: each at its widest scope, once. */
#include "common/base/error.h"
#include "common/system/environment.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

#include <time.h>

enum { RANKS_MAX = 8, FACTS_MAX = 8 };

static const struct {
	const char *facts[RANKS_MAX][FACTS_MAX][2]; /* per rank: key, value */
	const char *rows;			    /* after the header */
} known[] = {
	{
		/* one rank: all is of the run */
		{{{"hostname", "a"}, {"k", "v"}}},
		"run,,,hostname,a\nrun,,,k,v\n",
	},
	{
		/* two hosts of two ranks: same everywhere, by host, by rank */
		{
			{{"hostname", "b"}, {"same", "1"}, {"node", "x"}, {"rank", "0"}},
			{{"hostname", "b"}, {"same", "1"}, {"node", "x"}, {"rank", "1"}},
			{{"hostname", "a"}, {"same", "1"}, {"node", "y"}, {"rank", "2"}},
			{{"hostname", "a"}, {"same", "1"}, {"node", "y"}, {"rank", "2"}},
		},
		"node,b,,hostname,b\nnode,a,,hostname,a\nnode,b,,node,x\nnode,a,,node,y\n"
		"rank,b,0,rank,0\nrank,b,1,rank,1\nrank,a,2,rank,2\nrank,a,3,rank,2\n"
		"run,,,same,1\n",
	},
	{
		/* ranks dealt round robin over hosts */
		{
			{{"hostname", "a"}, {"k", "x"}},
			{{"hostname", "b"}, {"k", "y"}},
			{{"hostname", "a"}, {"k", "x"}},
			{{"hostname", "b"}, {"k", "y"}},
		},
		"node,a,,hostname,a\nnode,b,,hostname,b\nnode,a,,k,x\nnode,b,,k,y\n",
	},
	{
		/* what some ranks lack is not the run's, nor a host's where one lacks it */
		{
			{{"hostname", "a"}, {"k", "x"}, {"one", "1"}},
			{{"hostname", "a"}, {"k", "x"}},
			{{"hostname", "b"}},
		},
		"node,a,,hostname,a\nnode,b,,hostname,b\nnode,a,,k,x\nrank,a,0,one,1\n",
	},
	{
		/* of a moment: the lowest rank of each host speaks */
		{
			{{"hostname", "a"}, {"host.load", "1"}, {"host.free", "7"}},
			{{"hostname", "a"}, {"host.load", "2"}, {"host.free", "8"}},
			{{"hostname", "b"}, {"host.load", "3"}, {"host.free", "7"}},
		},
		"run,,,host.free,7\nnode,a,,host.load,1\nnode,b,,host.load,3\n"
		"node,a,,hostname,a\nnode,b,,hostname,b\n",
	},
	{
		/* no host name, and texts that need quotes */
		{{{"k", "a,\"b\""}}, {{"k", "a,\"b\""}}},
		"run,,,k,\"a,\"\"b\"\"\"\n",
	},
	{
		/* nothing at all */
		{{{NULL, NULL}}},
		"",
	},
};

static int pack(const char *const facts[FACTS_MAX][2], char **bytes, size_t *length)
{
	struct fb_facts list = {.item = NULL};
	int ret;

	for (int i = 0; i < FACTS_MAX && facts[i][0]; i++)
		fb_facts_add(&list, facts[i][0], "%s", facts[i][1]);
	ret = fb_facts_pack(&list, bytes, length);
	fb_facts_free(&list);
	return ret;
}

static void test_known(const char *dir)
{
	const char *path = example_path(dir, "environment.csv");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char *bytes[RANKS_MAX], expected[2048];
		const char *packed[RANKS_MAX];
		size_t length[RANKS_MAX], nranks = 0;

		while (nranks < RANKS_MAX && (nranks == 0 || known[i].facts[nranks][0][0])) {
			CHECK_INT(pack(known[i].facts[nranks], &bytes[nranks], &length[nranks]),
				  FB_OK);
			packed[nranks] = bytes[nranks];
			nranks++;
		}
		CHECK_INT(fb_environment_write(path, NULL, packed, length, nranks), FB_OK);
		snprintf(expected, sizeof(expected), "scope,host,rank,key,value\n%s",
			 known[i].rows);
		CHECK_STR(example_read(path), expected);
		while (nranks)
			free(bytes[--nranks]);
	}
}

static void test_damaged(const char *dir)
{
	static const char *const blocks[] = {"a", "a\0", "a\0b", "a\0b\0c\0"};
	static const size_t lengths[] = {1, 2, 3, 6};
	const char *path = example_path(dir, "damaged.csv");

	for (size_t i = 0; i < 4; i++)
		CHECK_INT(fb_environment_write(path, NULL, &blocks[i], &lengths[i], 1), FB_EDATA);
	CHECK(access(path, F_OK) != 0);
	CHECK_INT(fb_environment_write("/nowhere/environment.csv", NULL, blocks, (size_t[]){0}, 1),
		  FB_EIO);
}

/* One rank's facts written by the owner of `own`; returns the file's rows. */
static const char *rewrite(const char *path, const char *own, const char *const facts[FACTS_MAX][2])
{
	const char *header = "scope,host,rank,key,value\n", *text;
	char *bytes = NULL;
	size_t length = 0;

	CHECK_INT(pack(facts, &bytes, &length), FB_OK);
	CHECK_INT(fb_environment_write(path, own, (const char *const[]){bytes}, &length, 1), FB_OK);
	free(bytes);
	text = example_read(path);
	CHECK(!strncmp(text, header, strlen(header)));
	return text + strlen(header);
}

/* What other programs and launches found stays, in order; one's own and the common are replaced. */
static void test_kept(const char *dir)
{
	static const char *const first[FACTS_MAX][2] = {
		{"cpu", "old"}, {"program.b.0.x", "1,1"}, {"program.b.0.gone", "1"}};
	static const char *const other[FACTS_MAX][2] = {
		{"cpu", "new"}, {"program.a.0.x", "2"}, {"zone", "z"}};
	static const char *const launch[FACTS_MAX][2] = {{"program.b.1.x", "3"}};
	static const char *const again[FACTS_MAX][2] = {{"program.b.0.x", "4"}};
	const char *path = example_path(dir, "kept.csv");
	FILE *file;

	rewrite(path, "program.b.0.", first);
	CHECK_STR(rewrite(path, "program.a.0.", other),
		  "run,,,cpu,new\nrun,,,program.a.0.x,2\nrun,,,program.b.0.gone,1\n"
		  "run,,,program.b.0.x,\"1,1\"\nrun,,,zone,z\n");
	rewrite(path, "program.b.1.", launch);
	CHECK_STR(rewrite(path, "program.b.0.", again),
		  "run,,,program.a.0.x,2\nrun,,,program.b.0.x,4\nrun,,,program.b.1.x,3\n");
	/* A torn file by whomever: its whole rows are kept. */
	file = fopen(path, "a");
	CHECK(file != NULL);
	if (file) {
		fputs("run,,,program.c.0.x,5\nrun,,,program.d.0.x,6", file);
		fclose(file);
	}
	CHECK_STR(rewrite(path, "program.b.0.", again),
		  "run,,,program.a.0.x,2\nrun,,,program.b.0.x,4\nrun,,,program.b.1.x,3\n"
		  "run,,,program.c.0.x,5\n");
}

/* Many ranks: still each common fact once, and in no time. */
static void test_many(const char *dir)
{
	enum { MANY = 2048, KEYS = 50 };
	const char *path = example_path(dir, "many.csv"), *text;
	char **bytes = calloc(MANY, sizeof(bytes[0])), host[16], key[16];
	size_t *length = calloc(MANY, sizeof(length[0])), lines = 0;
	clock_t start;

	for (int r = 0; r < MANY; r++) {
		struct fb_facts list = {.item = NULL};

		snprintf(host, sizeof(host), "n%03d", r / 64);
		fb_facts_add(&list, "hostname", "%s", host);
		for (int k = 0; k < KEYS; k++) {
			snprintf(key, sizeof(key), "k%02d", k);
			fb_facts_add(&list, key, "%d", k == 7 ? r / 64 : k);
		}
		CHECK_INT(fb_facts_pack(&list, &bytes[r], &length[r]), FB_OK);
		fb_facts_free(&list);
	}
	start = clock();
	CHECK_INT(fb_environment_write(path, NULL, (const char *const *)bytes, length, MANY),
		  FB_OK);
	CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 5);
	text = example_read(path);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	CHECK_INT(lines, 1 + 32 + (KEYS - 1) + 32);
	for (int r = 0; r < MANY; r++)
		free(bytes[r]);
	free(bytes);
	free(length);
}

int main(void)
{
	char *dir = example_folder();

	if (!dir) {
		printf("SKIP environment_merge: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_known(dir);
	test_damaged(dir);
	test_kept(dir);
	test_many(dir);
	example_remove(dir);
	return check_done("environment_merge");
}
