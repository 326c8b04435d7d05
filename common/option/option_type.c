/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types of options; see option.h. A type is three functions in one table, so that the walk over
 * the command line, the help and the manual page know no types.
 */
#include "common/base/error.h"
#include "common/option/option.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITEM_CHARS = 64, PHRASE_CHARS = 1024 };

const char *const fb_option_auto[] = {"auto", NULL};

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
	(void)option;
	snprintf(buf, n, "%s", *(const bool *)at ? "yes" : "no");
}

static void accepted_flag(const struct fb_option *option, char *buf, size_t n)
{
	(void)option;
	snprintf(buf, n, "yes or no, or nothing for yes");
}

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
	if (end == text || *end || errno || value < option->range.integer.low ||
	    value > option->range.integer.high)
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

static int parse_u64(const struct fb_option *option, const char *text, void *at, char *why,
		     size_t n)
{
	uint64_t *slot = at, value;

	(void)why, (void)n;
	if (option->names && !strcmp(text, option->names[0])) {
		*slot = 0;
		return FB_OK;
	}
	if (fb_size_parse(text, &value) || value < option->range.u64.low ||
	    value > option->range.u64.high)
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

/* A unit of a real number: a number of them times `value` / `part` is what is stored. */
struct unit {
	const char *name;
	double value, part;
	bool whole; /* a value is written in it only where it is a whole number of them */
};

/*
 * Longest first: a value is written in the first unit of which it is at least one. Other tools take
 * seconds, or microseconds, so a time without a unit is refused, but for 0.
 */
static const struct unit numbers[] = {{"", 1, 1, false}, {NULL, 0, 0, false}};
static const struct unit ratios[] = {{"%", 1, 100, false}, {"", 1, 1, false}, {NULL, 0, 0, false}};
static const struct unit times[] = {
	{"h", 3600, 1, true},	{"min", 60, 1, true},	{"s", 1, 1, false},  {"ms", 1e-3, 1, false},
	{"us", 1e-6, 1, false}, {"ns", 1e-9, 1, false}, {NULL, 0, 0, false},
};

static const struct unit *units_of(const struct fb_option *option)
{
	return option->type == FB_OPT_TIME    ? times
	       : option->type == FB_OPT_RATIO ? ratios
					      : numbers;
}

/* A finite decimal number with one of the type's units. Neither hex nor names such as "inf". */
static int parse_real(const struct fb_option *option, const char *text, void *at, char *why,
		      size_t n)
{
	const struct unit *unit = units_of(option);
	double *slot = at, value;
	char *end;

	(void)why, (void)n;
	if (!*text || !strchr("-.0123456789", *text))
		return FB_EINPUT;
	value = strtod(text, &end);
	if (end == text || !isfinite(value) ||
	    strspn(text, "0123456789.eE+-") < (size_t)(end - text))
		return FB_EINPUT;
	while (unit->name && strcmp(end, unit->name))
		unit++;
	if (unit->name)
		value = value * unit->value / unit->part;
	else if (*end || value != 0)
		return FB_EINPUT;
	if (value < option->range.real.low || value > option->range.real.high)
		return FB_EINPUT;
	if (option->type == FB_OPT_RATIO && value > 1 && !*end) /* 5 may mean 5%, not 500% */
		return FB_EINPUT;
	*slot = value;
	return FB_OK;
}

static bool fits_unit(double value, const struct unit *unit)
{
	/* Just under one unit counts as one, so that 1e-3 is "1ms" however it was computed. */
	return fabs(value) >= unit->value * (1 - 1e-12) &&
	       (!unit->whole || fmod(value, unit->value) < 1e-9);
}

/* The number with its unit. Returns buf. */
static const char *real_text(const struct fb_option *option, double value, char *buf, size_t n)
{
	const struct unit *unit = units_of(option);

	if (option->type == FB_OPT_TIME && fabs(value) < 1e-9)
		unit = &times[2];
	else
		while (option->type == FB_OPT_TIME && unit[1].name && !fits_unit(value, unit))
			unit++;
	snprintf(buf, n, "%.12g%s", value / unit->value * unit->part, unit->name);
	return buf;
}

static void text_real(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const double *slot = at;

	real_text(option, *slot, buf, n);
}

static void accepted_real(const struct fb_option *option, char *buf, size_t n)
{
	bool time = option->type == FB_OPT_TIME;
	char low[32], high[32];

	snprintf(buf, n, "a %s from %s to %s%s",
		 time				? "time"
		 : option->type == FB_OPT_RATIO ? "ratio"
						: "number",
		 real_text(option, option->range.real.low, low, sizeof(low)),
		 real_text(option, option->range.real.high, high, sizeof(high)),
		 time ? " in ns, us, ms, s, min or h" : "");
}

static int find_name(const struct fb_option *option, const char *name)
{
	for (int i = 0; option->names[i]; i++)
		if (!strcmp(option->names[i], name))
			return i;
	return -1;
}

static int parse_choice(const struct fb_option *option, const char *text, void *at, char *why,
			size_t n)
{
	int *slot = at, found = find_name(option, text);

	(void)why, (void)n;
	if (found < 0)
		return FB_EINPUT;
	*slot = found;
	return FB_OK;
}

static void text_choice(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const int *slot = at;

	snprintf(buf, n, "%s", option->names[*slot]);
}

static void accepted_choice(const struct fb_option *option, char *buf, size_t n)
{
	fb_option_join("one of ", option->names, buf, n);
}

static int parse_choices(const struct fb_option *option, const char *text, void *at, char *why,
			 size_t n)
{
	uint64_t *slot = at, mask = 0;
	const char *whole = text;
	char item[ITEM_CHARS];
	int more = 0;

	if (!strcmp(text, "all")) {
		for (int i = 0; option->names[i]; i++)
			mask |= UINT64_C(1) << i;
		*slot = mask;
		return FB_OK;
	}
	while ((more = fb_option_next_item(&text, item, sizeof(item))) > 0) {
		int found = find_name(option, item);

		if (found < 0) {
			/* If it is the whole value, the message has it already. */
			if (strcmp(whole, item))
				snprintf(why, n, "'%s' is none of them", item);
			return FB_EINPUT;
		}
		mask |= UINT64_C(1) << found;
	}
	if (more < 0)
		return FB_EINPUT;
	*slot = mask;
	return FB_OK;
}

static void text_choices(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const uint64_t *slot = at;
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; option->names[i] && used < n; i++)
		if (*slot >> i & 1)
			used += (size_t)snprintf(buf + used, n - used, "%s%s", used ? "," : "",
						 option->names[i]);
}

