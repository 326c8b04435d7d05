/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of experiments: each combination of key columns once, numbered from 0.
 *
 * Both sides of a comparison share one set, so joining means to use a key's number as an index. The
 * set is a hash table with linear probing on 64-bit hashes.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_KEYS_H
#define FB_SCRIPTS_TOOLS_COMPARE_KEYS_H

#include "common/record/schema.h"

#include <stdio.h>

enum { FB_KEY_COLUMNS = 32 }; /* room for the fields of a key */

struct fb_key {
	char **field; /* by key column */
	uint64_t hash;
};

struct fb_keys {
	struct fb_key *key; /* [count] */
	size_t count;
	uint32_t *slot; /* [slots] index of a key plus 1; 0 is free */
	size_t slots;	/* power of two */
};

/* How many columns of the schema are keys, and the i-th of them. */
size_t fb_keys_columns(void);
const struct fb_column *fb_key_column(size_t i);

/*
 * Sets at[i] to the index of the i-th key column among names[0 .. n), -1 where it is not there.
 * Returns how many are there.
 */
size_t fb_keys_locate(char *const *names, size_t n, int at[FB_KEY_COLUMNS]);

/*
 * The number of the key with the fields field[0 .. fb_keys_columns()). fb_keys_add adds a key that
 * is new; fb_keys_find returns UINT32_MAX for it.
 */
uint32_t fb_keys_add(struct fb_keys *keys, char *const *field);
uint32_t fb_keys_find(const struct fb_keys *keys, char *const *field);

/* A key's field by the name of its column; "" where no key column has that name. Borrowed. */
const char *fb_key_text(const struct fb_key *key, const char *column);

/* Write the names of the key columns, or the fields of a key, as CSV, each with a comma behind. */
void fb_keys_put_header(FILE *out);
void fb_key_put(const struct fb_key *key, FILE *out);

/*
 * Sorts the numbers of keys index[0 .. n) in the order of tables: by all other columns before
 * those in which the cells of a section differ (fb_section_inner), numbers as numbers.
 */
void fb_keys_sort(const struct fb_keys *keys, uint32_t *index, size_t n);

#endif
