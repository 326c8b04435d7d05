/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of pairs: what they mean, and what is refused. */
#include "p2p/pairs.h"

#include "common/base/error.h"
#include "tests/unit/check.h"

/* The pairs of a list as "0-1 1-2". */
static const char *text_of(const char *list, int nranks, char *text, size_t n)
{
	struct fb_pairs pairs;
	size_t used = 0;

	text[0] = '\0';
	if (fb_pairs_read(&pairs, list, nranks, NULL))
		return "refused";
	for (int i = 0; i < pairs.count && used < n; i++)
		used += (size_t)snprintf(text + used, n - used, "%s%d-%d", i ? " " : "",
					 pairs.item[i].src, pairs.item[i].dst);
	fb_pairs_free(&pairs);
	return text;
}

#define CHECK_PAIRS(list, nranks, want)                                                            \
	do {                                                                                       \
		char text_[512];                                                                   \
		CHECK_STR(text_of(list, nranks, text_, sizeof(text_)), want);                      \
	} while (0)

static void test_names(void)
{
	CHECK_PAIRS("first", 2, "0-1");
	CHECK_PAIRS("first", 9, "0-1");
	CHECK_PAIRS("root", 4, "0-1 0-2 0-3");
	CHECK_PAIRS("neighbours", 2, "0-1");
	CHECK_PAIRS("neighbours", 3, "0-1 1-2 2-0");
	CHECK_PAIRS("halves", 4, "0-2 1-3");
	CHECK_PAIRS("halves", 5, "0-2 1-3");
	CHECK_PAIRS("all", 3, "0-1 0-2 1-0 1-2 2-0 2-1");
}

static void test_lists(void)
{
	static const char *const wrong[] = {
		"",    "0",    "0-",   "-1",  "0-0",   "0-4",	  "4-0",  "0-1,0-1", "0-1,",
		",0-1", "0-1 ", "0--1", "a-b", "0-1-2", "first,0-1", "0 - 1", "+0-1",    "0-+1",
	};

	CHECK_PAIRS("3-0", 4, "3-0");
	CHECK_PAIRS("0-1,1-0", 4, "0-1 1-0");
	CHECK_PAIRS("2-3,0-1", 4, "2-3 0-1");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_PAIRS(wrong[i], 4, "refused");
}

static void check_disjoint(const char *list, int want)
{
	struct fb_pairs pairs;

	if (!CHECK_INT(fb_pairs_read(&pairs, list, 8, NULL), FB_OK))
		return;
	CHECK_INT(fb_pairs_disjoint(&pairs), want);
	fb_pairs_free(&pairs);
}

static void test_disjoint(void)
{
	check_disjoint("halves", 4);
	check_disjoint("all", 1);
	check_disjoint("0-1,2-3,4-5", 3);
	check_disjoint("0-1,2-3,3-4,6-7", 2);
	check_disjoint("0-1,1-0", 1);
	check_disjoint("0-1,2-0", 1);
}

int main(void)
{
	test_names();
	test_lists();
	test_disjoint();
	return check_done("pairs");
}
