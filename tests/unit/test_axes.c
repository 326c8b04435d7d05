/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists become axes, axes become cases: every combination once, and errors that say so. */
#include "common/base/error.h"
#include "common/run/axes.h"
#include "common/run/run.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static const char *const colours[] = {"red", "green", "blue", NULL};
static const char *const two[] = {"host", "mpi", NULL};
static const char *const rings[] = {"ring", "tree", "library", NULL};
static const char *const ways[] = {"shm", "tcp", "shm+tcp", NULL};

/* Opens an axis and returns the error line it printed. */
static const char *complaint(const char *list, const char *const *choices, int want)
{
	static char text[512];
	struct fb_axis axis = {.count = 99};
	FILE *file = fmemopen(text, sizeof(text), "w");

	text[0] = '\0';
	CHECK_INT(fb_axis_open(&axis, "colour", list, choices, file), want);
	CHECK_INT(axis.count, 99); /* untouched */
	fclose(file);
	return text;
}

static void test_lists(void)
{
	struct fb_axis axis;

	CHECK_INT(fb_axis_open(&axis, "colour", "blue,red", colours, NULL), FB_OK);
	CHECK_INT(axis.count, 2);
	CHECK_STR(axis.value[0], "blue");
	CHECK_INT(axis.index[0], 2);
	CHECK_STR(axis.value[1], "red");
	CHECK_INT(axis.index[1], 0);
	fb_axis_close(&axis);
	CHECK_INT(axis.count, 0);
	CHECK_INT(fb_axis_open(&axis, "colour", "all", colours, NULL), FB_OK);
	CHECK_INT(axis.count, 3);
	CHECK_STR(axis.value[1], "green");
	fb_axis_close(&axis);
	CHECK_INT(fb_axis_open(&axis, "any", "x,y=1", NULL, NULL), FB_OK);
	CHECK_INT(axis.count, 2);
	CHECK_STR(axis.value[1], "y=1");
	CHECK_INT(axis.index[1], -1);
	fb_axis_close(&axis);
}

static void test_errors(void)
{
	const char *text = complaint("red,yellow", colours, FB_EINPUT);

	CHECK(strstr(text, "--colour"));
	CHECK(strstr(text, "yellow"));
	CHECK(strstr(text, "red, green, blue"));
	CHECK(strchr(text, '\n') == strrchr(text, '\n'));
	CHECK(strstr(complaint("red,red", colours, FB_EINPUT), "once"));
	CHECK(*complaint("red,,blue", colours, FB_EINPUT));
	CHECK(*complaint("", colours, FB_EINPUT));
	CHECK(*complaint("red,", colours, FB_EINPUT));
	CHECK(strstr(complaint("red,all", colours, FB_EINPUT), "expected all alone"));
}

static void test_product(void)
{
	const size_t count[3] = {2, 1, 3};
	size_t index[3] = {0};
	int seen = 0, order[6] = {0};

	do {
		if (seen < 6)
			order[seen] = (int)(index[0] * 10 + index[2]);
		CHECK_INT(index[1], 0);
		seen++;
	} while (fb_product_next(index, count, 3));
	CHECK_INT(seen, 6);
	CHECK_INT(order[0], 0);
	CHECK_INT(order[1], 1);
	CHECK_INT(order[3], 10);
	CHECK_INT(order[5], 12);
	CHECK_INT(index[0] + index[1] + index[2], 0);
	CHECK(!fb_product_next(NULL, NULL, 0));
}

static void test_transport(void)
{
	struct fb_group world = {.nranks = 4, .nnodes = 1};

	CHECK_STR(fb_group_transport(&world), "shm");
	world.nnodes = 2;
	CHECK_STR(fb_group_transport(&world), "shm+tcp");
	world.nnodes = 4;
	CHECK_STR(fb_group_transport(&world), "tcp");
	/* Where all ranks have a port, TCP is the last resort. */
	world.rdma = true;
	CHECK_STR(fb_group_transport(&world), "rdma");
	world.nnodes = 2;
	CHECK_STR(fb_group_transport(&world), "shm+rdma");
	world.nnodes = 1;
	CHECK_STR(fb_group_transport(&world), "shm");
}

static const struct fb_program program = {.name = "axes"};

static struct fb_settings settings(void)
{
	return (struct fb_settings){
		.bytes = "0,8:32:2",
		.engine = "all",
		.algorithm = "all",
		.protocol = "all",
		.transport = "auto",
		.memory = "host",
		.datatype = "f32,i8",
		.redop = "sum,max",
		.root = "0,3",
		.in_place = "both",
		.cadence = "isolated",
		.launch = "blocking",
	};
}

