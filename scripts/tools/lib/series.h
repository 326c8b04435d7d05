/* SPDX-License-Identifier: BSD-3-Clause */
/* The curves of a figure over sizes: which algorithms of a section, and in which order. */
#ifndef FB_SCRIPTS_TOOLS_LIB_SERIES_H
#define FB_SCRIPTS_TOOLS_LIB_SERIES_H

#include "scripts/tools/lib/cells.h"

enum { FB_SERIES_MAX = 64 };

/* An algorithm on one engine and transport, with any protocol, at any place or at one. */
struct fb_series {
	const struct fb_cell *first; /* for the name. Borrowed */
	size_t axes;		     /* axes on which its cells share one place; 0: any place */
	size_t sizes, wins;	     /* sizes with a time; sizes at which it is the best */
	double log_sum;		     /* sum of ln(its time / the best time) */
};

/*
 * The series of a section, the best at most sizes first, then by the mean distance to the best.
 * They are the project's algorithms. With `places`, in a section with axes, there is a series for
 * each place, and libraries have series too. Returns how many; those beyond FB_SERIES_MAX are left
 * out.
 */
size_t fb_series_make(const struct fb_section *section, bool places,
		      struct fb_series series[FB_SERIES_MAX]);

/* The quickest protocol of a series among the cells of one size, or NULL. Borrowed. */
const struct fb_cell *fb_series_quickest(const struct fb_cell *cell, size_t n,
					 const struct fb_series *series);

#endif
