/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of keys; see keys.h. */
#include "common/base/rng.h"
#include "common/record/csv.h"
#include "scripts/tools/compare/keys.h"
#include "scripts/tools/lib/cells.h"
#include "scripts/tools/lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

size_t fb_keys_columns(void)
{
	size_t n = 0;

	for (size_t i = 0; i < fb_columns_count; i++)
		n += fb_columns[i].kind == FB_COLUMN_KEY;
	return n;
}

const struct fb_column *fb_key_column(size_t i)
{
	const struct fb_column *column = fb_columns;

	while (column->kind != FB_COLUMN_KEY || i-- > 0)
		column++;
	return column;
}

size_t fb_keys_locate(char *const *names, size_t n, int at[FB_KEY_COLUMNS])
{
	size_t columns = fb_keys_columns(), found = 0;

	for (size_t i = 0; i < columns; i++) {
		size_t k = 0;

		while (k < n && strcmp(names[k], fb_key_column(i)->name))
			k++;
		at[i] = k < n ? (int)k : -1;
		found += k < n;
	}
	return found;
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

static bool equal(char *const *a, char *const *b, size_t columns)
{
	size_t i = 0;

	while (i < columns && !strcmp(a[i], b[i]))
		i++;
	return i == columns;
}

static uint64_t hash(char *const *field, size_t columns)
{
	uint64_t h = 0;

	for (size_t i = 0; i < columns; i++)
		h = fb_hash64(field[i], strlen(field[i]) + 1, h);
	return h;
}

/* The slot that the key is in, or the free slot where it would go. */
static size_t probe(const struct fb_keys *keys, char *const *field, size_t columns, uint64_t h)
{
	size_t at = h & (keys->slots - 1);

	for (; keys->slot[at]; at = (at + 1) & (keys->slots - 1)) {
		const struct fb_key *key = &keys->key[keys->slot[at] - 1];

		if (key->hash == h && equal(key->field, field, columns))
			break;
	}
	return at;
}

uint32_t fb_keys_find(const struct fb_keys *keys, char *const *field)
{
	size_t columns = fb_keys_columns(), at;

	if (keys->slots == 0)
		return UINT32_MAX;
	at = probe(keys, field, columns, hash(field, columns));
	return keys->slot[at] ? keys->slot[at] - 1 : UINT32_MAX;
}

uint32_t fb_keys_add(struct fb_keys *keys, char *const *field)
{
	size_t columns = fb_keys_columns(), at;
	uint64_t h = hash(field, columns);

	if (2 * (keys->count + 1) > keys->slots)
		more_slots(keys);
	at = probe(keys, field, columns, h);
	if (keys->slot[at])
		return keys->slot[at] - 1;
	*FB_ADD(keys->key, keys->count) = (struct fb_key){fb_texts_copy(field, columns), h};
	keys->slot[at] = (uint32_t)keys->count;
	return (uint32_t)keys->count - 1;
}

const char *fb_key_text(const struct fb_key *key, const char *column)
{
	for (size_t i = 0, n = 0; i < fb_columns_count; i++) {
		if (fb_columns[i].kind != FB_COLUMN_KEY)
			continue;
		if (!strcmp(fb_columns[i].name, column))
			return key->field[n];
		n++;
	}
	return "";
}

void fb_keys_put_header(FILE *out)
{
	for (size_t i = 0; i < fb_keys_columns(); i++)
		fprintf(out, "%s,", fb_key_column(i)->name);
}

void fb_key_put(const struct fb_key *key, FILE *out)
{
	size_t columns = fb_keys_columns();

	for (size_t i = 0; i < columns; i++) {
		fb_csv_put_field(out, key->field[i]);
		fputc(',', out);
	}
}

/* In which order the fields of a key are compared, and which of them are numbers. */
struct order {
	const struct fb_keys *keys;
	size_t field[FB_KEY_COLUMNS], n;
	bool number[FB_KEY_COLUMNS];
};

static struct order make_order(const struct fb_keys *keys)
{
	const size_t columns = fb_keys_columns();
	struct order order = {.keys = keys};

	for (size_t place = 0; place <= FB_SECTION_INNER; place++)
		for (size_t i = 0; i < columns; i++) {
			const struct fb_column *column = fb_key_column(i);

			if (fb_section_inner(column->name) != place)
				continue;
			order.field[order.n] = i;
			order.number[order.n++] = column->type == FB_COLUMN_U64;
		}
	return order;
}

static int compare(const void *x, const void *y, void *arg)
{
	const struct order *order = arg;
	const struct fb_key *a = &order->keys->key[*(const uint32_t *)x];
	const struct fb_key *b = &order->keys->key[*(const uint32_t *)y];

	for (size_t i = 0; i < order->n; i++) {
		const char *p = a->field[order->field[i]], *q = b->field[order->field[i]];
		int difference = strcmp(p, q);

		if (difference && order->number[i]) {
			uint64_t m = strtoull(p, NULL, 10), n = strtoull(q, NULL, 10);

			difference = m == n ? difference : m < n ? -1 : 1;
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
