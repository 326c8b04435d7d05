/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which candidate is best at which size, from times that are not exact: the heart of `tune`.
 *
 * Taken alone, each size would have the candidate with the least median, and a table would flip
 * between candidates that differ by noise. So candidates that cannot be told apart from the best
 * count as equal to it, and a change from one size to the next costs as much as a given loss of
 * time at one size. The choice is the sequence with the least sum of losses and changes, found by
 * dynamic programming (Viterbi, 1967): an isolated flip stays only if it gains more than two
 * changes cost. Equal sums go to fewer channels.
 */
#ifndef FB_SCRIPTS_TOOLS_TUNE_CHOOSE_H
#define FB_SCRIPTS_TOOLS_TUNE_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

/* A candidate's time at a size, in one context (a data type, a cadence, ...). */
struct fb_tune_point {
	double us;              /* median; 0: not measured */
	double low_us, high_us; /* its interval; NAN: not known */
	unsigned channels;      /* that ran; 0: not known */
};

struct fb_tune_problem {
	size_t ncontexts, nsizes, ncandidates;
	const struct fb_tune_point *point; /* [context][size][candidate] */
	const bool *context, *candidate;   /* which of them take part; NULL: all */
	const unsigned *numbers; /* [candidate]: how many numbers it fixes; NULL: none */
	double change;           /* what a change costs, as a ratio of time: 0.02 */
};

/* Differences above this are none of noise, however wide the intervals are. */
#define FB_TUNE_MOST_TIE 0.05

/*
 * Sets choice[size] to a candidate, or -1 where none was measured in every context that has times
 * at that size.
 */
void fb_tune_choose(const struct fb_tune_problem *problem, int *choice);

/*
 * How much longer the candidate takes than the best one: the geometric mean over contexts of the
 * ratio, minus 1. INFINITY where it was not measured in every context. Ties count as they are.
 */
double fb_tune_excess(const struct fb_tune_problem *problem, size_t size, size_t candidate);

/*
 * Whether the candidate cannot be told apart from the best one in any context that has times at
 * that size: either median is within the other's interval, and they differ by FB_TUNE_MOST_TIE at
 * most.
 */
bool fb_tune_equals_best(const struct fb_tune_problem *problem, size_t size, size_t candidate);

/* The candidate's time: the geometric mean over contexts; NAN as above. */
double fb_tune_time_us(const struct fb_tune_problem *problem, size_t size, size_t candidate);

#endif