static void accepted_choices(const struct fb_option *option, char *buf, size_t n)
{
	fb_option_join("all, or a comma-separated list of ", option->names, buf, n);
}

static int parse_string(const struct fb_option *option, const char *text, void *at, char *why,
			size_t n)
{
	const char **slot = at;
	char accepted[PHRASE_CHARS];
	size_t length = strlen(text);

	(void)why, (void)n;
	if (length < option->range.u64.low || length > option->range.u64.high)
		return FB_EINPUT;
	if (option->check && option->check(text, accepted, sizeof(accepted)))
		return FB_EINPUT;
	*slot = text;
	return FB_OK;
}

static void text_string(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const char *const *slot = at;

	(void)option;
	snprintf(buf, n, "%s", *slot ? *slot : "");
}

static void accepted_string(const struct fb_option *option, char *buf, size_t n)
{
	if (!option->check || !option->check("", buf, n))
		snprintf(buf, n, "%llu to %llu characters",
			 (unsigned long long)option->range.u64.low,
			 (unsigned long long)option->range.u64.high);
}

static int parse_sizes(const struct fb_option *option, const char *text, void *at, char *why,
		       size_t n)
{
	struct fb_sizes sizes;
	char size[FB_SIZE_CHARS];
	uint64_t low = option->range.u64.low, high = option->range.u64.high;

	if (fb_sizes_parse(text, &sizes, why, n))
		return FB_EINPUT;
	if (sizes.value[0] < low || sizes.value[sizes.count - 1] > high) {
		snprintf(why, n, "%s is out of range",
			 fb_size_text(sizes.value[0] < low ? sizes.value[0]
							   : sizes.value[sizes.count - 1],
				      size));
		return FB_EINPUT;
	}
	memcpy(at, &sizes, sizeof(sizes));
	return FB_OK;
}

static void text_sizes(const struct fb_option *option, const void *at, char *buf, size_t n)
{
	const struct fb_sizes *slot = at;

	(void)option;
	snprintf(buf, n, "%s", slot->text ? slot->text : "");
}

static void accepted_sizes(const struct fb_option *option, char *buf, size_t n)
{
	char low[FB_SIZE_CHARS], high[FB_SIZE_CHARS];

	snprintf(buf, n,
		 "sizes from %s to %s: a list (0,8,1K), from:to:factor (8:64M:2) or "
		 "from:to:+step (8:1M:+4K)",
		 fb_size_text(option->range.u64.low, low),
		 fb_size_text(option->range.u64.high, high));
}

/* `at` is the value's address inside the values structure; see fb_option_set for `why`. */
static const struct {
	size_t bytes; /* of the value */
	int (*parse)(const struct fb_option *option, const char *text, void *at, char *why,
		     size_t n);
	void (*text)(const struct fb_option *option, const void *at, char *buf, size_t n);
	void (*accepted)(const struct fb_option *option, char *buf, size_t n);
} types[] = {
	[FB_OPT_FLAG] = {sizeof(bool), parse_flag, text_flag, accepted_flag},
	[FB_OPT_INT] = {sizeof(int), parse_int, text_int, accepted_int},
	[FB_OPT_U64] = {sizeof(uint64_t), parse_u64, text_u64, accepted_u64},
	[FB_OPT_DOUBLE] = {sizeof(double), parse_real, text_real, accepted_real},
	[FB_OPT_RATIO] = {sizeof(double), parse_real, text_real, accepted_real},
	[FB_OPT_TIME] = {sizeof(double), parse_real, text_real, accepted_real},
	[FB_OPT_CHOICE] = {sizeof(int), parse_choice, text_choice, accepted_choice},
	[FB_OPT_CHOICES] = {sizeof(uint64_t), parse_choices, text_choices, accepted_choices},
	[FB_OPT_STRING] = {sizeof(char *), parse_string, text_string, accepted_string},
	[FB_OPT_SIZES] = {sizeof(struct fb_sizes), parse_sizes, text_sizes, accepted_sizes},
};

void fb_option_clear(const struct fb_option *option, void *values)
{
	memset((char *)values + option->offset, 0, types[option->type].bytes);
}

int fb_option_set(const struct fb_option *option, const char *text, void *values, char *why,
		  size_t n)
{
	why[0] = '\0';
	return types[option->type].parse(option, text, (char *)values + option->offset, why, n);
}

const char *fb_option_text(const struct fb_option *option, const void *values, char *buf, size_t n)
{
	types[option->type].text(option, (const char *)values + option->offset, buf, n);
	return buf;
}

const char *fb_option_accepted(const struct fb_option *option, char *buf, size_t n)
{
	types[option->type].accepted(option, buf, n);
	return buf;
}
