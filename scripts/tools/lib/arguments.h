/* SPDX-License-Identifier: BSD-3-Clause */
/* Separates files from options, because common/option/option.h parses options only. */
#ifndef FB_SCRIPTS_TOOLS_LIB_ARGUMENTS_H
#define FB_SCRIPTS_TOOLS_LIB_ARGUMENTS_H

#include "common/option/option.h"

/*
 * Moves all words of argv[1 .. argc) that are neither options nor values of options to the end, and
 * returns their number n: they are argv[argc - n .. argc). All words behind "--" are among them.
 * Unknown options stay in front, so that fb_option_parse refuses them.
 */
size_t fb_arguments_split(const struct fb_option *table, int argc, char **argv);

#endif
