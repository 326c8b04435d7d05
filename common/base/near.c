/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that are nearly a given one; see near.h. */
#include "common/base/near.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

size_t fb_near_distance(const char *a, size_t length, const char *b)
{
	size_t row[FB_NEAR_CHARS + 1], n = strnlen(b, FB_NEAR_CHARS);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; i < length; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= n; j++) {
			size_t change = corner + (tolower((unsigned char)a[i]) !=
						  tolower((unsigned char)b[j - 1]));
			size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			corner = row[j];
			row[j] = change < least ? change : least;
		}
	}
	return row[n];
}

const char *fb_near_name(const char *name, size_t length, const char *const names[], size_t count)
{
	size_t best = SIZE_MAX;
	const char *nearest = "";

	for (size_t i = 0; i < count; i++) {
		size_t far = fb_near_distance(name, length, names[i]);

		/* An abbreviation is a likelier slip than its distance says. */
		if (far && length >= 2 && !strncmp(names[i], name, length))
			far = 1;
		if (far < best || (far == best && strlen(names[i]) < strlen(nearest))) {
			best = far;
			nearest = names[i];
		}
	}
	return best <= (length < 6 ? 2 : length / 3) && best < length ? nearest : NULL;
}
