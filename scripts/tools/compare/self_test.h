/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test of the gate on a machine where nothing changed: one set of launches, split into two sides.
 *
 * Random splits must alarm in 5% of the cases for any data, as permutation tests do. So they test
 * the program; they also give the rows' noise. Splits by time test the machine: the first half
 * against the second fails if the machine drifts, and A B B A passes if results can be trusted as
 * long as the sides are interleaved.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_SELF_TEST_H
#define FB_SCRIPTS_TOOLS_COMPARE_SELF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FB_SELF_TEST_SPLITS = 200, FB_SELF_TEST_LAUNCHES = 16 };

/* The largest share of random splits that may alarm. */
#define FB_SELF_TEST_SHARE 0.1

struct fb_self_test {
	size_t launches; /* used: an even number, the last is left out of an odd one */
	size_t rows;	 /* used: those with a value in every launch */
	size_t splits;
	size_t alarms;	 /* splits in which a row has an adjusted p <= 0.05 */
	size_t flagged;	 /* splits in which a row would be called REGRESSED or IMPROVED */
	double share;	 /* alarms / splits; NAN: nothing to split (4 launches and a row) */
	bool good;	 /* share <= 10% */
	bool enough;	 /* 16 launches or more; with fewer this can only warn */
	double halves_p; /* adjusted p of the worst row, first half against second half in time */
	double interleaved_p; /* the same for A B B A A B B A ... in time */
};

/*
 * y[rows][launches], launches in the order of time, NAN: missing. theta[rows]: what verdicts use,
 * NULL: 5% or 3 x noise. noise[rows]: set to the standard deviation of each row's y, NAN for fewer
 * than 2 values; may be NULL. Returns 0 or FB_EINPUT (infinite value).
 */
int fb_self_test(const double *y, size_t rows, size_t launches, const double *theta, uint64_t seed,
		 double *noise, struct fb_self_test *out);

#endif
