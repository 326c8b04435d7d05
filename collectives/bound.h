/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lower bound of a collective's time among ranks of one host: column bound_us.
 *
 * It is max(alpha, bytes that the busiest rank must copy / copy rate + bytes it must read and
 * combine / read rate). alpha is the least time for 8 bytes to become visible to another rank, of
 * rank 0 and its first peers; the rates are measured with ranks copying, or reading, from each
 * other's memory, for data that fits in the inner caches and for data that does not: all ranks at
 * the same time, and, for operations with a root, in which others may have little to do, one
 * rank alone.
 *
 * It says how far an algorithm is from what this memory can do. It is not a model of any
 * algorithm: it knows neither steps nor contention nor the distance between caches. Writing is
 * counted with copying only, so that reductions, which write little, cannot beat it. Nothing is
 * said for one rank, for several nodes, or for links that are not shared memory; the library's
 * own choice of links is taken to be that.
 */
#ifndef FB_COLLECTIVES_BOUND_H
#define FB_COLLECTIVES_BOUND_H

#include <stdint.h>

#include "common/plan/collective.h"
#include "common/system/group.h"

enum { FB_BOUND_SIZES = 3 };

struct fb_bound {
	bool known;
	double alpha_us;
	size_t bytes[FB_BOUND_SIZES];          /* per rank at which the rates were measured */
	/* Bytes per us and rank: [0] all ranks at once, [1] one alone. */
	double copy_per_us[2][FB_BOUND_SIZES];
	double read_per_us[2][FB_BOUND_SIZES];
};

/*
 * Collective; some ms. Measures where all ranks are on one host and there is more than one, else
 * *bound says that nothing is known. Returns the same value on all ranks: 0, FB_ESYS or
 * FB_ENOMEM (printed).
 */
int fb_bound_measure(struct fb_bound *bound, const struct fb_group *world);

/*
 * The bound in us, NAN where unknown. `bytes` is the operation's total, `moved` what the busiest
 * rank must take from or give to others, of which reductions combine a part.
 */
double fb_bound_us(const struct fb_bound *bound, enum fb_collective collective, uint64_t bytes,
		   double moved);

#endif
