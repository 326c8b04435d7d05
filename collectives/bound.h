/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lower bound of a collective's time among ranks of one host: column bound_us.
 *
 * Whatever the algorithm, every byte of the inputs has to be read by some rank, and every byte of
 * the outputs to be written by some rank, but for what stays where it is. Any rank may do it: with
 * zero-copy links peers write into the root's buffer in parallel. So the bound is the largest of
 *
 *   bytes read / rate of reading, bytes written / rate of writing,
 *   the lesser of the two / rate of copying, which reads and writes,
 *   alpha, if a call cannot end before a store of one rank is visible to another rank.
 *
 * A rate is the sum over all ranks. Each rank works on memory of its own that is as large as its
 * share of the bytes, with ordinary or streaming stores, whichever are faster. alpha is the least
 * time for 8 bytes to become visible to another rank, measured between rank 0 and its first peers.
 *
 * All rates are the best that were seen, rank by rank, in the whole launch so far: a disturbed
 * rank cannot lower them. They are measured at the start, and again before each case. So the bound
 * errs by being too small: it knows neither steps nor contention nor the distance between caches.
 * It is no model of an algorithm. There is no bound for one rank, for several nodes, or for links
 * that are not shared memory. Transport `library` is taken to be shared memory.
 */
#ifndef FB_COLLECTIVES_BOUND_H
#define FB_COLLECTIVES_BOUND_H

#include <stdbool.h>

#include "collectives/engine/engine.h"
#include "common/measure/barrier.h"
#include "common/memory/segment.h"

enum { FB_BOUND_SIZES = 4 };
enum fb_bound_kind { FB_BOUND_READ, FB_BOUND_WRITE, FB_BOUND_COPY, FB_BOUND_KINDS };

struct fb_bound {
	const struct fb_group *world;
	bool open, known;
	struct fb_segment segment;
	struct fb_barrier barrier;
	double alpha_us;
	size_t bytes[FB_BOUND_SIZES]; /* of each rank's memory, rising */
	/* Bytes per us, all ranks together. */
	double per_us[FB_BOUND_KINDS][FB_BOUND_SIZES];
};

/* What all ranks together have to do for one call, in bytes. */
struct fb_bound_work {
	double read, written;
};

/*
 * Collective; some 20 ms. Measures where all ranks are on one host and there is more than one, else
 * the bound says that nothing is known. Returns the same value on all ranks: 0, FB_ESYS or
 * FB_ENOMEM (printed). Closed by fb_bound_close in any case, which is safe on a zeroed structure.
 */
int fb_bound_open(struct fb_bound *bound, const struct fb_group *world);

/*
 * Collective; about 2 ms. Measures once more the rates that such work needs, and keeps the better
 * ones. Does nothing where ranks outnumber processors, as it would take long.
 */
void fb_bound_again(struct fb_bound *bound, const struct fb_bound_work *work);

void fb_bound_close(struct fb_bound *bound);

/* The work of an operation among nranks ranks. Pure. */
struct fb_bound_work fb_bound_work(const struct fb_operation *op, int nranks);

/*
 * The bound in us, NAN where unknown. `alone`: calls do not overlap, and the time of a call ends
 * when its last rank has finished. Otherwise several calls may be in flight if data flows one way
 * only, and the bound leaves out alpha.
 */
double fb_bound_us(const struct fb_bound *bound, const struct fb_operation *op,
		   const struct fb_bound_work *work, bool alone);

#endif
