/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report page: one HTML file that needs no other file. It contains a JSON document with all
 * data, which page.js draws. page.html, page.css and page.js are built into the program, so that it
 * works wherever it is installed. Each function here makes one part of the document.
 *
 * The page may be sent to others, and texts in result files may come from anybody, so they must not
 * act as HTML or scripts. They are only in the JSON, which contains no '<' (fb_json_write), and
 * page.js inserts them only as text. The page's content security policy allows no address, and only
 * the page's own script, by a random nonce.
 */
#ifndef FB_SCRIPTS_TOOLS_REPORT_PAGE_H
#define FB_SCRIPTS_TOOLS_REPORT_PAGE_H

#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/json.h"
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
	const struct fb_page_set *set;	 /* what the page is about */
	const struct fb_page_set *base;	 /* what it is compared with, or NULL */
	const struct fb_sheet *verdicts; /* of `compare --csv`, or NULL */
	char *const *figure;		 /* [nfigures]: SVG files */
	size_t nfigures;
};

/*
 * Reads a run; `axis` names what its tables run over (fb_axes_parse), NULL: sizes. Returns 0 or an
 * error (printed).
 */
int fb_page_set_read(struct fb_page_set *set, char *const *path, size_t npaths, const char *axis);

/* Writes the whole page. Returns 0 or FB_EINPUT (a file cannot be read; printed). */
int fb_page_write(const struct fb_page *page, FILE *out);

/* The parts of the document: each sets members of `data`. Errors as above. */
void fb_page_sections(const struct fb_page *page, json_t *data);
void fb_page_pairs(const struct fb_page *page, json_t *data);
void fb_page_findings(const struct fb_page *page, json_t *data);
int fb_page_comparison(const struct fb_page *page, json_t *data);
void fb_page_rows(const struct fb_page *page, json_t *data);
void fb_page_facts(const struct fb_page *page, json_t *data);

#endif
