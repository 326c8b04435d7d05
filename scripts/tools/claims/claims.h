/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims: reads the lines `show` of a study, and evaluates them with result files. Private to the
 * tool claims; docs/studies.md has the grammar.
 */
#ifndef FB_SCRIPTS_TOOLS_CLAIMS_CLAIMS_H
#define FB_SCRIPTS_TOOLS_CLAIMS_CLAIMS_H

#include "scripts/tools/lib/sheet.h"
#include "scripts/tools/study/study.h"

enum fb_claim_verdict { FB_CLAIM_HOLDS, FB_CLAIM_FAILS, FB_CLAIM_OPEN };

/* [FACTOR] [best] COLUMN CONDITION...: one value of the rows that meet all conditions. */
struct fb_claim_term {
	double factor;
	bool best; /* takes the least time, or the greatest rate, of rows with different keys */
	const char *column;
	char *const *condition; /* [conditions] COLUMN=VALUE; borrowed from the study */
	size_t conditions;
};

enum {
	FB_CLAIM_EACH = 4,		       /* columns behind `each` or `some`, at most */
	FB_CLAIM_COLUMNS = FB_CLAIM_EACH + 2, /* those, ranks and nodes */
	FB_CLAIM_NAME_CHARS = 128,
};

/*
 * least|most BOUND [each|some COLUMN,...] TERM [/ TERM]. It is evaluated for each combination of
 * values of all columns in `over`. The first `apart` of them are ranks and nodes, because runs with
 * different numbers of ranks or nodes are different experiments: the claim has to hold in each. If
 * a term names a number of nodes, ranks and nodes are left out; if it names one of ranks, ranks is.
 */
struct fb_claim_show {
	bool least; /* the value is to be at least `bound`, else at most */
	double bound;
	char over[FB_CLAIM_COLUMNS][FB_CLAIM_NAME_CHARS];
	size_t columns, apart;
	bool some; /* one place of each number of ranks and nodes is enough; else all are needed */
	struct fb_claim_term above, below; /* below.column NULL: no quotient */
};

/* One value of each column in `over`. */
struct fb_claim_place {
	const char *value[FB_CLAIM_COLUMNS];
};

/* A value with its 95% interval; NAN where there is none, which `why` explains. */
struct fb_claim_value {
	double middle, low, high;
	char why[256];
	bool absent; /* there was nothing to measure: no row, or only skipped ones */
};

/* Reads one line; texts stay borrowed from the study. Returns 0 or FB_EINPUT (printed). */
int fb_claim_parse(struct fb_claim_show *show, const struct fb_study *study,
		   const struct fb_study_show *line);

/*
 * Measures a term in result files, in the rows of one place; place NULL: in all rows. Launches of
 * the same keys are joined: the median of their values, from the least end of their intervals to
 * the greatest. Returns 0 or FB_EINPUT (printed: the conditions leave rows with unlike keys).
 */
int fb_claim_measure(struct fb_claim_value *value, const struct fb_claim_show *show,
		     const struct fb_claim_term *term, const struct fb_sheets *sheets,
		     const struct fb_claim_place *place);

/*
 * The places of rows that meet the conditions of the first term, each once, sorted so that equal
 * numbers of ranks and nodes are neighbours: *count of them. Returns 0 or FB_EINPUT (printed).
 */
int fb_claim_places(struct fb_claim_place **places, size_t *count, const struct fb_claim_show *show,
		    const struct fb_sheets *sheets);

/* The quotient, with the widest interval that both intervals allow. */
struct fb_claim_value fb_claim_quotient(const struct fb_claim_value *above,
					const struct fb_claim_value *below);

/* Whether a value shows what the line asks; fills why where it is open and has none yet. */
enum fb_claim_verdict fb_claim_judge(const struct fb_claim_show *show,
				     struct fb_claim_value *value);

#endif
