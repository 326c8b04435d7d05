/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of compare's statistics share: designs, and launches whose truth is known. */
#ifndef FB_TESTS_UNIT_COMPARE_EXAMPLE_H
#define FB_TESTS_UNIT_COMPARE_EXAMPLE_H

#include <math.h>

#include "common/base/rng.h"
#include "scripts/tools/compare/design.h"

enum { EXAMPLE_LAUNCHES = 64 };

/* Launches run as A B B A A B B A ...; blocks are two launches long. */
struct example {
	unsigned char side[EXAMPLE_LAUNCHES];
	unsigned block[EXAMPLE_LAUNCHES];
	struct fb_design design;
};

static inline void example_interleave(struct example *e, size_t launches)
{
	for (size_t i = 0; i < launches; i++) {
		e->side[i] = i % 4 == 1 || i % 4 == 2;
		e->block[i] = (unsigned)(i / 2);
	}
	e->design = (struct fb_design){.launches = launches, .side = e->side};
}

/* The first `a` launches are A, the rest B. */
static inline void example_halves(struct example *e, size_t a, size_t b)
{
	for (size_t i = 0; i < a + b; i++) {
		e->side[i] = i >= a;
		e->block[i] = (unsigned)(i % a);
	}
	e->design = (struct fb_design){.launches = a + b, .side = e->side};
}

/* A standard normal value. */
static inline double example_normal(struct fb_rng *rng)
{
	double radius = sqrt(-2 * log(1 - fb_rng_unit(rng)));

	return radius * cos(2 * M_PI * fb_rng_unit(rng));
}

#endif
