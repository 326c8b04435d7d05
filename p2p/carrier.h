/* SPDX-License-Identifier: BSD-3-Clause */
/* What the column `path` says of a carrier, as text: without ranks, so that it can be tested. */
#ifndef FB_P2P_CARRIER_H
#define FB_P2P_CARRIER_H

#include "common/program.h"

/*
 * Appends `more` to the list in text[n], ", " between. What there is no room for is left out as a
 * whole, so that no name is cut. Empty texts add nothing.
 */
void fb_p2p_add(char *text, size_t n, const char *more);

/*
 * The path of a row: "shm (pages on 0, lo 2.00)". The carrier is never cut for what is `known`
 * beside it, which may be empty; of that, what there is no room for is.
 */
void fb_p2p_path_text(const char *carrier, const char *known, char text[FB_PATH_CHARS]);

#endif
