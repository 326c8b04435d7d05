/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's own axes as typed members: a structure of the program's in fb_case.own, and a table
 * that says what each member is called. Programs read the members; the text "k=v;k=v" is made of
 * them for the column `variant`, and nothing reads it back.
 */
#ifndef FB_COMMON_RECORD_KEY_H
#define FB_COMMON_RECORD_KEY_H

#include "common/record/case.h"

#include <stdalign.h>
#include <stddef.h>

enum fb_key_type {
	FB_KEY_U64,    /* uint64_t, as a decimal number */
	FB_KEY_U32,    /* uint32_t, the same; UINT32_MAX, the half of FB_KEY_NONE: none */
	FB_KEY_F64,    /* double; NAN: none */
	FB_KEY_CHOICE, /* uint64_t, an index in `names` */
	FB_KEY_TEXT,   /* const char *, which outlives the run; NULL: none */
};

/* The number or choice of a case that lacks the key: its row does not have it either. */
#define FB_KEY_NONE UINT64_MAX

struct fb_key {
	const char *name; /* letters, digits and _ */
	enum fb_key_type type;
	size_t offset; /* in the program's structure */
	const char *const *names;
};

/* The program's structure in a case: FB_OWN(struct mine, c)->member. */
#define FB_OWN(type, c)                                                                            \
	((type *)(void *)((c)->own +                                                               \
			  sizeof(char[sizeof(type) <= FB_OWN_BYTES ? 1 : -1]) - 1))
#define FB_OWN_CONST(type, c)                                                                      \
	((const type *)(const void *)((c)->own +                                                   \
				      sizeof(char[sizeof(type) <= FB_OWN_BYTES ? 1 : -1]) - 1))

/*
 * Adds the keys of a table (a line without a name ends it) to the case's variant, except those that
 * the case lacks or that are there already. See fb_variant_put for keys that do not fit.
 */
void fb_keys_put(struct fb_case *c, const struct fb_key *keys);

#endif
