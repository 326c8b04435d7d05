/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes are text: names and reasons in result files come from outside. */
#ifndef FB_SCRIPTS_TOOLS_LIB_UTF8_H
#define FB_SCRIPTS_TOOLS_LIB_UTF8_H

#include <stddef.h>

/* How many bytes the UTF-8 character at `text` has, 0 where there is none. NUL is one byte long. */
size_t fb_utf8_length(const unsigned char *text);

#endif
