/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts the page's files into the program by the assembler's .incbin, which takes any text as it is
 * and needs no generator. Paths are from the folder that make runs in; the Makefile says that this
 * object depends on them.
 */
#include "scripts/tools/report/assets.h"

#define FILE_OF(file) ".incbin \"scripts/tools/report/" file "\"\n"
#define ASSET(symbol, files)                                                                       \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol "\n" #symbol ":\n" files ".byte 0\n"                            \
		".popsection\n")

ASSET(fb_page_html, FILE_OF("page.html"));
ASSET(fb_page_css, FILE_OF("page.css"));
ASSET(fb_page_js, FILE_OF("table.js") FILE_OF("summary.js") FILE_OF("figures.js")
		  FILE_OF("tables.js") FILE_OF("page.js"));
