/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the tables of `summary`: text for people, CSV for programs, or data for gnuplot. */
#ifndef FB_SCRIPTS_TOOLS_LIB_REPORT_H
#define FB_SCRIPTS_TOOLS_LIB_REPORT_H

#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/number.h"

#include <stdio.h>

enum fb_metric { FB_METRIC_TIME, FB_METRIC_BUSBW };

enum { FB_LABEL_CHARS = 96, FB_TITLE_CHARS = 256, FB_PLOT_SERIES = 6 };

struct fb_report {
	const struct fb_cells *cells;
	const struct fb_results *results; /* for the facts */
	enum fb_metric metric;
	bool all; /* every algorithm, not only the best of each size */
	const char *columns; /* names of columns to show beside the usual ones; NULL: see below */
	FILE *out;
};

/* How many cells have each status. */
struct fb_tally {
	size_t status[FB_STATUSES];
};
struct fb_tally fb_report_tally(const struct fb_cells *cells);

/* What ran a cell: "ring ll"; with engine and transport if they are not host and shm. */
const char *fb_cell_label(const struct fb_cell *cell, char buf[FB_LABEL_CHARS]);

/*
 * Time of `other` divided by that of `cell`, with the interval from both intervals; all NAN
 * where either has no time (`other` may be NULL). Above 1: `cell` is quicker.
 */
struct fb_ratio {
	double value, low, high;
};
struct fb_ratio fb_cell_ratio(const struct fb_cell *other, const struct fb_cell *cell);

/* A summary of many such ratios; zeroed is none. */
struct fb_ratio_sum {
	double log_sum, least, most;
	size_t n, faster, slower; /* faster, slower: the whole interval is below or above 1 */
	size_t known;		  /* have an interval */
};

/* Adds a ratio unless its value is NAN. Returns whether it is the least so far. */
bool fb_ratio_add(struct fb_ratio_sum *sum, struct fb_ratio ratio);

/* The geometric mean; NAN: none. */
double fb_ratio_mean(const struct fb_ratio_sum *sum);

/*
 * Columns that a section's table shows beside the usual ones: those of report->columns, or else the
 * programs' own columns whose values differ between the cells shown, up to a width of FB_OWN_WIDTH
 * letters. Columns that engines add come last. `same` lists the values that all cells share.
 */
enum { FB_OWN_COLUMNS = 16, FB_OWN_WIDTH = 72, FB_OWN_CHARS = 320 };
struct fb_own {
	size_t column[FB_OWN_COLUMNS]; /* numbers as of fb_results_column */
	size_t count;
	char same[FB_OWN_CHARS]; /* "tokens 2048, layers 8", or "" */
	char more[FB_OWN_CHARS]; /* names of those that found no room, or "" */
};
void fb_own_find(struct fb_own *own, const struct fb_report *report,
		 const struct fb_section *section);
const char *fb_own_name(const struct fb_report *report, size_t column);

/* The cell that a table shows for a place: the best own one, else the library's; NULL: none. */
const struct fb_cell *fb_place_shown(const struct fb_cell *cell, size_t n);

/* Which axes, as bits, any cell of the section has a value on, and whether its sizes differ. */
unsigned fb_section_axes(const struct fb_section *section, bool *sizes);

/*
 * A table per section, of at most 100 letters a line beside axes and own columns, and what went
 * wrong at the end.
 */
void fb_report_text(const struct fb_report *report);

/* A line per section and size (with `all`: per cell), keys first; see docs/measurement.md. */
void fb_report_csv(const struct fb_report *report);

/*
 * Prints two ratios of times for each program with rows of engine auto: the library's best divided
 * by auto, and auto divided by the best own cell at that place (its regret, if auto is not the only
 * own one). They are geometric means over cells, with the worst value and the cell that has it.
 */
void fb_report_auto(const struct fb_report *report);

/*
 * A section as commands for gnuplot's `load`: TITLE, SUBTITLE (the machine), SIZES (whether there
 * are any), OWN (number of series), LIBRARY and BOUND (whether there are such), LIBRARY_NAME,
 * LAUNCHES (the least of all sizes), NAME[], and the datablock $DATA with a block for each series:
 * own ones first, then the library's, then the bound. Each line is bytes, us, low, high, busbw,
 * ratio, low, high, busbw's low, high, the least and the greatest launch's us. Each algorithm of
 * the project has one series, with its fastest protocol at each size. There are at most
 * FB_PLOT_SERIES of them; those that are the best at the most sizes come first. In a section with
 * axes each place has a series, libraries are series like others, and LIBRARY and BOUND are 0.
 */
void fb_report_plot(const struct fb_report *report, const struct fb_section *section);

#endif
