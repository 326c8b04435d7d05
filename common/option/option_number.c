/* SPDX-License-Identifier: BSD-3-Clause */
/* Option types whose values are numbers: flags, integers, reals, ratios and times. */
#include "common/base/error.h"
#include "common/option/option_type.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A finite decimal number at the start of text; *end is what follows. Neither hex nor names. */
static int parse_real(const char *text, double *value, const char **end)
{
	char *stop;
	double parsed;

	if (!*text || !strchr("-.0123456789", *text))
		return FB_EINPUT;
	parsed = strtod(text, &stop);
	if (stop == text || !isfinite(parsed))
		return FB_EINPUT;
	if (strspn(text, "0123456789.eE+-") < (size_t)(stop - text))
		return FB_EINPUT;
	*end = stop;
	*value = parsed;
	return FB_OK;
}

static int store_real(const struct fb_option *option, double value, void *at)
{
	double *slot = at;

	if (value < option->range.real.low || value > option->range.real.high)
		return FB_EINPUT;
	*slot = value;
	return FB_OK;
}

static int parse_flag(const struct fb_option *option, const char *text, void *at, char *why,
		      size_t n)
{
	bool *slot = at;

	(void)option, (void)why, (void)n;
	if (strcmp(text, "yes") && strcmp(text, "no"))
		return FB_EINPUT;
	*slot = text[0] == 'y';
	return FB_OK;
}

static void text_flag(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const bool *slot = at;

	(void)option;
	snprintf(buf, n, "%s", *slot ? "yes" : "no");
}

static void accepted_flag(const struct fb_option *option, char *buf, size_t n)
{
	(void)option;
	snprintf(buf, n, "yes or no, or nothing for yes");
}

const struct fb_option_ops fb_option_flag = {
	.parse = parse_flag,
	.text = text_flag,
	.accepted = accepted_flag,
};

static int parse_int(const struct fb_option *option, const char *text, void *at, char *why,
		     size_t n)
{
	int *slot = at;
	char *end;
	long long value;

	(void)why, (void)n;
	if (!*text || strspn(text + (*text == '-'), "0123456789") != strlen(text + (*text == '-')))
		return FB_EINPUT;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return FB_EINPUT;
	if (value < option->range.integer.low || value > option->range.integer.high)
		return FB_EINPUT;
	*slot = (int)value;
	return FB_OK;
}

static void text_int(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const int *slot = at;

	(void)option;
	snprintf(buf, n, "%d", *slot);
}

static void accepted_int(const struct fb_option *option, char *buf, size_t n)
{
	snprintf(buf, n, "a whole number from %lld to %lld", option->range.integer.low,
		 option->range.integer.high);
}

const struct fb_option_ops fb_option_int = {
	.parse = parse_int,
	.text = text_int,
	.accepted = accepted_int,
};

const char *const fb_option_auto[] = {"auto", NULL};

static int parse_u64(const struct fb_option *option, const char *text, void *at, char *why,
		     size_t n)
{
	uint64_t *slot = at, value;

	(void)why, (void)n;
	if (option->names && !strcmp(text, option->names[0])) {
		*slot = 0;
		return FB_OK;
	}
	if (fb_size_parse(text, &value))
		return FB_EINPUT;
	if (value < option->range.u64.low || value > option->range.u64.high)
		return FB_EINPUT;
	*slot = value;
	return FB_OK;
}

static void text_u64(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const uint64_t *slot = at;
	char size[FB_SIZE_CHARS];

	(void)option;
	snprintf(buf, n, "%s", fb_size_text(*slot, size));
}

static void accepted_u64(const struct fb_option *option, char *buf, size_t n)
{
	char low[FB_SIZE_CHARS], high[FB_SIZE_CHARS];

	snprintf(buf, n, "%s%sa whole number from %s to %s%s", option->names ? *option->names : "",
		 option->names ? " or " : "", fb_size_text(option->range.u64.low, low),
		 fb_size_text(option->range.u64.high, high),
		 option->range.u64.high >= 1024 ? ", also with K, M, G or T" : "");
}

