/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders the differences between environments by how likely each caused the change.
 *
 * This is a guess, printed with its reason. A trait that only the rows that changed have in common
 * hints at the part of the system that they share. The guess orders the list of differences and
 * changes no verdict.
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
