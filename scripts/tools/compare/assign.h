/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assignments that permutation tests go through: which launches are B, or, with blocks, which
 * blocks keep their sign. Either is a set of `units` bits.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_ASSIGN_H
#define FB_SCRIPTS_TOOLS_COMPARE_ASSIGN_H

#include "scripts/tools/compare/design.h"

#include <stdint.h>

/* Units in one nibble, and values of it. */
enum { FB_NIBBLE = 4, FB_NIBBLES = 16 };

/*
 * Bits are stored in nibbles, so that sums over units can be looked up for four units at a time:
 * unit u of assignment i is bit u % 4 of nibble[i * groups + u / 4].
 */
struct fb_assignments {
	size_t units, groups; /* groups = units / 4, rounded up */
	size_t count;
	unsigned char *nibble; /* [count * groups] */
	bool exhaustive; /* all assignments, in any order; else a sample with the real one first */
};

struct fb_assign_options {
	size_t most;  /* all assignments are used if there are at most so many */
	size_t draws; /* otherwise the real one and this many random ones */
	uint64_t seed;
	/*
	 * Keeps only one of two assignments that are each other's mirror image, where the mirror
	 * image is an assignment too: a statistic that ignores the sign needs no more.
	 */
	bool mirrored_once;
};

/* The assignments of a valid design. */
void fb_assignments_make(const struct fb_design *design, const struct fb_design_size *size,
			 const struct fb_assign_options *options, struct fb_assignments *out);

/* Writes label[0 .. units), each 0 or 1, to nibble[0 .. groups). */
void fb_assignment_pack(const unsigned char *label, size_t units, unsigned char *nibble);

/* Unit u of one assignment. */
static inline unsigned fb_assignment_bit(const unsigned char *nibble, size_t unit)
{
	return (unsigned)nibble[unit / FB_NIBBLE] >> (unit % FB_NIBBLE) & 1u;
}

#endif
