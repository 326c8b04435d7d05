/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks for unit tests: they survive NDEBUG, go on after a failure so that one run shows all,
 * and end in one line per test program.
 */
#ifndef FB_TESTS_UNIT_CHECK_H
#define FB_TESTS_UNIT_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_SKIP = 77 };

static int check_count, check_failures;

#define CHECK(cond) check_that((cond) ? 1 : 0, #cond, __FILE__, __LINE__)
#define CHECK_INT(got, want) \
	check_int((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) check_str((got), (want), #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, want, tol) check_near((got), (want), (tol), #got, __FILE__, __LINE__)

static inline int check_that(int ok, const char *what, const char *file, int line)
{
	check_count++;
	if (!ok) {
		check_failures++;
		printf("%s:%d: failed: %s\n", file, line, what);
	}
	return ok;
}

static inline int check_int(long long got, long long want, const char *what, const char *file,
			    int line)
{
	if (!check_that(got == want, what, file, line)) {
		printf("\tgot %lld, want %lld\n", got, want);
		return 0;
	}
	return 1;
}

static inline int check_str(const char *got, const char *want, const char *what, const char *file,
			    int line)
{
	if (!check_that(got && want && !strcmp(got, want), what, file, line)) {
		printf("\tgot \"%s\", want \"%s\"\n", got ? got : "(null)", want ? want : "(null)");
		return 0;
	}
	return 1;
}

static inline int check_near(double got, double want, double tol, const char *what,
			     const char *file, int line)
{
	if (!check_that(fabs(got - want) <= tol, what, file, line)) {
		printf("\tgot %.17g, want %.17g +- %g\n", got, want, tol);
		return 0;
	}
	return 1;
}

/* Whether all cases are to be run, or fewer (tests/run --full). */
static inline bool check_full(void)
{
	const char *text = getenv("FB_FULL");

	return text && *text;
}

/*
 * A limit of so many seconds on an idle machine, which tests/run has measured to be FB_SLOW times
 * as slow.
 */
static inline double check_seconds(double seconds)
{
	const char *text = getenv("FB_SLOW");
	double slow = text ? strtod(text, NULL) : 1;

	return seconds * (slow > 1 ? slow : 1);
}

static inline int check_done(const char *name)
{
	if (check_failures) {
		printf("FAIL %s (%d of %d checks)\n", name, check_failures, check_count);
		return 1;
	}
	printf("PASS %s (%d checks)\n", name, check_count);
	return 0;
}

#endif
