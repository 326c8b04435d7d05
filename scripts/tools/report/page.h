/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report page: one HTML file that needs nothing else. Each part is a function here and a file
 * beside it; page.css and page.js are built into the program, so that it works wherever it is
 * installed.
 *
 * The page may be sent around, and names and texts in result files are not the reader's own: all
 * text is escaped (html.h), and the page's policy allows no address and only its own script, by a
 * number that nobody knows beforehand.
 */
#ifndef FB_SCRIPTS_TOOLS_REPORT_PAGE_H
#define FB_SCRIPTS_TOOLS_REPORT_PAGE_H

#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/sheet.h"

#include <stdio.h>

/* A result set as the page needs it. */
struct fb_page_set {
	char *const *path; /* a folder or files */
	size_t npaths;
	struct fb_results results;
	struct fb_axes axes;
	struct fb_cells cells;
	struct fb_sheet environment; /* no columns: there is none */
};

struct fb_page {
	FILE *out;
	const struct fb_page_set *set;	 /* what the page is about */
	const struct fb_page_set *base;	 /* what it is compared with, or NULL */
	const struct fb_sheet *verdicts; /* of `compare --csv`, or NULL */
	char *const *figure;		 /* [nfigures]: SVG files */
	size_t nfigures;
	char nonce[33]; /* of the page's scripts */
};

/*
 * Reads a run; `axis` names what its tables run over (fb_axes_parse), NULL: sizes. Returns 0 or an
 * error (printed); the caller frees with fb_page_set_free.
 */
int fb_page_set_read(struct fb_page_set *set, char *const *path, size_t npaths, const char *axis);
void fb_page_set_free(struct fb_page_set *set);

/* A name for people: that of the run, else of its folder. Borrowed. */
const char *fb_page_set_name(const struct fb_page_set *set);

/* A fact of the environment, or "". Borrowed. */
const char *fb_page_fact(const struct fb_page_set *set, const char *key);

/* Writes the whole page. Returns 0, FB_EINPUT (a figure cannot be read), FB_ENOMEM (printed). */
int fb_page_write(const struct fb_page *page);

/* The parts, in order. Errors as above. */
void fb_page_overview(const struct fb_page *page);
void fb_page_findings(const struct fb_page *page);
int fb_page_comparison(const struct fb_page *page);
int fb_page_figures(const struct fb_page *page);
int fb_page_pairs(const struct fb_page *page);
int fb_page_rows(const struct fb_page *page);
void fb_page_facts(const struct fb_page *page);

/* One small chart of a section as inline SVG: FB_CHART_... of its series. */
enum fb_chart { FB_CHART_TIME, FB_CHART_BANDWIDTH, FB_CHART_RATIO };
struct fb_series;
void fb_page_chart(FILE *out, const struct fb_section *section, const struct fb_series *series,
		   size_t count, enum fb_chart chart);

/* The mark of the i-th series (from 0; at most 6) for a legend, as an inline SVG. */
void fb_page_mark(FILE *out, size_t i);

/*
 * Begins and ends the data of a sortable table: fb_page_table_begin writes the box in which it
 * appears and the columns, then the caller writes rows as JSON arrays separated by commas.
 */
struct fb_page_column {
	const char *name, *label;
	const char *type; /* "text", "number", "bytes", "percent" */
	const char *help;
	bool filter, tag, wrap;
};
void fb_page_table_begin(const struct fb_page *page, const char *name, const char *caption,
			 const struct fb_page_column *column, size_t count);
void fb_page_table_end(const struct fb_page *page);

#endif
