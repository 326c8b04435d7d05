/* SPDX-License-Identifier: BSD-3-Clause */
/* The outputs of summary beside its usual tables. */
#ifndef FB_SCRIPTS_TOOLS_SUMMARY_SUMMARY_H
#define FB_SCRIPTS_TOOLS_SUMMARY_SUMMARY_H

#include "scripts/tools/lib/report.h"

/*
 * Prints for each section that has such rows: the size from which on one way is faster than another
 * (it lies between the last size at which the first was surely faster and the first size at which
 * the second was); how much time NCCL's own choice loses against the best forced one; and how far
 * NCCL's model is off.
 */
void fb_summary_crossings(const struct fb_report *report);

/*
 * Prints for each key of `variant` and each of its values how much longer cells take than cells
 * that differ in this key only and have its base: no such key, or its first value. `forest`, if not
 * NULL, gets the same as the table of a forest plot.
 */
void fb_summary_effects(const struct fb_report *report, FILE *forest);

/*
 * What was requested of NCCL (algorithm, protocol, registration, channels, variables) and what NCCL
 * reports to have run: a line for each requested value, and one for each other thing that ran.
 */
void fb_summary_asked(const struct fb_report *report);

/*
 * Splits the slowdown of computing beside communication into factors, from rows of contention that
 * differ only in the kind of work: how much slower is work that needs one more resource? The first
 * three factors multiply to the slowdown of `memory`. The factor of the link to the host is the
 * larger one of both directions.
 */
void fb_summary_contention(const struct fb_report *report);

/* Prints each flag that rows have: how many, what it means, its usual causes and what helps. */
void fb_summary_flags(const struct fb_report *report);

#endif
