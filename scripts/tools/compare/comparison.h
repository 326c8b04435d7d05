/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A comparison: two result sets joined, and every row judged.
 *
 * Nothing disappears: each row of a file is judged, or is in a list of rows that could not be
 * judged (only on one side, skipped, wrong, faulty, without the metric). Each launch is used, or is
 * named with the reason why not.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_COMPARISON_H
#define FB_SCRIPTS_TOOLS_COMPARE_COMPARISON_H

#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/launches.h"
#include "scripts/tools/compare/limits.h"
#include "scripts/tools/compare/order.h"
#include "scripts/tools/compare/session.h"
#include "scripts/tools/compare/verdict.h"

/* The rows of a key on one side, counted by launches. */
struct fb_outcome {
	uint16_t status[FB_STATUSES]; /* of last attempts, also in launches that are left out */
	uint16_t values;	      /* numbers of the metric in launches that are used */
	uint16_t times;		      /* of median_us, likewise */
	double log_us;		      /* sum of their logarithms */
};

/* Where a key ends up. */
enum fb_place {
	FB_PLACE_JUDGED,    /* values on both sides */
	FB_PLACE_ONLY_BASE, /* no row in NEW */
	FB_PLACE_ONLY_NEW,
	FB_PLACE_LOST,	    /* a value in BASE; skipped or faulty in NEW */
	FB_PLACE_GAINED,    /* the other way round */
	FB_PLACE_NEITHER,   /* rows on both sides without a value: skipped, faulty */
	FB_PLACE_NO_METRIC, /* measured, but some side's rows lack the metric */
	FB_PLACE_LEFT_OUT,  /* only launches that are left out have it on some side */
	FB_PLACES,
};

/* A row is UNSURE instead of SAME if noise or clock make its theta larger than this. */
#define FB_LARGEST_NOISE_THETA 0.5

/* A judged row. */
struct fb_judged {
	uint32_t key;
	struct fb_effect effect; /* of the cost: above 1 is worse, for rates too */
	struct fb_family_row test;
	struct fb_limit limit;
	enum fb_verdict verdict;
	enum fb_verdict before; /* the verdict without the checks for drift and sessions */
	double session_error;	/* see session.h; NAN: sessions are not the unit, or not known */
	double rho;		/* with time; NAN: not known */
	double least_change;	/* ratio that would have been found in 4 of 5 comparisons; NAN */
	size_t launches_needed; /* a side, to find a change of theta; 0: not known */
};

struct fb_comparison {
	const struct fb_metric_name *metric;
	struct fb_keys keys;
	struct fb_set set[2];	       /* BASE, NEW */
	struct fb_outcome *outcome[2]; /* [keys.count] */
	unsigned char *place;	       /* [keys.count], enum fb_place */
	size_t places[FB_PLACES];

	struct fb_design design;
	struct fb_design_size size;
	unsigned char *side; /* [design.launches] */
	unsigned *block;     /* [design.launches], or NULL */
	unsigned *session;   /* [design.launches]: see session.h */
	double *time;	     /* [design.launches] seconds; NULL: not known of every launch */
	uint32_t *row_key;   /* [rows], in the order of tables */
	double *y;	     /* [rows][design.launches], less is better; see design.h */
	size_t rows;
	size_t few; /* files' rows with status few, of both sides */

	struct fb_judged *judged; /* [rows] */
	struct fb_family family;
	struct fb_order order;
	bool apart; /* the sides ran one after the other, so sessions are the unit */
	struct fb_sessions sessions;
	size_t verdicts[FB_VERDICTS];
	size_t wrong[2], faults[2]; /* keys with such a row, per side */
};

/* How to judge. */
struct fb_judging {
	double alpha;
	uint64_t seed;
	struct fb_limits *limits; /* borrowed */
};

/*
 * Joins the two sets that were read into comparison->set. Of a launch and a key there may be
 * one row, and attempts with status fault before it; anything else is FB_EINPUT. A launch that
 * lacks many rows is left out (`out`), because rows that lack a launch get a weaker test. With
 * `paired`, launches of the same index form a block, and one without a partner is left out. Returns
 * 0 or FB_EINPUT (printed).
 */
int fb_join(struct fb_comparison *comparison, bool paired);

/*
 * join_cells.c, the first half of that: value[s][key * nlaunches + launch] of side s, NAN: none;
 * counts outcomes. Returns 0 or FB_EINPUT (printed).
 */
int fb_join_cells(struct fb_comparison *comparison, double *value[2]);

/* join_launches.c: decides which launches are left out. Returns 0 or FB_EINPUT (printed). */
int fb_join_launches(struct fb_comparison *comparison, bool paired, double *const value[2]);

/* Fills judged, family, order, verdicts. Returns 0 or FB_EINPUT (printed). */
int fb_judge(struct fb_comparison *comparison, const struct fb_judging *how);

#endif
