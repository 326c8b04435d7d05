/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p-values of all rows together. When nothing changed, only 5% of whole comparisons have any p
 * below 0.05, however many rows there are, and however rows depend on each other.
 *
 * The method is Westfall and Young's max-T (1993), step-down. A row's statistic is the larger of
 * Student's t and of Yuen's t of trimmed means on launches' y (statistic.h). Each draw assigns the
 * launches to A and B at random, for all rows alike, which keeps the correlation between rows, and
 * takes the largest |t| of all rows. A row's adjusted p is the share of draws whose largest |t|
 * reaches the row's own. Step-down means that a row is compared with the largest |t| among itself
 * and the rows of smaller |t|, and that no p is less than that of a row of larger |t|. All
 * assignments are used if there are at most FB_FAMILY_EXHAUSTIVE (up to 8 launches a side); else
 * some are drawn by a fixed seed. With blocks, the signs of the blocks' differences are drawn.
 *
 * Rows that lack a launch cannot be part of that. They are judged by their own exact p
 * (Mann-Whitney, or signed ranks with blocks), adjusted by Holm's method. The two lists share the
 * 5% in proportion to their rows: each p is multiplied by (all rows) / (rows of its list).
 *
 * The 5% hold if A and B have the same distribution. A side that only became noisier has another
 * one: with 10 against 10 launches, 200 rows and a noise that tripled, a quarter of comparisons
 * have a row below 0.05 (with 30 against 10 and a noise 1.5 times as large one in seven; by the
 * pooled t it would be 42%). See fb_effect.noise_p.
 *
 * Other statistics were worse in a simulation (200 rows, 12 launches a side, 5% of values 1.2 to 3
 * times slower, 10% slower in 5 rows at 2% noise): t alone finds 30% of the changes, rank scores
 * 88%, values limited to median +- 3 MAD 52% (1 MAD: 89%), this one 97%. One outlier a side of 8
 * launches hides a change of 1.2x from all of the others, but not from this one.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_FAMILY_H
#define FB_SCRIPTS_TOOLS_COMPARE_FAMILY_H

#include "scripts/tools/compare/design.h"

#include <stdint.h>

enum {
	FB_FAMILY_EXHAUSTIVE = 20000, /* most assignments that are all gone through */
	FB_FAMILY_DRAWS = 9999,	      /* otherwise this many are drawn */
};

/* The seed that gives the same verdicts for the same data everywhere; print it. */
#define FB_FAMILY_SEED UINT64_C(20150815)

/*
 * The least standard deviation of y between launches that a statistic assumes: 0.01%, about what
 * rounding of times in files gives. So rows of equal values do not divide by 0.
 */
#define FB_FAMILY_LEAST_SD 1e-4

enum fb_family_list {
	FB_LIST_MAX_T,	  /* complete: max-T */
	FB_LIST_HOLM,	  /* lacks a launch: own exact p, Holm */
	FB_LIST_UNTESTED, /* a side (or every block) has no value */
};

struct fb_family_row {
	enum fb_family_list list;
	double t; /* t of equal significance, positive if B is slower; NAN: not FB_LIST_MAX_T */
	double p; /* adjusted for all rows; 1 when untested */
};

struct fb_family {
	size_t complete, incomplete, untested; /* rows of each list */
	uint64_t assignments; /* how many were gone through, the real one included */
	bool exhaustive;      /* these are all there are */
	double least_p;	      /* the least p that a complete row could have got */
	/*
	 * The |t| that a row of the full family has to reach for p <= 0.05; INFINITY: none is
	 * enough; NAN: no complete row. It shows what could have been detected (power.h).
	 */
	double critical_t;
	double degrees; /* of freedom of t: launches - 2, or blocks - 1; less for Welch's */
};

struct fb_family_options {
	uint64_t seed;	  /* FB_FAMILY_SEED */
	size_t draws;	  /* 0: FB_FAMILY_DRAWS */
	double alpha;	  /* family-wise level that critical_t is for; 0: 0.05 */
	bool single_step; /* not step-down; for tests of the difference */
};

/*
 * Tests rows of y[rows][design->launches]; out[rows]. `options` may be NULL (all defaults). Rows
 * may be 0. Deterministic for given arguments. Returns FB_EINPUT (bad design, infinite value); then
 * nothing is set. Cost: rows * assignments * launches / 4 look-ups (100,000 rows
 * of 20 launches: a minute), and 8 * rows * launches bytes.
 */
int fb_family_test(const struct fb_design *design, const double *y, size_t rows,
		   const struct fb_family_options *options, struct fb_family_row *out,
		   struct fb_family *family);

/*
 * Holm's adjustment of p[0 .. n) in place: the k-th smallest times (n - k + 1), made monotone,
 * at most 1.
 */
void fb_holm(double *p, size_t n);

#endif
