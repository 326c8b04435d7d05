/* SPDX-License-Identifier: BSD-3-Clause */
/* See utf8.h. */
#include "scripts/tools/lib/utf8.h"

size_t fb_utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		unsigned least;
	} forms[] = {
		{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t n = 0; n < 4; n++) {
		unsigned code;

		if ((text[0] & forms[n].mask) != forms[n].lead)
			continue;
		code = text[0] & (unsigned char)~forms[n].mask;
		for (size_t i = 1; i <= n; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		/* Overlong forms, halves of surrogate pairs and what lies beyond are no text. */
		if (code < forms[n].least || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
			return 0;
		return n + 1;
	}
	return 0;
}
