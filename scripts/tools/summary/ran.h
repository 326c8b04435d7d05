/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL reports to have run, from the columns of a row; and whether it followed the environment
 * variables and the options for CTAs.
 */
#ifndef FB_SCRIPTS_TOOLS_SUMMARY_RAN_H
#define FB_SCRIPTS_TOOLS_SUMMARY_RAN_H

#include "scripts/tools/lib/report.h"

#include <stdbool.h>

enum { FB_RAN_CHARS = 160 };

enum fb_outcome { FB_RAN_AS_ASKED, FB_RAN_OTHERWISE, FB_RAN_UNTOLD, FB_NOT_RUN, FB_OUTCOMES };

/* What the column path says, as words, and the column channels. */
struct fb_ran {
	char algorithm[32], protocol[32], via[FB_RAN_CHARS], network[32];
	unsigned channels, cluster; /* 0: unknown */
	bool zero_ctas;
};

struct fb_ran fb_ran_parse(const struct fb_result *row);

/* FB_RAN_UNTOLD where nothing is known. */
enum fb_outcome fb_ran_as(bool known, bool right);

/*
 * Whether NCCL followed a variable, or a key of `variant` (channels, nccl_...). *instead: what it
 * ran, in words; the text belongs to `ran`, or is static and valid until the next call.
 */
enum fb_outcome fb_ran_variable(const struct fb_result *row, const char *name, const char *value,
				const struct fb_ran *ran, const char **instead);
enum fb_outcome fb_ran_ctas(const struct fb_result *row, const char *key, const char *value,
			    const struct fb_ran *ran, const char **instead);

#endif
