/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of rows and sections for people. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_LABEL_H
#define FB_SCRIPTS_TOOLS_COMPARE_LABEL_H

#include "common/base/sizes.h"
#include "scripts/tools/compare/keys.h"

#include <stdbool.h>

enum { FB_ROW_LABEL_CHARS = 512 };

/* Which key columns differ between the rows of a comparison: labels name only these. */
struct fb_labels {
	const struct fb_keys *keys;
	bool varies[FB_KEY_COLUMNS];
};

struct fb_labels fb_labels_make(const struct fb_keys *keys);

/* "all_reduce ring ll 64K", and what else varies: " f64 in_place=yes". Returns buf. */
const char *fb_row_label(const struct fb_labels *labels, uint32_t key,
			 char buf[FB_ROW_LABEL_CHARS]);

/* "ring ll", "mpi library": who carried it out. Returns buf. */
const char *fb_row_who(const struct fb_labels *labels, uint32_t key, char buf[FB_ROW_LABEL_CHARS]);

/* "all_reduce, f32 sum, 4 ranks on 1 node": what rows of a section share. Returns buf. */
const char *fb_row_title(const struct fb_labels *labels, uint32_t key,
			 char buf[FB_ROW_LABEL_CHARS]);

/* "64K"; "-" where the operation moves nothing. Returns buf. */
const char *fb_row_bytes(const struct fb_labels *labels, uint32_t key, char buf[FB_SIZE_CHARS]);

/* Whether two keys belong to one section: they differ in who carried it out and in bytes only. */
bool fb_row_same_section(const struct fb_labels *labels, uint32_t a, uint32_t b);

#endif
