/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of the column `path`; see path.h. */
#include "common/run/path.h"

#include <stdio.h>
#include <string.h>

void fb_path_text(const char *carrier, const char *known, char text[FB_PATH_CHARS])
{
	const int brackets = (int)strlen(" ()");
	int used = snprintf(text, FB_PATH_CHARS, "%s", carrier);
	int room = FB_PATH_CHARS - 1 - used - brackets;

	if (*known && room > 0)
		snprintf(text + used, (size_t)(FB_PATH_CHARS - used), " (%.*s)", room, known);
}