const struct fb_option_ops fb_option_u64 = {
	.parse = parse_u64,
	.text = text_u64,
	.accepted = accepted_u64,
};

static int parse_double(const struct fb_option *option, const char *text, void *at, char *why,
			size_t n)
{
	const char *end;
	double value;

	(void)why, (void)n;
	if (parse_real(text, &value, &end) || *end)
		return FB_EINPUT;
	return store_real(option, value, at);
}

static void text_double(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const double *slot = at;

	(void)option;
	snprintf(buf, n, "%.12g", *slot);
}

static void accepted_double(const struct fb_option *option, char *buf, size_t n)
{
	snprintf(buf, n, "a number from %.12g to %.12g", option->range.real.low,
		 option->range.real.high);
}

const struct fb_option_ops fb_option_double = {
	.parse = parse_double,
	.text = text_double,
	.accepted = accepted_double,
};

static int parse_ratio(const struct fb_option *option, const char *text, void *at, char *why,
		       size_t n)
{
	const char *end;
	double value;

	(void)why, (void)n;
	if (parse_real(text, &value, &end))
		return FB_EINPUT;
	if (!strcmp(end, "%"))
		value /= 100;
	else if (*end)
		return FB_EINPUT;
	return store_real(option, value, at);
}

static void text_ratio(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const double *slot = at;

	(void)option;
	snprintf(buf, n, "%.12g%%", *slot * 100);
}

static void accepted_ratio(const struct fb_option *option, char *buf, size_t n)
{
	snprintf(buf, n, "a ratio from %.12g%% to %.12g%%", option->range.real.low * 100,
		 option->range.real.high * 100);
}

const struct fb_option_ops fb_option_ratio = {
	.parse = parse_ratio,
	.text = text_ratio,
	.accepted = accepted_ratio,
};

/* Longest first: a time is written in the first unit of which it is at least one. */
static const struct {
	const char *name;
	double seconds;
	bool whole; /* written only where the time is a whole number of them */
} units[] = {
	{"h", 3600, true},  {"min", 60, true},  {"s", 1, false},
	{"ms", 1e-3, false}, {"us", 1e-6, false}, {"ns", 1e-9, false},
};

enum { UNITS = sizeof(units) / sizeof(units[0]) };

static int parse_time(const struct fb_option *option, const char *text, void *at, char *why,
		      size_t n)
{
	const char *end;
	double value;

	(void)why, (void)n;
	if (parse_real(text, &value, &end))
		return FB_EINPUT;
	for (size_t i = 0; i < UNITS; i++)
		if (!strcmp(end, units[i].name))
			return store_real(option, value * units[i].seconds, at);
	/* Other tools take seconds, or microseconds: without a unit only 0 is plain. */
	return *end || value != 0 ? FB_EINPUT : store_real(option, 0, at);
}

static bool fits_unit(double seconds, size_t unit)
{
	/* Just under one unit counts as one, so that 1e-3 is "1ms" however it was computed. */
	if (fabs(seconds) < units[unit].seconds * (1 - 1e-12))
		return false;
	return !units[unit].whole || fmod(seconds, units[unit].seconds) < 1e-9;
}

static const char *time_text(double seconds, char *buf, size_t n)
{
	size_t unit = 0;

	while (unit + 1 < UNITS && !fits_unit(seconds, unit))
		unit++;
	if (fabs(seconds) < 1e-9)
		snprintf(buf, n, "%.12gs", seconds);
	else
		snprintf(buf, n, "%.12g%s", seconds / units[unit].seconds, units[unit].name);
	return buf;
}

static void text_time(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const double *slot = at;

	(void)option;
	time_text(*slot, buf, n);
}

static void accepted_time(const struct fb_option *option, char *buf, size_t n)
{
	char low[32], high[32];

	snprintf(buf, n, "a time from %s to %s in ns, us, ms, s, min or h",
		 time_text(option->range.real.low, low, sizeof(low)),
		 time_text(option->range.real.high, high, sizeof(high)));
}

const struct fb_option_ops fb_option_time = {
	.parse = parse_time,
	.text = text_time,
	.accepted = accepted_time,
};
