/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes in bytes as people write them: "64K", "8:64M:2", "0,1,8,1K".
 *
 * One notation serves every option that takes a size, so that what is learnt for one program
 * holds for all. Suffixes are binary (K = 1024) because message sizes are powers of two.
 */
#ifndef FB_COMMON_BASE_SIZES_H
#define FB_COMMON_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

enum { FB_SIZES_MAX = 4096, FB_SIZE_CHARS = 24 };

/* A sweep: sorted, without duplicates. Owns nothing but itself, so it may be copied. */
struct fb_sizes {
	size_t count; /* at least 1 after a successful parse */
	uint64_t value[FB_SIZES_MAX];
	const char *text; /* what was parsed; borrowed from the caller (argv or a literal) */
};

/*
 * Parses one number of bytes: decimal digits and at most one of K, M, G, T (either case, powers
 * of 1024). No sign, no blank, no fraction. Returns 0, or FB_EINPUT (not a number of this form,
 * or 2^64 and above) with *value untouched. Prints nothing.
 */
int fb_size_parse(const char *text, uint64_t *value);

/* Writes a number of bytes the way it would be typed ("8", "64K", "1025"). Returns buf. */
const char *fb_size_text(uint64_t value, char buf[FB_SIZE_CHARS]);

/*
 * Parses a sweep: a comma-separated list whose items are single sizes, from:to:factor
 * (multiply, factor >= 2) or from:to:+step (add, step >= 1). `to` is included where it is hit.
 * Returns 0 or FB_EINPUT; then `why` (of n characters) says in one phrase what is wrong with
 * which item, and *sizes is untouched. Prints nothing: the option parser does.
 */
int fb_sizes_parse(const char *text, struct fb_sizes *sizes, char *why, size_t n);

#endif
