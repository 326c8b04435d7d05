/* SPDX-License-Identifier: BSD-3-Clause */
/* See key.h. */
#include "common/record/key.h"
#include "common/record/variant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void fb_keys_put(struct fb_case *c, const struct fb_key *keys)
{
	char text[160];

	for (; keys->name; keys++) {
		uint64_t value;

		memcpy(&value, c->own + keys->offset, sizeof(value));
		if (value == FB_KEY_NONE || fb_variant_has(c->variant, keys->name))
			continue;
		if (keys->type == FB_KEY_CHOICE)
			snprintf(text, sizeof(text), "%s=%s", keys->name, keys->names[value]);
		else
			snprintf(text, sizeof(text), "%s=%" PRIu64, keys->name, value);
		fb_variant_put(c, text);
	}
}
