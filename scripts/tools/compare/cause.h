/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which difference of the environments to suspect first.
 *
 * A guess, with its reason: what the rows that changed have in common, and the others have not,
 * says which part of the system they share. It orders the list of differences and decides
 * nothing.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_CAUSE_H
#define FB_SCRIPTS_TOOLS_COMPARE_CAUSE_H

#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/compare/environment_diff.h"

enum { FB_TRAIT_CHARS = 160 };

/*
 * Sets weight and why of every difference and sorts them: classes by their heaviest difference,
 * and differences by weight within. `trait` says what the rows that changed have in common
 * ("only rows of engine nccl changed"), or is empty.
 */
void fb_cause_rank(struct fb_differences *differences, const struct fb_comparison *comparison,
		   char trait[FB_TRAIT_CHARS]);

#endif
