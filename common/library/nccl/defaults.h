/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The defaults of NCCL's variables, from its source. NCCL's log names only variables that were set,
 * so a record without the defaults would not say what ran.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_DEFAULTS_H
#define FB_COMMON_LIBRARY_NCCL_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

enum { FB_NCCL_DEFAULTS_CHARS = 8192 };

/*
 * Writes "NCCL_BUFFSIZE=-2;...": the defaults of all numeric variables of the version, except for
 * variables in `settings` ("NAME=VALUE;...") or in the environment. Returns the version whose
 * source the defaults are from: this one (22809), or the last known one before it; 0 with an empty
 * text: this version is older than all known ones.
 */
int fb_nccl_defaults(int version, const char *settings, char *text, size_t n);

/* The variable's value in the environment or in `settings`, as above, up to ';'; NULL: not set. */
const char *fb_nccl_setting(const char *settings, const char *name);

#endif
