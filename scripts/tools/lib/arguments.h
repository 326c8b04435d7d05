/* SPDX-License-Identifier: BSD-3-Clause */
/* Files among options: the option tables of common/option/option.h take none, analysis tools do. */
#ifndef FB_SCRIPTS_TOOLS_LIB_ARGUMENTS_H
#define FB_SCRIPTS_TOOLS_LIB_ARGUMENTS_H

#include "common/option/option.h"

/*
 * Reorders argv[1 .. argc) so that what is neither an option of the table nor its value comes
 * last; all that follows "--" does. Returns how many these are: argv[argc - n .. argc). Unknown
 * options stay in front, for fb_option_parse to refuse.
 */
size_t fb_arguments_split(const struct fb_option *table, int argc, char **argv);

#endif
