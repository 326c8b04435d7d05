/* SPDX-License-Identifier: BSD-3-Clause */
/* Option types whose values are texts: names out of a list, free strings, sweeps of sizes. */
#include "common/base/error.h"
#include "common/option/option_type.h"

#include <string.h>

enum { ITEM_CHARS = 64, PHRASE_CHARS = 1024 };

int fb_option_next_item(const char **cursor, char *item, size_t n)
{
	const char *start = *cursor;
	size_t length;

	if (!start)
		return 0;
	length = strcspn(start, ",");
	if (length == 0 || length >= n)
		return FB_EINPUT;
	memcpy(item, start, length);
	item[length] = '\0';
	*cursor = start[length] ? start + length + 1 : NULL;
	return 1;
}

bool fb_option_names(const char *list, const char *item)
{
	char next[64];

	if (!strcmp(list, "all"))
		return true;
	while (fb_option_next_item(&list, next, sizeof(next)) > 0)
		if (!strcmp(next, item))
			return true;
	return false;
}

static int find_name(const struct fb_option *option, const char *name)
{
	for (int i = 0; option->names[i]; i++)
		if (!strcmp(option->names[i], name))
			return i;
	return -1;
}

static void join_names(const struct fb_option *option, const char *first, char *buf, size_t n)
{
	size_t used = (size_t)snprintf(buf, n, "%s", first);

	for (size_t i = 0; option->names[i] && used < n; i++)
		used += (size_t)snprintf(buf + used, n - used, "%s%s", i ? ", " : "",
					 option->names[i]);
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
	join_names(option, "one of ", buf, n);
}

const struct fb_option_ops fb_option_choice = {
	.parse = parse_choice,
	.text = text_choice,
	.accepted = accepted_choice,
};

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
			/* Where it is the whole value, the message has it already. */
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
	join_names(option, "all, or a comma-separated list of ", buf, n);
}

const struct fb_option_ops fb_option_choices = {
	.parse = parse_choices,
	.text = text_choices,
	.accepted = accepted_choices,
};

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

const struct fb_option_ops fb_option_string = {
	.parse = parse_string,
	.text = text_string,
	.accepted = accepted_string,
};

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

const struct fb_option_ops fb_option_sizes = {
	.parse = parse_sizes,
	.text = text_sizes,
	.accepted = accepted_sizes,
};
