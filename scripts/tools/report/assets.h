/* SPDX-License-Identifier: BSD-3-Clause */
/* page.html, page.css and page.js as they were when the program was built. */
#ifndef FB_SCRIPTS_TOOLS_REPORT_ASSETS_H
#define FB_SCRIPTS_TOOLS_REPORT_ASSETS_H

/* Ended by NUL. */
extern const char fb_page_html[]; /* with @NONCE@, @CSS@, @DATA@ and @JS@ in their places */
extern const char fb_page_css[];
extern const char fb_page_js[];

#endif
