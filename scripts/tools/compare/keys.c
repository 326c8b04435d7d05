/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of keys; see keys.h. */
#include "common/base/rng.h"
#include "scripts/tools/compare/keys.h"
#include "scripts/tools/lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* What rows of a section share comes first in a table; these follow, in this order. */
static const char *const inner[] = {"engine", "algorithm", "protocol", "transport", "bytes"};

size_t fb_keys_columns(void)
{
	size_t n = 0;

	for (size_t i = 0; i < fb_columns_count; i++)
		n += fb_columns[i].kind == FB_COLUMN_KEY;
	return n;
}

size_t fb_keys_column(size_t i)
{
	size_t column = 0;

	while (fb_columns[column].kind != FB_COLUMN_KEY || i-- > 0)
		column++;
	return column;
}

static void more_slots(struct fb_keys *keys)
{
	size_t slots = keys->slots ? 2 * keys->slots : FIRST_SLOTS;
	uint32_t *slot = fb_new(slots, sizeof(*slot));

	for (size_t i = 0; i < keys->count; i++) {
		size_t at = keys->key[i].hash & (slots - 1);

		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = (uint32_t)i + 1;
	}
	fb_drop(keys->slot);
	keys->slot = slot;
	keys->slots = slots;
}

static bool equal(const struct fb_key *key, char *const *field, size_t columns)
{
	const char *text = key->text;

	for (size_t i = 0; i < columns; i++) {
		size_t n = strlen(field[i]) + 1;

		if ((size_t)(key->text + key->bytes - text) < n || memcmp(text, field[i], n) != 0)
			return false;
		text += n;
	}
	return true;
}

static uint64_t hash(char *const *field, size_t columns, size_t *bytes)
{
	uint64_t h = 0;

	*bytes = 0;
	for (size_t i = 0; i < columns; i++) {
		size_t n = strlen(field[i]) + 1;

		h = fb_hash64(field[i], n, h);
		*bytes += n;
	}
	return h;
}

/* The slot that the key is in, or the free one where it would go. */
static size_t probe(const struct fb_keys *keys, char *const *field, size_t columns, uint64_t h)
{
	size_t at = h & (keys->slots - 1);

	for (; keys->slot[at]; at = (at + 1) & (keys->slots - 1)) {
		const struct fb_key *key = &keys->key[keys->slot[at] - 1];

		if (key->hash == h && equal(key, field, columns))
			break;
	}
	return at;
}

uint32_t fb_keys_find(const struct fb_keys *keys, char *const *field)
{
	size_t columns = fb_keys_columns(), bytes, at;

	if (keys->slots == 0)
		return UINT32_MAX;
	at = probe(keys, field, columns, hash(field, columns, &bytes));
	return keys->slot[at] ? keys->slot[at] - 1 : UINT32_MAX;
}

uint32_t fb_keys_add(struct fb_keys *keys, char *const *field)
{
	size_t columns = fb_keys_columns(), bytes, at;
	uint64_t h = hash(field, columns, &bytes);
	char *text;

	if (2 * (keys->count + 1) > keys->slots)
		more_slots(keys);
	at = probe(keys, field, columns, h);
	if (keys->slot[at])
		return keys->slot[at] - 1;
	text = fb_new(bytes, 1);
	*FB_ADD(keys->key, keys->count) = (struct fb_key){text, (uint32_t)bytes, h};
	for (size_t i = 0; i < columns; i++)
		text = stpcpy(text, field[i]) + 1;
	keys->slot[at] = (uint32_t)keys->count;
	return (uint32_t)keys->count - 1;
}

void fb_key_fields(const struct fb_key *key, const char *field[FB_KEY_COLUMNS])
{
	const char *text = key->text;
	size_t columns = fb_keys_columns();

	for (size_t i = 0; i < columns; i++) {
		field[i] = text;
		text += strlen(text) + 1;
	}
}

const char *fb_key_text(const struct fb_key *key, const char *column)
{
	const char *text = key->text;

	for (size_t i = 0; i < fb_columns_count; i++) {
		if (fb_columns[i].kind != FB_COLUMN_KEY)
			continue;
		if (!strcmp(fb_columns[i].name, column))
			return text;
		text += strlen(text) + 1;
	}
	return "";
}

struct fb_result fb_key_row(const struct fb_key *key, char *field[])
{
	const char *text[FB_KEY_COLUMNS];
	size_t n = 0;

	fb_key_fields(key, text);
	for (size_t i = 0; i < fb_columns_count; i++) {
		bool is_key = fb_columns[i].kind == FB_COLUMN_KEY;

		/* A row's fields may be written to; these never are. */
		field[i] = (char *)(uintptr_t)(is_key ? text[n++] : "");
	}
	return (struct fb_result){.field = field};
}

/* In which order the fields of a key are compared, and which of them are numbers. */
struct order {
	const struct fb_keys *keys;
	size_t field[FB_KEY_COLUMNS], n;
	bool number[FB_KEY_COLUMNS];
};

static struct order make_order(const struct fb_keys *keys)
{
	const size_t ninner = sizeof(inner) / sizeof(inner[0]), columns = fb_keys_columns();
	struct order order = {.keys = keys};

	/* Those outside of `inner` first; then those, in its order. */
	for (size_t k = 0; k <= ninner; k++) {
		for (size_t i = 0; i < columns; i++) {
			const struct fb_column *column = &fb_columns[fb_keys_column(i)];
			size_t at = 0;

			while (at < ninner && strcmp(inner[at], column->name) != 0)
				at++;
			if (at != (k ? k - 1 : ninner))
				continue;
			order.field[order.n] = i;
			order.number[order.n++] = column->type == FB_COLUMN_U64;
		}
	}
	return order;
}

static int compare(const void *x, const void *y, void *arg)
{
	const struct order *order = arg;
	const char *a[FB_KEY_COLUMNS], *b[FB_KEY_COLUMNS];

	fb_key_fields(&order->keys->key[*(const uint32_t *)x], a);
	fb_key_fields(&order->keys->key[*(const uint32_t *)y], b);
	for (size_t i = 0; i < order->n; i++) {
		const char *p = a[order->field[i]], *q = b[order->field[i]];
		int difference = strcmp(p, q);

		if (difference && order->number[i]) {
			uint64_t m = strtoull(p, NULL, 10), n = strtoull(q, NULL, 10);

			if (m != n)
				difference = m < n ? -1 : 1;
		}
		if (difference)
			return difference;
	}
	return 0;
}

void fb_keys_sort(const struct fb_keys *keys, uint32_t *index, size_t n)
{
	struct order order = make_order(keys);

	qsort_r(index, n, sizeof(*index), compare, &order);
}
