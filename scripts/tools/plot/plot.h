/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `plotdata` prepares for the scripts in plots/: a kind of figure is a line in plotdata.c's
 * table and a function here that writes TITLE, SUBTITLE, NOTE and what its script says it needs,
 * as commands for gnuplot's `load`.
 *
 * Kinds made of result rows are grouped first: a group is what one figure can show. The others
 * read tables of their own (docs/plots.md).
 */
#ifndef FB_SCRIPTS_TOOLS_PLOT_PLOT_H
#define FB_SCRIPTS_TOOLS_PLOT_PLOT_H

#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/sheet.h"
#include "scripts/tools/plot/samples.h"

#include <stdio.h>

enum { FB_PLOT_TITLE_CHARS = 256, FB_PLOT_NAME_CHARS = 96, FB_PLOT_COLOURS = 7 };

struct fb_plot {
	const struct fb_results *results; /* kinds of result rows: all rows and facts; else empty */
	const struct fb_cells *cells;
	char *const *path; /* [npaths], as given */
	size_t npaths;
	uint64_t bytes;	 /* the size asked for, or 0 */
	const char *columns; /* axis: what the second panel shows, by default what is exposed */
	uint64_t figure; /* which group, from 1 */
	bool count;	 /* print how many there are instead */
	FILE *out;
};

/* Writes `array[i] = 'text'` as a line. */
void fb_plot_item(FILE *out, const char *array, size_t i, const char *text);

/*
 * Each writes one figure's data, or with plot->count the number of figures that the input has.
 * Returns 0 or FB_EINPUT (no such figure or nothing in the input that it could show; printed).
 */
int fb_plot_axis(const struct fb_plot *plot);
int fb_plot_heat(const struct fb_plot *plot);
int fb_plot_stack(const struct fb_plot *plot);
int fb_plot_map(const struct fb_plot *plot);
int fb_plot_scaling(const struct fb_plot *plot);
int fb_plot_matrix(const struct fb_plot *plot);
int fb_plot_distribution(const struct fb_plot *plot);
int fb_plot_distribution_spans(const struct fb_plot *plot); /* of a spans.csv */
int fb_plot_skew(const struct fb_plot *plot);
int fb_plot_ranks(const struct fb_plot *plot);
int fb_plot_timeline(const struct fb_plot *plot);
int fb_plot_forest(const struct fb_plot *plot);
int fb_plot_history(const struct fb_plot *plot);

/*
 * fb_distribution_curve writes sorted values as lines "value, share in percent", the last ones all;
 * fb_distribution_marks writes the median, and p95 and p99 where there are values enough for them.
 */
void fb_distribution_curve(FILE *out, const struct fb_doubles *list);
void fb_distribution_marks(FILE *out, const struct fb_doubles *list);

/*
 * TITLE and NOTE as given. SUBTITLE is the machine: by the facts of the results, or of the
 * environment.csv beside the first file. Without such facts it is the name of that file.
 */
void fb_plot_texts(const struct fb_plot *plot, const char *title, const char *note);

/*
 * Groups sections that differ only in the columns `loose` (a list ended by NULL): group[s] is the
 * number of the group of section s, from 0. Returns how many groups there are.
 */
size_t fb_plot_groups(const struct fb_cells *cells, const char *const *loose, size_t *group);

/* An algorithm with engine and transport where these are not host and shm. Returns name. */
const char *fb_plot_algorithm(const struct fb_cell *cell, char name[FB_PLOT_NAME_CHARS]);

/* The same algorithm, engine and transport, whatever the protocol. */
bool fb_plot_same_algorithm(const struct fb_cell *a, const struct fb_cell *b);

/* fb_section_title without the ranks and nodes, which are an axis of the figure. Returns buf. */
const char *fb_plot_cut_ranks(const struct fb_section *section, char *buf, size_t n);

/* Whether the section is of one pair: the variant has src and dst, or row and column. */
bool fb_plot_is_pair(const struct fb_section *section);

/*
 * Whether the figure is to be drawn, of `count` figures that the input holds. Otherwise the count
 * was asked for and is printed; or there is no such figure, and *err becomes FB_EINPUT (printed;
 * `none` says what is missing where count is 0). False, too, where *err is an error already.
 */
bool fb_plot_wanted(const struct fb_plot *plot, int *err, size_t count, const char *none);

/*
 * The section of the figure: the plot->figure-th that `shows` is true of; NULL: none is to be drawn
 * (see fb_plot_wanted).
 */
typedef bool (*fb_plot_shows)(const struct fb_plot *plot, const struct fb_section *section);
const struct fb_section *fb_plot_section(const struct fb_plot *plot, fb_plot_shows shows,
					 int *err, const char *none);

#endif
