/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of the column `path`: what carried the bytes, and what is known beside it. */
#ifndef FB_COMMON_RUN_PATH_H
#define FB_COMMON_RUN_PATH_H

#include "common/run/program.h"

/*
 * The path of a row: "shm (pages on 0, lo 2.00)". If there is no room for both, `known` (which may
 * be empty) is cut, and never the carrier.
 */
void fb_path_text(const char *carrier, const char *known, char text[FB_PATH_CHARS]);

#endif
