/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symptoms of a bad network or machine that rows can show: the sign, its usual causes, where to
 * look, and what helps. All of it is in one table, so that the report, `summary --flags` and
 * docs/start.md say the same.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_SYMPTOMS_H
#define FB_SCRIPTS_TOOLS_LIB_SYMPTOMS_H

#include <stddef.h>

struct fb_symptom {
	const char *flag;   /* the flag of rows that have it; NULL: none, only a reader can tell */
	const char *sign;   /* what is observed, with the limit from which on it counts */
	const char *causes; /* usual ones */
	const char *look;   /* a command or column that says more */
	const char *remedy;
};

extern const struct fb_symptom fb_symptoms[];
extern const size_t fb_symptoms_count;

#endif
