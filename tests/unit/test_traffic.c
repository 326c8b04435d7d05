/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic matrices: how sizes are shared out, and what is refused of a file. */
#include "collectives/traffic.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "tests/unit/check.h"

static uint64_t sum(const uint64_t *elements, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += elements[i];
	return all;
}

/* Shares `average` out by the weights and holds each element to `want`. */
static void check_counts(int nranks, bool matrix, double *weights, uint64_t average,
			 const uint64_t *want)
{
	const struct fb_traffic traffic = {.collective = FB_ALL_TO_ALL_V, .nranks = nranks,
					   .matrix = matrix, .weights = weights};
	size_t n = (size_t)nranks * (size_t)nranks;
	struct fb_counts counts;
	uint64_t max = 0;

	if (!CHECK_INT(fb_traffic_counts(&traffic, average, &counts), FB_OK))
		return;
	CHECK_INT(counts.nranks, nranks);
	CHECK_INT(sum(counts.elements, n), average * (uint64_t)nranks);
	for (size_t i = 0; i < n; i++) {
		CHECK_INT(counts.elements[i], want[i]);
		max = want[i] > max ? want[i] : max;
	}
	CHECK_INT(counts.max, max);
	free(counts.elements);
}

static void test_rules(void)
{
	double equal[4] = {1, 1, 1, 1}, halves[3] = {1, 0.5, 0.25}, self[2] = {1, 0};

	check_counts(1, false, equal, 5, (const uint64_t[]){5});
	check_counts(2, false, equal, 8, (const uint64_t[]){4, 4, 4, 4});
	check_counts(2, false, self, 8, (const uint64_t[]){8, 0, 0, 8});
	check_counts(2, false, equal, 0, (const uint64_t[]){0, 0, 0, 0});
	/* 4 : 2 : 1, each row turned to begin at its own rank. */
	check_counts(3, false, halves, 7, (const uint64_t[]){4, 2, 1, 1, 4, 2, 2, 1, 4});
	/* Less elements than ranks: running sums 0.75, 1.5, 2.25, 3. */
	check_counts(4, false, equal, 3,
		     (const uint64_t[]){0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0});
}

/*
 * Blocks of 12, 6 and 3: a row of all_gather_v is a rank's block, which goes to all, a
 * column of reduce_scatter_v the block that all give a rank.
 */
static void test_blocks(void)
{
	double halves[3] = {1, 0.5, 0.25}, hole[3] = {1, 0, 2}, equal[3] = {1, 1, 1};
	struct fb_traffic traffic = {.nranks = 3};
	static const uint64_t want[3][9] = {{12, 12, 12, 6, 6, 6, 3, 3, 3},
					    {2, 2, 2, 0, 0, 0, 4, 4, 4},
					    {7, 7, 7, 7, 7, 7, 7, 7, 7}};
	double *const weights[3] = {halves, hole, equal};
	const uint64_t average[3] = {7, 2, 7};
	struct fb_counts counts;

	for (int k = 0; k < 6; k++) {
		int i = k % 3, c = k / 3;

		traffic.collective = c ? FB_REDUCE_SCATTER_V : FB_ALL_GATHER_V;
		traffic.weights = weights[i];
		if (!CHECK_INT(fb_traffic_counts(&traffic, average[i], &counts), FB_OK))
			return;
		for (int at = 0; at < 9; at++)
			CHECK_INT(counts.elements[at], want[i][c ? at % 3 * 3 : at]);
		CHECK_INT(counts.empty, i == 1);
		CHECK_INT(counts.max, want[i][i == 1 ? 8 : 0]);
		free(counts.elements);
	}
}

