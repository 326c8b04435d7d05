/* SPDX-License-Identifier: BSD-3-Clause */
/* What remains of a transfer behind the computing, with known answers. */
#include <math.h>

#include "kvtransfer/stream/stream.h"
#include "tests/unit/check.h"

enum { LAYERS = 4 };

static bool is_close(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

/* All layers take x; layer l is computed at (l + 1) * c. */
static double exposed(double c, double x, double transfer)
{
	double computed[LAYERS], layer[LAYERS];

	for (int l = 0; l < LAYERS; l++) {
		computed[l] = (l + 1) * c;
		layer[l] = x;
	}
	return fb_stream_recursion(computed, layer, transfer, LAYERS);
}

/* Without fixed costs it is f(l) = max(f(l - 1), c(l)) + x(l). */
static void test_plain(void)
{
	static const double computed[LAYERS] = {3, 4, 9, 12}, layer[LAYERS] = {5, 2, 1, 2};

	CHECK(is_close(exposed(3, 1, 4), 1));  /* only the last layer's transfer */
	CHECK(is_close(exposed(1, 3, 12), 9)); /* 1 + 4 * 3 - 4 */
	CHECK(is_close(exposed(0, 3, 12), 12));
	/* There at 8, 10, 11 and 14. */
	CHECK(is_close(fb_stream_recursion(computed, layer, 10, LAYERS), 2));
	CHECK(is_close(fb_stream_recursion(computed, layer, 10, 1), 5));
}

/* Of 5 alone, 3 are fixed costs that are hidden in a row: 5 + 3 * 2 for all four layers. */
static void test_fixed_costs(void)
{
	CHECK(is_close(exposed(9, 5, 11), 5));  /* only the last layer's transfer, with them */
	CHECK(is_close(exposed(3, 5, 11), 5));  /* the same, because layers in a row take 2 */
	CHECK(is_close(exposed(0, 5, 11), 11)); /* the whole transfer */
	/* There at 6, 8, 10 and 12. */
	CHECK(is_close(exposed(1, 5, 11), 8));
}

/* Layers unlike in size share what a row takes by their own times. */
static void test_unlike(void)
{
	static const double computed[LAYERS] = {1, 2, 3, 4}, layer[LAYERS] = {4, 2, 4, 2};

	/* There at 5, 6, 8 and 9: the last three take half of their times. */
	CHECK(is_close(fb_stream_recursion(computed, layer, 8, LAYERS), 5));
}

/* A row that is faster than its first layer alone, by chance, hides all others. */
static void test_limits(void)
{
	CHECK(is_close(exposed(0, 5, 4), 5));
	/* A row that is slower than its layers alone: 5, 15, 25 and 35. */
	CHECK(is_close(exposed(0, 5, 35), 35));
	CHECK(isnan(exposed(1, (double)NAN, 4)));
	CHECK(isnan(exposed(1, 5, (double)NAN)));
}

int main(void)
{
	test_plain();
	test_fixed_costs();
	test_unlike();
	test_limits();
	return check_done("recursion");
}
