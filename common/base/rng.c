/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repeatable random numbers; see rng.h.
 *
 * The generator is xoshiro256** (Blackman and Vigna, 2018), its state filled by SplitMix64
 * (Steele, Lea and Flood, 2014), as its authors advise: small, fast, and with known test vectors.
 */
#include "common/base/rng.h"

#include <string.h>

static const uint64_t golden = 0x9e3779b97f4a7c15u;

uint64_t fb_mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

void fb_rng_seed(struct fb_rng *rng, uint64_t seed)
{
	for (size_t i = 0; i < 4; i++) {
		seed += golden;
		rng->state[i] = fb_mix64(seed);
	}
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

uint64_t fb_rng_u64(struct fb_rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t fb_rng_below(struct fb_rng *rng, uint64_t bound)
{
	if (bound == 0)
		return 0;
	/* The lowest 2^64 mod bound draws are thrown away, so that the rest divides evenly. */
	uint64_t reject = (0 - bound) % bound;
	uint64_t x = fb_rng_u64(rng);

	while (x < reject)
		x = fb_rng_u64(rng);
	return x % bound;
}

double fb_rng_unit(struct fb_rng *rng)
{
	return (double)(fb_rng_u64(rng) >> 11) * 0x1p-53;
}

static void swap_bytes(unsigned char *a, unsigned char *b, size_t size)
{
	unsigned char part[64];

	while (size > 0) {
		size_t n = size < sizeof(part) ? size : sizeof(part);

		memcpy(part, a, n);
		memcpy(a, b, n);
		memcpy(b, part, n);
		a += n;
		b += n;
		size -= n;
	}
}

void fb_shuffle(void *base, size_t n, size_t size, struct fb_rng *rng)
{
	unsigned char *bytes = base;

	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)fb_rng_below(rng, i);

		if (j != i - 1)
			swap_bytes(bytes + j * size, bytes + (i - 1) * size, size);
	}
}

uint64_t fb_hash64(const void *data, size_t bytes, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t hash = fb_mix64(seed + golden) ^ bytes;

	while (bytes > 0) {
		size_t n = bytes < 8 ? bytes : 8;
		uint64_t word = 0;

		for (size_t i = 0; i < n; i++)
			word |= (uint64_t)p[i] << (8 * i);
		hash = fb_mix64((hash ^ word) + golden);
		p += n;
		bytes -= n;
	}
	return fb_mix64(hash + golden);
}
