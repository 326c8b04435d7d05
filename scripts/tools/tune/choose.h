/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the best candidate for each size from times with noise: the core of `tune`.
 *
 * If each size simply took the candidate with the least median, the table would switch back and
 * forth between candidates that differ only by noise. So a candidate that cannot be distinguished
 * from the best one counts as equal to it, and each switch from one size to the next costs as much
 * as a given loss of time at one size. The choice is the sequence with the least sum of losses and
 * costs of switches, found by dynamic programming (Viterbi, 1967). A switch for a single size stays
 * only if it gains more than two switches cost. Of equal sums the one with fewer channels is taken.
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

/* A greater difference never counts as noise, however wide the intervals are. */
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
 * Whether the candidate cannot be distinguished from the best one in any context that has times at
 * that size: one's median is within the other's interval, and the medians differ by at most
 * FB_TUNE_MOST_TIE.
 */
bool fb_tune_equals_best(const struct fb_tune_problem *problem, size_t size, size_t candidate);

/* The candidate's time: the geometric mean over contexts; NAN as above. */
double fb_tune_time_us(const struct fb_tune_problem *problem, size_t size, size_t candidate);

#endif
