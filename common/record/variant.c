/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys and values of the column `variant`; see variant.h. */
#include "common/base/error.h"
#include "common/record/variant.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = FB_VARIANT_CHARS / 2 };

struct item {
	const char *text;
	size_t key, length; /* of the key; of k=v */
};

static int compare_keys(const struct item *a, const struct item *b)
{
	int order = memcmp(a->text, b->text, a->key < b->key ? a->key : b->key);

	return order ? order : a->key < b->key ? -1 : a->key > b->key;
}

/* Puts k=v where it belongs among items[0..*count). False: its key is there, or too many. */
static bool insert(struct item items[ITEMS], size_t *count, const struct item *item)
{
	size_t at = *count;

	if (at == ITEMS)
		return false;
	while (at > 0 && compare_keys(item, &items[at - 1]) < 0)
		at--;
	if (at > 0 && compare_keys(item, &items[at - 1]) == 0)
		return false;
	memmove(items + at + 1, items + at, (*count - at) * sizeof(*items));
	items[at] = *item;
	++*count;
	return true;
}

/* Adds all items of a text; the one that cannot be is left in *last. */
static bool add_items(struct item items[ITEMS], size_t *count, const char *text, struct item *last)
{
	while (*text) {
		*last = (struct item){.text = text,
				      .key = strcspn(text, "=;"),
				      .length = strcspn(text, ";")};
		if (!insert(items, count, last))
			return false;
		text += last->length + (text[last->length] == ';');
	}
	return true;
}

static bool good_item(const char *text, size_t length)
{
	size_t key = strcspn(text, "=;");

	if (key == 0 || text[key] != '=')
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (i < key ? !isalnum(c) && !strchr("_.-", c) : iscntrl(c) != 0)
			return false;
	}
	return true;
}

bool fb_variant_good(const char *text)
{
	struct item items[ITEMS], last;
	size_t count = 0, length;
	const char *at = text;

	do {
		length = strcspn(at, ";");
		if (!good_item(at, length))
			return false;
		at += length;
	} while (*at++ == ';');
	return add_items(items, &count, text, &last);
}

int fb_variant_check(const char *value, char *accepted, size_t n)
{
	if (strlen(value) < FB_VARIANT_CHARS && fb_variant_good(value))
		return FB_OK;
	snprintf(accepted, n, "KEY=VALUE, several joined by ';', shorter than %d; each key once",
		 FB_VARIANT_CHARS);
	return FB_EINPUT;
}

int fb_variant_add(char variant[FB_VARIANT_CHARS], const char *tags, char *why, size_t n)
{
	struct item items[ITEMS], last = {0};
	char joined[FB_VARIANT_CHARS];
	size_t count = 0, used = 0;

	if (!add_items(items, &count, variant, &last) || !add_items(items, &count, tags, &last)) {
		snprintf(why, n, "other keys: the program has %.*s itself", (int)last.key,
			 last.text);
		return FB_EINPUT;
	}
	for (size_t i = 0; i < count; i++) {
		if (used + items[i].length + 2 > sizeof(joined)) {
			snprintf(why, n, "at most %d characters with the program's keys",
				 FB_VARIANT_CHARS - 1);
			return FB_EINPUT;
		}
		used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%.*s",
					 i ? ";" : "", (int)items[i].length, items[i].text);
	}
	memcpy(variant, used ? joined : "", used + 1);
	return FB_OK;
}

void fb_variant_put(struct fb_case *c, const char *keys)
{
	char ignored[160];
	size_t used = 0;

	if (!*keys || !fb_variant_add(c->variant, keys, ignored, sizeof(ignored)) || *c->overfull)
		return;
	/* Their names only, as far as there is room. */
	while (*keys && used + 1 < sizeof(c->overfull)) {
		used += (size_t)snprintf(c->overfull + used, sizeof(c->overfull) - used, "%s%.*s",
					 used ? ", " : "", (int)strcspn(keys, "="), keys);
		keys += strcspn(keys, ";");
		keys += *keys == ';';
	}
}

/* The begin of the key's value; NULL: the key is not there. */
static const char *find(const char *variant, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = variant; *at; at += *at == ';') {
		if (!strncmp(at, key, length) && at[length] == '=')
			return at + length + 1;
		at += strcspn(at, ";");
	}
	return NULL;
}

bool fb_variant_has(const char *variant, const char *name)
{
	return find(variant, name) != NULL;
}

int fb_variant_set(char variant[FB_VARIANT_CHARS], const char *name, const char *value)
{
	const char *old = find(variant, name);
	char changed[FB_VARIANT_CHARS];
	int length;

	if (!old)
		return FB_EINPUT;
	length = snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(old - variant), variant,
			  value, old + strcspn(old, ";"));
	if (length < 0 || length >= FB_VARIANT_CHARS)
		return FB_EINPUT;
	memcpy(variant, changed, sizeof(changed));
	return FB_OK;
}
