/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing data as commands for gnuplot's `load`. gnuplot finds CSV columns by number only and
 * cannot join rows, so tools give it small tables that are joined already.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_GNUPLOT_H
#define FB_SCRIPTS_TOOLS_LIB_GNUPLOT_H

#include "scripts/tools/lib/results.h"

#include <stdio.h>

enum { FB_MACHINE_CHARS = 256 };

/* A text in single quotes, its own quotes doubled, and control bytes replaced by blanks. */
void fb_gnuplot_quote(FILE *out, const char *text);

/* name = 'text' */
void fb_gnuplot_text(FILE *out, const char *name, const char *text);

/* A text as one field of a datablock, in double quotes; its own double quotes become single. */
void fb_gnuplot_field(FILE *out, const char *text);

/* " 1.5", or " NaN" for what is not finite. */
void fb_gnuplot_number(FILE *out, double x);

/*
 * What the rows were measured on, for the line below a title: "host vm, Example CPU, 32 cpus,
 * Open MPI v4.1.6"; several hosts are named. Empty where no environment is known. Returns buf.
 */
const char *fb_results_machine(const struct fb_results *results, char buf[FB_MACHINE_CHARS]);

#endif
