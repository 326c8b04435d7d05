/* SPDX-License-Identifier: BSD-3-Clause */
/* Reasons to doubt a whole run, in sentences: an overloaded machine, times below the bound. */
#ifndef FB_SCRIPTS_TOOLS_LIB_DOUBTS_H
#define FB_SCRIPTS_TOOLS_LIB_DOUBTS_H

#include "scripts/tools/lib/cells.h"

enum { FB_DOUBTS = 4, FB_DOUBT_CHARS = 256 };

/*
 * Writes a sentence for each doubt: most rows carry flag `skew`; rows are faster than their bound;
 * the machine's load was above its number of processors when a launch began; launches did not
 * finish. Returns how many there are.
 */
int fb_doubts(const struct fb_cells *cells, const struct fb_results *results,
	      char text[FB_DOUBTS][FB_DOUBT_CHARS]);

#endif
