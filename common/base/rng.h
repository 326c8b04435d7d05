/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers and hashes that are the same on every machine for the same seed.
 *
 * The order of rows, bootstrap draws and permutation tests must be repeatable from the seed in
 * the result file, so the C library's rand() (which differs between libraries) is never used.
 * None of this is for secrets.
 */
#ifndef FB_COMMON_BASE_RNG_H
#define FB_COMMON_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* The state of one generator (xoshiro256**). Set only by fb_rng_seed; copying it forks it. */
struct fb_rng {
	uint64_t state[4];
};

/* Starts a generator. Every seed is good, 0 too; near seeds give unrelated sequences. */
void fb_rng_seed(struct fb_rng *rng, uint64_t seed);

/* 64 random bits. */
uint64_t fb_rng_u64(struct fb_rng *rng);

/* A number in [0, bound), every one equally likely. bound 0 gives 0. */
uint64_t fb_rng_below(struct fb_rng *rng, uint64_t bound);

/* A number in [0, 1), a multiple of 2^-53. */
double fb_rng_unit(struct fb_rng *rng);

/* Puts the n elements of `size` bytes at base in random order, every order equally likely. */
void fb_shuffle(void *base, size_t n, size_t size, struct fb_rng *rng);

/*
 * A bijection of 64-bit numbers in which every input bit changes about half of the output bits
 * (the finaliser of SplitMix64). For turning a few numbers into one: fb_mix64(a + fb_mix64(b)).
 */
uint64_t fb_mix64(uint64_t x);

/*
 * A 64-bit hash of bytes, for names and plans. It depends on the seed and on every byte, not on
 * the machine's byte order. Not for untrusted keys.
 */
uint64_t fb_hash64(const void *data, size_t bytes, uint64_t seed);

#endif
