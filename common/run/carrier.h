/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of the column `path` for a carrier. Unit tests can call it without ranks. */
#ifndef FB_COMMON_RUN_CARRIER_H
#define FB_COMMON_RUN_CARRIER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/record/traits.h"

/*
 * Appends `more` to the list in text[n], ", " between. What there is no room for is left out as a
 * whole, so that no name is cut. Empty texts add nothing.
 */
void fb_carrier_add(char *text, size_t n, const char *more);

/*
 * Extracts the interfaces and ports that a carrier uses from its text, in the form that
 * fb_audit_stray() takes: "eth0", "mlx5_0:1 mlx5_1:1"; "" for shared memory. False if the text does
 * not name them, because a library selects them. NCCL's path names them if its log did.
 */
enum { FB_CARRIER_CHARS = 256 };
bool fb_carrier_devices(const char *carrier, char names[FB_CARRIER_CHARS]);

/* Adds the names of one list to another, each once. False: there is no room. */
bool fb_carrier_merge(char names[FB_CARRIER_CHARS], const char *more);

#endif
