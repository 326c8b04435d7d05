/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the functions of an option's type; see option_type.h. */
#include "common/option/option_type.h"

static const struct fb_option_ops *const types[] = {
	[FB_OPT_FLAG] = &fb_option_flag,     [FB_OPT_INT] = &fb_option_int,
	[FB_OPT_U64] = &fb_option_u64,	     [FB_OPT_DOUBLE] = &fb_option_double,
	[FB_OPT_RATIO] = &fb_option_ratio,   [FB_OPT_TIME] = &fb_option_time,
	[FB_OPT_CHOICE] = &fb_option_choice, [FB_OPT_CHOICES] = &fb_option_choices,
	[FB_OPT_STRING] = &fb_option_string, [FB_OPT_SIZES] = &fb_option_sizes,
};

int fb_option_set(const struct fb_option *option, const char *text, void *values, char *why,
		  size_t n)
{
	why[0] = '\0';
	return types[option->type]->parse(option, text, (char *)values + option->offset, why, n);
}

const char *fb_option_text(const struct fb_option *option, const void *values, char *buf, size_t n)
{
	types[option->type]->text(option, (const char *)values + option->offset, buf, n);
	return buf;
}

const char *fb_option_accepted(const struct fb_option *option, char *buf, size_t n)
{
	types[option->type]->accepted(option, buf, n);
	return buf;
}
