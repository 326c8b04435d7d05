/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a type of option is: three functions. Private to the option files.
 *
 * One such set per type means that the command line walker, the help and the manual page know
 * no types at all, and that a new type is one block in one file and one line in option_type.c.
 */
#ifndef FB_COMMON_OPTION_OPTION_TYPE_H
#define FB_COMMON_OPTION_OPTION_TYPE_H

#include "common/option/option.h"

/* `at` is the value's address inside the values structure; see fb_option_set for `why`. */
struct fb_option_ops {
	int (*parse)(const struct fb_option *option, const char *text, void *at, char *why,
		     size_t n);
	void (*text)(const struct fb_option *option, const void *at, char *buf, size_t n);
	void (*accepted)(const struct fb_option *option, char *buf, size_t n);
};

extern const struct fb_option_ops fb_option_flag, fb_option_int, fb_option_u64, fb_option_double,
	fb_option_ratio, fb_option_time, fb_option_choice, fb_option_choices, fb_option_string,
	fb_option_sizes;

#endif
