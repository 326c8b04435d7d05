/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as all tables for people show them. */
#ifndef FB_SCRIPTS_TOOLS_LIB_NUMBER_H
#define FB_SCRIPTS_TOOLS_LIB_NUMBER_H

#include <stdio.h>

/*
 * Four significant digits, no exponent below 1e9; "-" for what is not finite. fb_own_text writes
 * whole numbers without decimals. Return buf.
 */
enum { FB_NUMBER_CHARS = 24 };
const char *fb_number_text(double x, char buf[FB_NUMBER_CHARS]);
const char *fb_own_text(double x, char buf[FB_NUMBER_CHARS]);

/* Writes a comma and the number as CSV has it; only the comma for what is not finite. */
void fb_put_number(FILE *out, double x);

/* A share of 1 in percent: "3.1%", "31%", ">999%"; "-" for what is not finite. Returns buf. */
const char *fb_percent_text(double x, char buf[FB_NUMBER_CHARS]);

#endif
