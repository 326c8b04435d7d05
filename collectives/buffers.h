/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffers of a collective: where they lie, what they hold before, what they must hold after.
 *
 * A rank's part of the segment is, from its start:
 *
 *	flag page   64 bytes of flag for the check of barriers, rest unused but for
 *	            the canary that ends it
 *	input       page-aligned, canary right behind the last byte
 *	output      the same; absent in place
 *
 * Canaries are 64 bytes in front of and behind each buffer; whoever writes past an end damages
 * one. All ranks have their buffers at the same offsets. Only the owner writes to its part
 * outside of the operation, so pages are the owner's by first touch.
 *
 * Unequal blocks (op->counts) lie one behind the other without gaps, in rank order, in the input as
 * in the output.
 */
#ifndef FB_COLLECTIVES_BUFFERS_H
#define FB_COLLECTIVES_BUFFERS_H

#include "collectives/engine/engine.h"

enum { FB_CANARY_BYTES = 64 };

/*
 * Sets op->in_offset and op->out_offset from the other members. Returns the bytes that a part
 * must have, the same for all ranks.
 */
size_t fb_buffers_layout(struct fb_operation *op, int nranks);

/* Elements of a rank's input or output (`out`); 0 where it has none. */
uint64_t fb_buffers_elements(const struct fb_operation *op, bool out, int rank, int nranks);

/* First element of block `block` of a rank's input or output. */
uint64_t fb_buffers_first(const struct fb_operation *op, bool out, int rank, int block);

/*
 * Local: input from `data`, output poisoned, canaries whole. 0, or an error of the memory's.
 */
int fb_buffers_prime(const struct fb_operation *op, const struct fb_data *data, int rank);

/*
 * Local: checks the canaries, every element of the rank's output after `calls` calls, and (unless
 * in place) that the input is unchanged. Adds to *bad; the index counts the elements of the whole
 * output or input, and is its length for the canary behind it. Several reductions in place have no
 * predictable result, so the caller passes calls = 1. Returns 0 or an error of the memory's.
 */
int fb_buffers_check(const struct fb_operation *op, const struct fb_data *data, int rank,
		     int calls, struct fb_mismatch *bad);

/* A block of a rank's output, and what it has to be. */
struct fb_output_block {
	int rank;	/* whose input it is, or FB_REDUCED: the reduction over all */
	uint64_t first; /* element of that input, without data->shift */
	uint64_t base;	/* the block's first element in the output */
	unsigned char *at;
	size_t count; /* elements */
};

/*
 * Calls `visit` with each block of the rank's output after `calls` calls, until it returns an
 * error, which is returned.
 */
int fb_buffers_outputs(const struct fb_operation *op, int nranks, int rank, int calls,
		       int (*visit)(void *arg, const struct fb_output_block *block), void *arg);

#endif
