/* SPDX-License-Identifier: BSD-3-Clause */
/* The panels of a figure of curves, and the values that their curves are compared with. */
#ifndef FB_SCRIPTS_TOOLS_PLOT_PANEL_H
#define FB_SCRIPTS_TOOLS_PLOT_PANEL_H

#include "scripts/tools/plot/plot.h"

/* The reference is drawn dashed. There is at most one of the three kinds. */
struct fb_panel {
	int column;	   /* number of the column that is shown; -1: there is no such panel */
	int reference;	   /* number of a column of the same rows; -1: none */
	double constant;   /* the same value for all rows; NAN: none */
	bool linear;	   /* the first value of the series, growing as the axis does */
	const char *name;  /* of the reference, for the key; "": there is none */
};

/*
 * The panel of a column, or of the median time where `column` is NULL, in a figure over the key
 * `axis`.
 */
struct fb_panel fb_panel_of(const struct fb_plot *plot, const struct fb_section *section,
			    const char *axis, const char *column);

/*
 * The panel below the time: plot->columns, or else the first of the usual columns that has values
 * in the section.
 */
struct fb_panel fb_panel_second(const struct fb_plot *plot, const struct fb_section *section,
				const char *axis);

/* The value that the cell's value is compared with; NAN: none, or a linear one. */
double fb_panel_reference(const struct fb_panel *panel, const struct fb_cell *cell);

#endif
