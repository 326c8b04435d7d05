/* SPDX-License-Identifier: BSD-3-Clause */
/* Path tables: what they say, what is looked up, and every kind of line that is none. */
#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/paths/paths.h"
#include "tests/unit/check.h"

static const char text[] =
	"# a comment\n"
	"machine cpu Some CPU @ 2 GHz  # of a test\n"
	"path shm put alone 1.5 20 10\n"
	"path shm put overlapped 3 40 5\n"
	"path tcp get alone - 0 2\n"
	"best shm put alone 4096 100\n"
	"best tcp put alone 16384 100\n"
	"best cma put overlapped 4096 100\n"
	"best tcp get alone 1024 1  # one piece\n"
	"tier store:uring put 65536 64\n"
	"tier store get 65536 64\n"
	"\n"
	"machine gpu Some CPU @ 2 GHz\n"
	"path copy put alone 1 1 1\n"
	"machine cpu Other\n"
	"path cma put alone 1 1 1";

/* The mover for so many pieces of a size, or NULL. */
static void check_best(const struct fb_paths *paths, bool get, enum fb_auto_objective objective,
		       double pieces, double bytes, const char *mover)
{
	const struct fb_path_best *best =
		fb_paths_best(paths, false, get, objective, pieces, pieces * bytes);

	CHECK_STR(best ? best->mover : "none", mover ? mover : "none");
}

static void test_lookup(void)
{
	struct fb_paths paths = {.line = NULL};
	const struct fb_path_line *line;
	const struct fb_path_best *best;

	CHECK_INT(fb_paths_parse(&paths, text, "text", false, "Some CPU @ 2 GHz", stderr), FB_OK);
	CHECK_INT(paths.count, 3);
	line = fb_paths_find(&paths, "shm", false, FB_ALONE);
	/* 1.5 us + 100 * 20 ns + 1e6 bytes / 10 GB/s */
	CHECK(line && fabs(fb_path_us(line, 100, 1e6) - 103.5) < 1e-9);
	line = fb_paths_find(&paths, "shm", false, FB_OVERLAPPED);
	CHECK(line && line->gbps == 5);
	line = fb_paths_find(&paths, "tcp", true, FB_OVERLAPPED);
	CHECK(line && isnan(line->a_us) && fabs(fb_path_us(line, 5, 2e3) - 1) < 1e-9);
	CHECK(!fb_paths_find(&paths, "tcp", false, FB_ALONE));
	CHECK(!fb_paths_find(&paths, "cma", false, FB_ALONE));
	CHECK_INT(paths.bests, 6);
	check_best(&paths, false, FB_ALONE, 100, 4096, "shm");
	check_best(&paths, false, FB_ALONE, 199, 8100, "shm");
	check_best(&paths, false, FB_ALONE, 51, 8300, "tcp");
	check_best(&paths, false, FB_ALONE, 49, 4096, NULL);
	check_best(&paths, false, FB_ALONE, 201, 4096, NULL);
	check_best(&paths, false, FB_ALONE, 100, 2047, NULL);
	check_best(&paths, false, FB_OVERLAPPED, 60, 8100, "cma");
	check_best(&paths, false, FB_OVERLAPPED, 100, 16384, "tcp");
	check_best(&paths, true, FB_ALONE, 1, 1024, "tcp");
	check_best(&paths, true, FB_ALONE, 100, 4096, NULL);
	check_best(&paths, true, FB_ALONE, 0, 0, NULL);
	/* Lists of a tier and those between ranks do not know each other. */
	check_best(&paths, false, FB_ALONE, 64, 65536, NULL);
	best = fb_paths_best(&paths, true, false, FB_ALONE, 100, 100 * 40000.0);
	CHECK_STR(best ? best->mover : "none", "store");
	CHECK_STR(best ? best->form : "none", "uring");
	best = fb_paths_best(&paths, true, true, FB_ALONE, 64, 64 * 65536.0);
	CHECK_STR(best ? best->form : "none", "");
	CHECK(!fb_paths_best(&paths, true, false, FB_ALONE, 100, 100 * 4096.0));
	fb_paths_free(&paths);
	CHECK_INT(fb_paths_parse(&paths, text, "text", true, "Some CPU @ 2 GHz", stderr), FB_OK);
	CHECK_INT(paths.count, 1);
	fb_paths_free(&paths);
}

/* All built-in tables are read, whatever the machine. */
static void test_built_in(void)
{
	struct fb_paths paths = {.line = NULL};

	CHECK_INT(fb_paths_parse(&paths, fb_paths_built_in(), "built in", true,
				 "NVIDIA H100 80GB HBM3", stderr), FB_OK);
	CHECK(fb_paths_find(&paths, "cuda", false, FB_ALONE) != NULL);
	CHECK(fb_paths_find(&paths, "copy", true, FB_OVERLAPPED) != NULL);
	CHECK(paths.bests > 0);
	fb_paths_free(&paths);
	CHECK_INT(fb_paths_parse(&paths, fb_paths_built_in(), "built in", true, "NVIDIA H200",
				 stderr), FB_OK);
	CHECK(fb_paths_find(&paths, "copy", true, FB_OVERLAPPED) != NULL);
	CHECK(paths.bests > 0);
	/* Beside computing copies carry long pieces faster, and kernels short ones. */
	check_best(&paths, false, FB_OVERLAPPED, 192, 699051, "copy");
	check_best(&paths, false, FB_OVERLAPPED, 1024, 524288, "copy");
	check_best(&paths, false, FB_OVERLAPPED, 4096, 32768, "cuda");
	check_best(&paths, false, FB_OVERLAPPED, 65536, 2048, "cuda");
	fb_paths_free(&paths);
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"path shm put alone 1 1 1",
		"machine cpu",
		"machine tpu X",
		"machine  ",
		"machine cpu X\npath shm put alone 1 1",
		"machine cpu X\npath shm put alone 1 1 1 1",
		"machine cpu X\npath shm push alone 1 1 1",
		"machine cpu X\npath shm put beside 1 1 1",
		"machine cpu X\npath shm put alone 1 - 1",
		"machine cpu X\npath shm put alone 1 1 0",
		"machine cpu X\npath shm put alone -1 1 1",
		"machine cpu X\npath shm put alone 1 1 inf",
		"machine cpu X\npath shm put alone nan 1 1",
		"machine cpu X\nrule shm",
		"best shm put alone 1 1",
		"machine cpu X\nbest shm put alone 1",
		"machine cpu X\nbest shm put alone 0 1",
		"machine cpu X\nbest shm put alone 1 -",
		"machine cpu X\nbest shm put beside 1 1",
		"machine cpu X\nbest shm push alone 1 1",
		"machine cpu X\nbest shm put alone 1 1 1",
		"tier store put 1 1",
		"machine cpu X\ntier store put 1",
		"machine cpu X\ntier store: put 1 1",
		"machine cpu X\ntier :uring put 1 1",
		"machine cpu X\ntier store push 1 1",
		"machine cpu X\ntier store put 0 1",
		"machine cpu X\ntier store put 1 1 1",
	};
	struct fb_paths paths = {.line = NULL};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(fb_paths_parse(&paths, bad[i], "text", false, "X", NULL), FB_EINPUT);
		CHECK_INT(paths.count, 0);
	}
}

int main(void)
{
	test_lookup();
	test_built_in();
	test_refused();
	return check_done("paths");
}
