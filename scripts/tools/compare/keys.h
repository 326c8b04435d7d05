/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of experiments: each combination of key columns once, numbered from 0.
 *
 * Both sides of a comparison share one set, so that joining is an array index. Linear probing on
 * 64-bit hashes; a key's fields lie behind one another, each ended by NUL, in schema order.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_KEYS_H
#define FB_SCRIPTS_TOOLS_COMPARE_KEYS_H

#include "scripts/tools/lib/results.h"

#include <stddef.h>
#include <stdint.h>

enum { FB_KEY_COLUMNS = 32 }; /* room; fb_keys_columns() says how many there are */

struct fb_key {
	const char *text; /* fb_keys_columns() texts */
	uint32_t bytes;	  /* of them together */
	uint64_t hash;
};

struct fb_keys {
	struct fb_key *key; /* [count] */
	size_t count;
	uint32_t *slot; /* [slots] index of a key plus 1; 0 is free */
	size_t slots;	/* power of two */
};

/* How many columns of the schema are keys, and the schema's number of the i-th. */
size_t fb_keys_columns(void);
size_t fb_keys_column(size_t i);

/*
 * The number of the key whose columns are field[0 .. fb_keys_columns()), which is added where it is
 * new.
 */
uint32_t fb_keys_add(struct fb_keys *keys, char *const *field);

/* The same for a key that must not be added: its number, or UINT32_MAX. */
uint32_t fb_keys_find(const struct fb_keys *keys, char *const *field);

/* A key's field by the name of its column; "" for a name that is none. Borrowed. */
const char *fb_key_text(const struct fb_key *key, const char *column);

/* Points field[0 .. fb_keys_columns()) at the key's texts. */
void fb_key_fields(const struct fb_key *key, const char *field[FB_KEY_COLUMNS]);

/* As a row of the schema whose other columns are empty; field has room for them all. */
struct fb_result fb_key_row(const struct fb_key *key, char *field[]);

/*
 * Writes the numbers of the keys index[0 .. n) in the order of tables: by everything but who
 * carried it out, then by engine, algorithm, protocol, transport, then by bytes; numbers as
 * numbers.
 */
void fb_keys_sort(const struct fb_keys *keys, uint32_t *index, size_t n);

#endif
