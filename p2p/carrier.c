/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of carriers; see carrier.h. */
#include "p2p/carrier.h"

#include <stdio.h>
#include <string.h>

void fb_p2p_add(char *text, size_t n, const char *more)
{
	size_t used = strlen(text);

	if (*more && used + strlen(more) + (used ? 2 : 0) < n)
		snprintf(text + used, n - used, "%s%s", used ? ", " : "", more);
}

void fb_p2p_path_text(const char *carrier, const char *known, char text[FB_PATH_CHARS])
{
	const int brackets = (int)strlen(" ()");
	int used = snprintf(text, FB_PATH_CHARS, "%s", carrier);
	int room = FB_PATH_CHARS - 1 - used - brackets;

	if (*known && room > 0)
		snprintf(text + used, (size_t)(FB_PATH_CHARS - used), " (%.*s)", room, known);
}
