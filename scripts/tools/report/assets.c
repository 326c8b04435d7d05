/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts the two files into the program by the assembler's .incbin, which takes any text as it is
 * and needs no generator. Paths are from the folder that make runs in; the Makefile says that this
 * object depends on them.
 */
#include "scripts/tools/report/assets.h"

#define ASSET(symbol, file)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol "\n" #symbol ":\n"                                              \
		".incbin \"" file "\"\n"                                                           \
		".byte 0\n"                                                                        \
		".popsection\n")

ASSET(fb_page_css, "scripts/tools/report/page.css");
ASSET(fb_page_js, "scripts/tools/report/page.js");
