/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and sweeps of sizes; see sizes.h for the notation. Every bound is checked before use. */
#include "common/base/sizes.h"

#include "common/base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most of an offending item that a message repeats. */
enum { WHY_ITEM_CHARS = 48 };

static const struct {
	char upper, lower;
	unsigned shift;
} suffixes[] = {
	{'T', 't', 40},
	{'G', 'g', 30},
	{'M', 'm', 20},
	{'K', 'k', 10},
};

enum { SUFFIXES = sizeof(suffixes) / sizeof(suffixes[0]) };

/* The same for text[0..n), which need not end there. */
static int parse_number(const char *text, size_t n, uint64_t *value)
{
	uint64_t sum = 0;
	size_t i = 0;

	for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) {
		uint64_t digit = (uint64_t)(text[i] - '0');

		if (sum > (UINT64_MAX - digit) / 10)
			return FB_EINPUT;
		sum = sum * 10 + digit;
	}
	if (i == 0 || i + 1 < n)
		return FB_EINPUT;
	if (i < n) {
		size_t s = 0;

		while (s < SUFFIXES && text[i] != suffixes[s].upper && text[i] != suffixes[s].lower)
			s++;
		if (s == SUFFIXES || sum > UINT64_MAX >> suffixes[s].shift)
			return FB_EINPUT;
		sum <<= suffixes[s].shift;
	}
	*value = sum;
	return FB_OK;
}

int fb_size_parse(const char *text, uint64_t *value)
{
	return parse_number(text, strlen(text), value);
}

const char *fb_size_text(uint64_t value, char buf[FB_SIZE_CHARS])
{
	for (size_t s = 0; s < SUFFIXES && value; s++)
		if (!(value & ((UINT64_C(1) << suffixes[s].shift) - 1))) {
			snprintf(buf, FB_SIZE_CHARS, "%llu%c",
				 (unsigned long long)(value >> suffixes[s].shift),
				 suffixes[s].upper);
			return buf;
		}
	snprintf(buf, FB_SIZE_CHARS, "%llu", (unsigned long long)value);
	return buf;
}

/* One item of the list: value..to by factor or step; a single size is a range of one. */
struct range {
	uint64_t from, to, by;
	bool adds;
};

/* Splits item[0..n) at colons and validates it. Returns NULL, or what is wrong. */
static const char *parse_range(const char *item, size_t n, struct range *range)
{
	const char *to = memchr(item, ':', n), *end = item + n;
	const char *by;

	if (!n)
		return "is empty";
	if (!to) {
		range->by = 1;
		range->adds = true;
		if (parse_number(item, n, &range->from))
			return "is not a size such as 8, 64K or 1G";
		range->to = range->from;
		return NULL;
	}
	by = memchr(to + 1, ':', (size_t)(end - to - 1));
	if (!by)
		return "has no factor or step: from:to:factor or from:to:+step";
	if (parse_number(item, (size_t)(to - item), &range->from))
		return "does not begin with a size such as 8, 64K or 1G";
	if (parse_number(to + 1, (size_t)(by - to - 1), &range->to))
		return "does not end at a size such as 8, 64K or 1G";
	range->adds = by + 1 < end && by[1] == '+';
	by += range->adds ? 2 : 1;
	if (parse_number(by, (size_t)(end - by), &range->by))
		return "needs a whole factor (:2) or step (:+4K)";
	if (range->from > range->to)
		return "runs backwards";
	if (range->adds && range->by == 0)
		return "needs a step of at least 1";
	if (!range->adds && range->by < 2)
		return "needs a factor of at least 2";
	if (!range->adds && range->from == 0)
		return "cannot begin at 0 with a factor: list the 0, as in 0,1:8:2";
	return NULL;
}

/* Appends the range's sizes. Returns NULL, or what is wrong. */
static const char *expand(const struct range *range, struct fb_sizes *sizes)
{
	uint64_t value = range->from;

	for (;;) {
		if (sizes->count == FB_SIZES_MAX)
			return "makes more than 4096 sizes";
		sizes->value[sizes->count++] = value;
		if (range->adds ? range->to - value < range->by : value > range->to / range->by)
			return NULL;
		value = range->adds ? value + range->by : value * range->by;
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void sort_unique(struct fb_sizes *sizes)
{
	size_t kept = 1;

	qsort(sizes->value, sizes->count, sizeof(sizes->value[0]), compare);
	for (size_t i = 1; i < sizes->count; i++)
		if (sizes->value[i] != sizes->value[kept - 1])
			sizes->value[kept++] = sizes->value[i];
	sizes->count = kept;
}

int fb_sizes_parse(const char *text, struct fb_sizes *sizes, char *why, size_t n)
{
	struct fb_sizes parsed = {.count = 0, .text = text};
	const char *item = text;

	for (;;) {
		size_t length = strcspn(item, ",");
		struct range range;
		const char *problem = parse_range(item, length, &range);

		if (!problem)
			problem = expand(&range, &parsed);
		if (problem) {
			int shown = length > WHY_ITEM_CHARS ? WHY_ITEM_CHARS : (int)length;

			snprintf(why, n, "'%.*s' %s", shown, item, problem);
			return FB_EINPUT;
		}
		if (!item[length])
			break;
		item += length + 1;
	}
	sort_unique(&parsed);
	*sizes = parsed;
	return FB_OK;
}
