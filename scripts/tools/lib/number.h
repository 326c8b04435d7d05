/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as all tables for people show them. */
#ifndef FB_SCRIPTS_TOOLS_LIB_NUMBER_H
#define FB_SCRIPTS_TOOLS_LIB_NUMBER_H

/*
 * Four significant digits, no exponent below 1e9; "-" for what is not finite. The other one writes
 * whole numbers as such. Return buf.
 */
enum { FB_NUMBER_CHARS = 24 };
const char *fb_number_text(double x, char buf[FB_NUMBER_CHARS]);
const char *fb_own_text(double x, char buf[FB_NUMBER_CHARS]);

#endif
