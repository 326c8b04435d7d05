/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program of all analysis tools: it takes options and words, and prints help and version.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_TOOL_H
#define FB_SCRIPTS_TOOLS_LIB_TOOL_H

#include <stddef.h>

#include "common/option/option.h"

/* libcsv's version, where csv.h has been included. */
#define FB_TOOL_TEXT_OF(a, b) #a "." #b
#define FB_TOOL_TEXT(a, b) FB_TOOL_TEXT_OF(a, b)
#define FB_TOOL_CSV ", libcsv " FB_TOOL_TEXT(CSV_MAJOR, CSV_MINOR)

struct fb_tool {
	const char *name, *summary, *description; /* as in struct fb_option_about */
	const struct fb_option *table;            /* all options but --help and --version */
	const char *libraries;                    /* what follows the version; NULL: nothing */
	void (*more_help)(void);                  /* prints what follows the options; or NULL */
	const char *input;			  /* what words name, if one is needed; or NULL */

	/* Returns the exit code. The words are the command line's arguments without options. */
	int (*run)(void *settings, char **words, size_t count);
};

/*
 * Parses options into the structure of the table, prints help or version if asked for, else runs
 * the tool. Returns the exit code for main(). A wrong option, or no input, is one line on stderr
 * and FB_EXIT_INPUT. All memory of lib/memory.h is freed.
 */
int fb_tool_main(const struct fb_tool *tool, void *settings, int argc, char **argv);

/* As `input` of most tools. */
#define FB_TOOL_RESULTS "result folders or files"

/* The main() of the tool `tool`, whose table describes a structure of that type. */
#define FB_TOOL_MAIN(type)                                                                         \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		static type settings;                                                              \
                                                                                                   \
		return fb_tool_main(&tool, &settings, argc, argv);                                 \
	}

#endif
