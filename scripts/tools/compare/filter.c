/* SPDX-License-Identifier: BSD-3-Clause */
/* See filter.h. */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/compare/filter.h"
#include "scripts/tools/compare/keys.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* The number of a key column, or fb_keys_columns(). */
static size_t find_key(const char *name, size_t length)
{
	size_t n = fb_keys_columns(), i = 0;

	for (; i < n; i++) {
		const char *column = fb_key_column(i)->name;

		if (strlen(column) == length && !strncmp(column, name, length))
			break;
	}
	return i;
}

int fb_key_filter_parse(const char *text, struct fb_key_filter *filter, char *why, size_t n)
{
	char item[FB_FILTER_CHARS];
	int more;

	filter->count = 0;
	if (!text)
		return FB_OK;
	while ((more = fb_option_next_item(&text, item, sizeof(item))) == 1) {
		const char *equals = strchr(item, '=');
		size_t key = equals ? find_key(item, (size_t)(equals - item)) : 0;

		if (!equals || key == fb_keys_columns()) {
			snprintf(why, n, "%.*s is no key column",
				 equals ? (int)(equals - item) : 64, item);
			return FB_EINPUT;
		}
		if (filter->count == FB_FILTER_ITEMS) {
			snprintf(why, n, "more than %d conditions", FB_FILTER_ITEMS);
			return FB_EINPUT;
		}
		filter->item[filter->count].key = key;
		stpcpy(filter->item[filter->count++].pattern, equals + 1);
	}
	if (more < 0)
		snprintf(why, n, "an empty or overlong condition");
	return more;
}

bool fb_key_filter_match(const struct fb_key_filter *filter, char *const *field)
{
	for (size_t i = 0; i < filter->count; i++) {
		bool one = false;

		for (size_t j = 0; j < filter->count && !one; j++)
			one = filter->item[j].key == filter->item[i].key &&
			      fnmatch(filter->item[j].pattern, field[filter->item[j].key], 0) == 0;
		if (!one)
			return false;
	}
	return true;
}
