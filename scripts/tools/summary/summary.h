/* SPDX-License-Identifier: BSD-3-Clause */
/* The outputs of summary beside its usual tables. */
#ifndef FB_SCRIPTS_TOOLS_SUMMARY_SUMMARY_H
#define FB_SCRIPTS_TOOLS_SUMMARY_SUMMARY_H

#include "scripts/tools/lib/report.h"

/*
 * Prints for each section that has any of it: the size where one way passes another, between the
 * last size at which the one was surely faster and the first at which the other was; and what
 * NCCL's own choice loses against the best that was forced, and how far its model is off.
 */
void fb_summary_crossings(const struct fb_report *report);

/*
 * Prints for each key of `variant` and each of its values how much longer cells take than cells
 * that differ in this key only and have its base: no such key, or its first value. `forest`, if not
 * NULL, gets the same as the table of a forest plot.
 */
void fb_summary_effects(const struct fb_report *report, FILE *forest);

/*
 * What was asked of NCCL (algorithm, protocol, registration, channels, variables) and what it says
 * that it ran: a line for each value that was asked, and one for each way in which something else
 * ran.
 */
void fb_summary_asked(const struct fb_report *report);

/*
 * Prints by which factor work that needs one resource more is slower beside communication, from
 * rows of contention that differ in the kind of work only. The first three factors multiply to the
 * slowdown of `memory`; that of the link to the host is the larger of both directions'.
 */
void fb_summary_contention(const struct fb_report *report);

/* Prints each flag that rows have: how many, what it means, its usual causes and what helps. */
void fb_summary_flags(const struct fb_report *report);

#endif
