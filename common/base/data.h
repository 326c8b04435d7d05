/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test data: what a rank's buffer holds before an operation and what it must hold after.
 *
 * Every value is a pure function of (seed, rank, index), so any rank can name the expected
 * content of any other without communication. Values are chosen such that the result of every
 * reduction is exact in every datatype and in any order of combination (for the number of ranks
 * given in struct fb_data), that two different ranks or two different indices practically never
 * agree over a run of 64 elements (sums of 8-bit floats: among up to 64 ranks), and that one
 * expected element costs O(16) at most, however many ranks there are.
 */
#ifndef FB_COMMON_BASE_DATA_H
#define FB_COMMON_BASE_DATA_H

#include "common/base/datatype.h"

struct fb_data {
	uint64_t seed;
	enum fb_datatype type;
	enum fb_redop op; /* the operation the data must be exact under; FB_SUM for movement */
	bool reduces;     /* false: movement only, all bit patterns of the type may be used */
	int nranks;       /* ranks that contribute to one reduced element */
	uint64_t shift;   /* first element of this call's data, if each call has new data */
};

/*
 * Other data than before, the same on all ranks that call it equally often. Each prime() takes
 * new data: buffers, slots and staging memory still hold what they held before, which would be
 * the right answer of a message that nobody has sent.
 */
void fb_data_renew(struct fb_data *data);

/* The first wrong element of a check, and how many there are. */
struct fb_mismatch {
	uint64_t errors; /* elements that differ */
	uint64_t index;  /* of the first one, counted like `first` below */
	char got[32], expected[32];
};

/* Writes elements [first, first + count) of rank's logical input to dst. */
void fb_data_fill(const struct fb_data *data, int rank, uint64_t first, void *dst, size_t count);

/*
 * Compares src[0 .. count) with elements [first, first + count) of rank's logical input
 * (bitwise), adding to *bad (which the caller zeroes once).
 */
void fb_data_check(const struct fb_data *data, int rank, uint64_t first, const void *src,
		   size_t count, struct fb_mismatch *bad);

/* Compares src with the reduction over ranks 0..nranks-1 of elements [first, first + count). */
void fb_data_check_reduced(const struct fb_data *data, uint64_t first, const void *src,
			   size_t count, struct fb_mismatch *bad);

/*
 * A byte derived from `salt` that, repeated, is not a right answer: memory is filled with it, so
 * that an element nobody wrote is found. fb_data_check and fb_data_check_reduced treat it as any
 * other wrong value. No reduction of floats can give it; values that may be any bit pattern can,
 * by chance: one in 256 for 1-byte types, one in 65536 for 2-byte movement, and so on.
 */
int fb_data_poison_byte(unsigned salt);

#endif
