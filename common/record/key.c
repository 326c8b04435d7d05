/* SPDX-License-Identifier: BSD-3-Clause */
/* See key.h. */
#include "common/record/key.h"
#include "common/record/variant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The member as a text; "" for none. */
static void text_of(const struct fb_key *key, const void *at, char *text, size_t n)
{
	const char *name = "";
	uint64_t number = 0;
	uint32_t narrow = 0;
	double real = 0;

	*text = '\0';
	if (key->type == FB_KEY_F64)
		memcpy(&real, at, sizeof(real));
	else if (key->type == FB_KEY_TEXT)
		memcpy((void *)&name, at, sizeof(name));
	else if (key->type == FB_KEY_U32)
		memcpy(&narrow, at, sizeof(narrow));
	else
		memcpy(&number, at, sizeof(number));
	if (key->type == FB_KEY_F64 && !isnan(real))
		snprintf(text, n, "%g", real);
	else if (key->type == FB_KEY_TEXT && name)
		snprintf(text, n, "%s", name);
	else if (key->type == FB_KEY_CHOICE && number != FB_KEY_NONE)
		snprintf(text, n, "%s", key->names[number]);
	else if (key->type == FB_KEY_U32 && narrow != UINT32_MAX)
		snprintf(text, n, "%" PRIu32, narrow);
	else if (key->type == FB_KEY_U64 && number != FB_KEY_NONE)
		snprintf(text, n, "%" PRIu64, number);
}

void fb_keys_put(struct fb_case *c, const struct fb_key *keys)
{
	char value[128], text[192];

	for (; keys->name; keys++) {
		text_of(keys, c->own + keys->offset, value, sizeof(value));
		if (!*value || fb_variant_has(c->variant, keys->name))
			continue;
		snprintf(text, sizeof(text), "%s=%s", keys->name, value);
		fb_variant_put(c, text);
	}
}
