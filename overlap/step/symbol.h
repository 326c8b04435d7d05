/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symbolic memory of the checker: a buffer is a row of pieces, each with the content that it holds.
 *
 * The sum of some contributions is known by the sum of a random number for each, so that a member
 * that is missing or counted twice gives another sum. Internal to check.h.
 */
#ifndef FB_OVERLAP_STEP_SYMBOL_H
#define FB_OVERLAP_STEP_SYMBOL_H

#include "overlap/step/dag.h"

/* The symbolic contents of an element; data FB_NONE: not written yet. */
struct fb_symbol {
	int data;
	uint64_t members; /* sum of a random number for each contribution */
	int64_t shift;    /* element of the data less element of the buffer */
};

struct fb_symbol_piece {
	uint64_t end; /* begins where the one before ends */
	struct fb_symbol symbol;
};

struct fb_symbol_row {
	struct fb_symbol_piece *pieces;
	size_t n, room;
};

/* A row of `count` elements that nobody has written. FB_OK or FB_ENOMEM. */
int fb_symbol_open(struct fb_symbol_row *row, uint64_t count);
void fb_symbol_close(struct fb_symbol_row *row);

/* The content as it lies in a span from element `at` on. */
struct fb_symbol fb_symbol_of(const struct fb_dag *dag, const struct fb_content *content,
			      uint64_t at);
bool fb_symbol_alike(const struct fb_symbol *a, const struct fb_symbol *b);

/* The piece that holds an element; valid until the next fb_symbol_put. */
const struct fb_symbol_piece *fb_symbol_at(const struct fb_symbol_row *row, uint64_t at);
/*
 * Adds to *symbol what lies from element `at` on, at most *count elements, which becomes how many
 * are alike. False: there lies other data.
 */
bool fb_symbol_add(const struct fb_symbol_row *row, uint64_t at, uint64_t *count,
		   struct fb_symbol *symbol);
/* Writes [first, end), which is not empty. FB_OK or FB_ENOMEM. */
int fb_symbol_put(struct fb_symbol_row *row, uint64_t first, uint64_t end,
		  struct fb_symbol symbol);

#endif
