/* SPDX-License-Identifier: BSD-3-Clause */
/* What `tune` chooses of times whose best answer is known. */
#include "scripts/tools/tune/choose.h"

#include "tests/unit/check.h"

enum { MOST = 256 };

/* A time with an interval of +-1%; 0: not measured. */
static struct fb_tune_point exact(double us)
{
	return (struct fb_tune_point){.us = us, .low_us = us * 0.99, .high_us = us * 1.01,
				      .channels = 1};
}

/* us[context][size][candidate]; the choices as digits, '-' for none. */
static const char *choose(struct fb_tune_problem p, const double *us, const unsigned *channels,
			  char text[MOST])
{
	struct fb_tune_point points[MOST];
	int choice[MOST];
	size_t n = p.ncontexts * p.nsizes * p.ncandidates;

	for (size_t i = 0; i < n; i++) {
		points[i] = exact(us[i]);
		if (channels)
			points[i].channels = channels[i % p.ncandidates];
	}
	p.point = points;
	fb_tune_choose(&p, choice);
	for (size_t s = 0; s < p.nsizes; s++)
		text[s] = (char)(choice[s] < 0 ? '-' : '0' + choice[s]);
	text[p.nsizes] = '\0';
	return text;
}

#define CHECK_CHOICE(contexts, sizes, candidates, us, channels, want)                              \
	do {                                                                                       \
		const struct fb_tune_problem p_ = {.ncontexts = contexts, .nsizes = sizes,         \
						   .ncandidates = candidates, .change = 0.02};     \
		char text_[MOST];                                                                  \
		CHECK_STR(choose(p_, us, channels, text_), want);                                  \
	} while (0)

static void test_best(void)
{
	static const double crossing[] = {1, 2, 1, 2, 2, 2.5, 4, 3, 8, 4, 16, 8};
	static const double one[] = {5};

	CHECK_CHOICE(1, 6, 2, crossing, NULL, "000111");
	CHECK_CHOICE(1, 1, 1, one, NULL, "0");
}

/* A flip that gains less than two changes cost goes, one that gains more stays. */
static void test_flips(void)
{
	static const double small[] = {10, 12, 10, 12, 10, 9.75, 10, 12, 10, 12};
	static const double large[] = {10, 12, 10, 12, 10, 9, 10, 12, 10, 12};
	/* At an end it is one change. */
	static const double end_small[] = {10, 12, 10, 12, 10, 9.85};
	static const double end_large[] = {10, 12, 10, 12, 10, 9.7};
	/* Two in a row gain together. */
	static const double pair[] = {10, 12, 10, 9.7, 10, 9.7, 10, 12};

	CHECK_CHOICE(1, 5, 2, small, NULL, "00000");
	CHECK_CHOICE(1, 5, 2, large, NULL, "00100");
	CHECK_CHOICE(1, 3, 2, end_small, NULL, "000");
	CHECK_CHOICE(1, 3, 2, end_large, NULL, "001");
	CHECK_CHOICE(1, 4, 2, pair, NULL, "0110");
}

/* Within the intervals the one with fewer channels is taken; beyond them the quicker one. */
static void test_ties(void)
{
	static const double near[] = {10, 10.05, 20, 20.1}, far[] = {10, 10.4, 20, 20.8};
	static const unsigned many_first[] = {32, 2}, few_first[] = {2, 32};
	static const unsigned fixes[] = {1, 0};
	struct fb_tune_problem p = {.ncontexts = 1, .nsizes = 2, .ncandidates = 2,
				    .change = 0.02, .numbers = fixes};
	char text[MOST];

	CHECK_CHOICE(1, 2, 2, near, many_first, "11");
	CHECK_CHOICE(1, 2, 2, near, few_first, "00");
	CHECK_CHOICE(1, 2, 2, far, many_first, "00");
	/* With equal channels what fixes nothing. */
	CHECK_STR(choose(p, near, NULL, text), "11");
	CHECK_STR(choose(p, far, NULL, text), "00");
}

/* An interval that is wide excuses little. */
static void test_wide(void)
{
	const struct fb_tune_point points[] = {
		{.us = 10, .low_us = 5, .high_us = 20, .channels = 32},
		{.us = 10.4, .low_us = 5, .high_us = 20, .channels = 1},
		{.us = 12, .low_us = 5, .high_us = 20, .channels = 1},
	};
	const bool without_second[] = {true, false, true};
	struct fb_tune_problem p = {.ncontexts = 1, .nsizes = 1, .ncandidates = 3,
				    .point = points, .change = 0.02};
	int choice = -1;

	fb_tune_choose(&p, &choice);
	CHECK_INT(choice, 1);
	p.candidate = without_second;
	fb_tune_choose(&p, &choice);
	CHECK_INT(choice, 0);
}

static void test_gaps(void)
{
	/* Nothing at the second size; the best one is missing at the third. */
	static const double us[] = {10, 9, 0, 0, 10, 0, 10, 9}, none[] = {0, 0};

	CHECK_CHOICE(1, 4, 2, us, NULL, "1-01");
	CHECK_CHOICE(1, 1, 2, none, NULL, "-");
}

static void test_contexts(void)
{
	/* Good on the whole: 1, which is second in both. */
	static const double us[] = {10, 11, 20, 20, 11, 10};
	/* Not measured in the second context: out of question, quick as it is. */
	static const double partly[] = {10, 5, 10, 0};
	/* A context without any time at a size has no say there. */
	static const double silent[] = {10, 5, 10, 5, 0, 0, 5, 10};
	const bool second[] = {false, true};
	struct fb_tune_problem p = {.ncontexts = 2, .nsizes = 1, .ncandidates = 3, .change = 0.02};
	char text[MOST];

	CHECK_CHOICE(2, 1, 3, us, NULL, "1");
	CHECK_CHOICE(2, 1, 2, partly, NULL, "0");
	CHECK_CHOICE(2, 2, 2, silent, NULL, "11");
	p.context = second;
	CHECK_STR(choose(p, us, NULL, text), "2");
}

static void test_figures(void)
{
	const struct fb_tune_point points[] = {exact(10), exact(20), exact(40), exact(10),
					       exact(0), exact(5)};
	const struct fb_tune_problem p = {.ncontexts = 2, .nsizes = 1, .ncandidates = 3,
					  .point = points};

	/* Ratios 1 and 2; 4 and 1; their geometric means. */
	CHECK_NEAR(fb_tune_excess(&p, 0, 0), sqrt(2) - 1, 1e-12);
	CHECK_NEAR(fb_tune_excess(&p, 0, 2), 1, 1e-12);
	CHECK(isinf(fb_tune_excess(&p, 0, 1)));
	CHECK_NEAR(fb_tune_time_us(&p, 0, 0), 10, 1e-12);
	CHECK_NEAR(fb_tune_time_us(&p, 0, 2), sqrt(200), 1e-12);
	CHECK(isnan(fb_tune_time_us(&p, 0, 1)));
}

int main(void)
{
	test_best();
	test_flips();
	test_ties();
	test_wide();
	test_gaps();
	test_contexts();
	test_figures();
	return check_done("tuning_choose");
}
