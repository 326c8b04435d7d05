/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of a row beside its case and its times; engines and programs fill them in. */
#ifndef FB_COMMON_RECORD_TRAITS_H
#define FB_COMMON_RECORD_TRAITS_H

#include <stdbool.h>

/* A path names up to eight RDMA ports with their addresses, and what counters say of each. */
enum { FB_REASON_CHARS = 192, FB_PATH_CHARS = 1024 };

/* Values that a program adds to a row beside the times. */
struct fb_traits {
	int operations;		/* in one call of run(), 0: one; the row's times are of one */
	double algorithm_bytes; /* S of algbw = S / t, per operation */
	double bus_factor;	/* busbw = algbw * bus_factor */
	double bound_us;	/* lower bound of the time on this path; NAN or 0: unknown */
	double kept_us;		/* of this rank's setup, for what later rows reuse; no setup_us */
	int channels;
	char path[FB_PATH_CHARS]; /* what really carried the bytes, on this rank */
	char flags[128];	  /* program's flags, sorted, ';' between; harness adds its own */
	bool judged; /* the program itself has compared counters with what it moved */
	double *extra; /* [fb_program.ncolumns], NAN at first; the harness's */
};

/* Adds a name to the program's flags, in order; nothing where there is no room. */
void fb_traits_flag(struct fb_traits *traits, const char *name);

#endif
