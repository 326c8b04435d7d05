/* SPDX-License-Identifier: BSD-3-Clause */
/* Flags of a row; see traits.h. */
#include "common/record/traits.h"

#include <stdio.h>
#include <string.h>

void fb_traits_flag(struct fb_traits *traits, const char *name)
{
	char *flags = traits->flags;
	size_t at = 0, n = sizeof(traits->flags), used = strlen(flags), length = strlen(name);

	while (flags[at] && strncmp(flags + at, name, length) < 0) {
		at += strcspn(flags + at, ";");
		at += flags[at] == ';';
	}
	if (used + length + 2 > n)
		return;
	if (at == used) {
		snprintf(flags + used, n - used, "%s%s", used ? ";" : "", name);
		return;
	}
	memmove(flags + at + length + 1, flags + at, used - at + 1);
	memcpy(flags + at, name, length);
	flags[at + length] = ';';
}