static void test_matrices(void)
{
	double even[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, last[4] = {1, 1, 1, 0};
	double corner[4] = {0, 3, 0, 1};

	check_counts(2, true, corner, 4, (const uint64_t[]){0, 6, 0, 2});
	/* Nothing goes where the weight is 0, though something is left by rounding. */
	check_counts(2, true, last, 4, (const uint64_t[]){2, 3, 3, 0});
	check_counts(3, true, even, 3, (const uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
}

/* Shares stay within one element of the exact ones, for sizes that no float holds. */
static void test_large(void)
{
	enum { N = 100 };
	double weights[N];
	const struct fb_traffic traffic = {.collective = FB_ALL_TO_ALL_V, .nranks = N,
					   .weights = weights};
	const uint64_t average = (UINT64_C(1) << 40) + 1;
	struct fb_counts counts;

	for (int i = 0; i < N; i++)
		weights[i] = 1.0 / (i + 1);
	if (!CHECK_INT(fb_traffic_counts(&traffic, average, &counts), FB_OK))
		return;
	CHECK_INT(sum(counts.elements, N), average);
	CHECK_INT(sum(counts.elements + (N - 1) * N, N), average);
	for (int i = 1; i < N; i++) {
		double exact = (double)counts.elements[0] / (i + 1);

		CHECK_NEAR((double)counts.elements[i], exact, 2.0);
		CHECK_INT(counts.elements[5 * N + (5 + i) % N], counts.elements[i]);
	}
	free(counts.elements);
}

static void test_moved(void)
{
	uint64_t elements[9] = {100, 1, 2, 3, 100, 4, 5, 6, 100};
	const struct fb_counts counts = {.nranks = 3, .elements = elements, .max = 100};

	CHECK_INT(fb_traffic_moved(&counts), 21);
}

/* Reads `text` as a file of 2 ranks. */
static int read_rows(const char *text, size_t length, int rows, double weights[4])
{
	char path[] = "/tmp/fb-traffic-XXXXXX";
	int fd = mkstemp(path), err;

	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		return FB_ESYS;
	close(fd);
	err = fb_traffic_read("matrix", path, rows, 2, weights);
	unlink(path);
	return err;
}

static int read_text(const char *text, size_t length, double weights[4])
{
	return read_rows(text, length, 2, weights);
}

static void test_files(void)
{
	static const char *const good[] = {
		"1 2\n3 4\n", "1,2\n3,4", "# who to whom\n\n 1 ; 2 # first\r\n3\t4\r\n",
		"1, 2,\n3 , 4,\n\n\n", "1e0 0x2\n3.0 +4\n",
	};
	static const char *const bad[] = {
		"", "\n\n", "# 1 2\n", "1 2\n", "1 2\n3\n", "1 2\n3 4 5\n", "1 2\n3 4\n5 6\n",
		"1 2\n3 -4\n", "1 2\n3 x\n", "1 2\n3 4x\n", "1 2\n3 nan\n", "1 2\n3 inf\n",
		"1 2\n3 1e16\n", "0 0\n0 0\n", "1 2\n\001\377 4\n",
	};
	double weights[4] = {0};

	/* A line for all ranks: of weights. */
	CHECK_INT(read_rows("# shards\n3, 0\n", 14, 1, weights), FB_OK);
	CHECK_NEAR(weights[0], 3, 0);
	CHECK_NEAR(weights[1], 0, 0);
	CHECK_INT(read_rows("3 1\n2 1\n", 8, 1, weights), FB_EINPUT);
	CHECK_NEAR(weights[2], 0, 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		memset(weights, 0, sizeof(weights));
		CHECK_INT(read_text(good[i], strlen(good[i]), weights), FB_OK);
		for (int k = 0; k < 4; k++)
			CHECK_NEAR(weights[k], k + 1, 0);
	}
	/* What is wrong with each is printed; that is not for the test's own output. */
	if (!freopen("/dev/null", "w", stderr))
		printf("stderr stays\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(read_text(bad[i], strlen(bad[i]), weights), FB_EINPUT);
	CHECK_INT(read_text("1 2\n3 \0 4\n", 10, weights), FB_EINPUT);
	CHECK_INT(fb_traffic_read("matrix", "/nowhere/at/all", 2, 2, weights), FB_EINPUT);
	CHECK_INT(fb_traffic_read("matrix", "/tmp", 2, 2, weights), FB_EINPUT);
}

int main(void)
{
	test_rules();
	test_blocks();
	test_matrices();
	test_large();
	test_moved();
	test_files();
	return check_done("traffic");
}