/* The library chooses itself, so that its algorithms are one case; host has no "library". */
static bool adjust(void *arg, struct fb_case *c)
{
	int *calls = arg;

	(*calls)++;
	if (!strcmp(c->engine, "mpi")) {
		c->algorithm = "library";
		return true;
	}
	return strcmp(c->algorithm, "library") != 0;
}

static void test_expand(void)
{
	const struct fb_case base = {
		.operation = "reduce", .registration = "none", .variant = "k=v"};
	const struct fb_axes_accepted accepted = {.engines = two,
						  .algorithms = rings,
						  .transports = ways,
						  .has_redop = true,
						  .has_root = true,
						  .has_in_place = true};
	struct fb_run run = {
		.program = &program, .settings = settings(), .world = {.nranks = 4, .nnodes = 1}};
	size_t mpi = 0, sums = 0, in_place = 0, zero = 0;
	int calls = 0;

	CHECK_INT(fb_axes_expand(&run, &base, &accepted, adjust, &calls), FB_OK);
	/* 2 engines, 3 algorithms, 2 types, 2 ops, 2 roots, in place or not, 4 sizes */
	CHECK_INT(calls, 2 * 3 * 2 * 2 * 2 * 2 * 4);
	CHECK_INT(run.count, (2 + 1) * 64);
	for (size_t i = 0; i < run.count; i++) {
		const struct fb_case *c = &run.cases[i];

		mpi += !strcmp(c->engine, "mpi") ? 1 : 0;
		sums += c->redop == FB_SUM ? 1 : 0;
		in_place += c->in_place ? 1 : 0;
		zero += c->bytes == 0 ? 1 : 0;
		CHECK(c->root == 0 || c->root == 3);
		CHECK(c->datatype == FB_F32 || c->datatype == FB_I8);
		CHECK(c->redop == FB_SUM || c->redop == FB_MAX);
		CHECK(c->bytes == 0 || c->bytes == 8 || c->bytes == 16 || c->bytes == 32);
	}
	CHECK_INT(mpi, 64);
	CHECK_INT(sums, 96);
	CHECK_INT(in_place, 96);
	CHECK_INT(zero, 48);
	CHECK_STR(run.cases[0].program, "axes");
	CHECK_STR(run.cases[0].transport, "shm");
	CHECK_STR(run.cases[0].memory, "-");
	CHECK_STR(run.cases[0].variant, "k=v");
	CHECK_INT(run.cases[0].cadence, FB_ISOLATED);
	fb_run_free(&run);
}

/* What is no axis of the program has no value, whatever the settings say. */
static void test_no_axes(void)
{
	const struct fb_case base = {.operation = "barrier"};
	const struct fb_axes_accepted accepted = {.engines = two};
	struct fb_run run = {
		.program = &program, .settings = settings(), .world = {.nranks = 4, .nnodes = 1}};

	run.settings.bytes = "0";
	run.settings.datatype = "f32";
	run.settings.in_place = "no";
	CHECK_INT(fb_axes_expand(&run, &base, &accepted, NULL, NULL), FB_OK);
	CHECK_INT(run.count, 2);
	CHECK_INT(run.cases[0].redop, -1);
	CHECK_INT(run.cases[0].root, -1);
	CHECK_STR(run.cases[0].algorithm, "-");
	CHECK_STR(run.cases[0].registration, "-");
	fb_run_free(&run);
}

static bool drop_all(void *arg, struct fb_case *c)
{
	(void)arg, (void)c;
	return false;
}

/* Rank 1 says nothing, so that the test's output stays clean; the error is the same. */
static void test_bad_expand(void)
{
	const struct fb_case base = {.operation = "reduce"};
	const struct fb_case overfull = {.operation = "reduce", .overfull = "k"};
	const struct fb_axes_accepted accepted = {.engines = two, .has_root = true};
	struct fb_run run = {.program = &program,
			     .settings = settings(),
			     .world = {.rank = 1, .nranks = 3, .nnodes = 1}};

	CHECK_INT(fb_axes_expand(&run, &base, &accepted, NULL, NULL), FB_EINPUT); /* root 3 */
	CHECK_INT(run.count, 0);
	run.settings.root = "2";
	CHECK_INT(fb_axes_expand(&run, &base, &accepted, drop_all, NULL), FB_EINPUT);
	run.settings.root = "all";
	CHECK_INT(fb_axes_expand(&run, &overfull, &accepted, NULL, NULL), FB_EINPUT);
	CHECK_INT(run.count, 0);
	CHECK_INT(fb_axes_expand(&run, &base, &accepted, NULL, NULL), FB_OK);
	CHECK_INT(run.count, 2 * 2 * 3 * 4); /* engines, types, roots, sizes */
	fb_run_free(&run);
}

int main(void)
{
	test_lists();
	test_errors();
	test_product();
	test_transport();
	test_expand();
	test_no_axes();
	test_bad_expand();
	return check_done("axes");
}
