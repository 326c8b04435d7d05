/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL's variables are by its source where nobody has set them. NCCL's log names only those
 * that were set, so a record without this would not say what ran.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_DEFAULTS_H
#define FB_COMMON_LIBRARY_NCCL_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

enum { FB_NCCL_DEFAULTS_CHARS = 8192 };

/*
 * Writes "NCCL_BUFFSIZE=-2;..." of all variables with a number that the version has, but for those
 * in `settings` ("NAME=VALUE;...") or in the environment. Returns the version whose source was
 * read: this one (22809), or the last one before it that is known; 0, with an empty text: older
 * than all of these.
 */
int fb_nccl_defaults(int version, const char *settings, char *text, size_t n);

/* The variable's value in the environment or in `settings`, as above, up to ';'; NULL: not set. */
const char *fb_nccl_setting(const char *settings, const char *name);

#endif
