/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the cost of an algorithm by the cost model (common/plan/check.h), to select one if
 * nothing has been measured. The model orders algorithms by their number of messages and bytes. It
 * knows no contention, no caches and no slow links, so compare its times only with each other.
 */
#ifndef FB_COLLECTIVES_TUNING_PRICE_H
#define FB_COLLECTIVES_TUNING_PRICE_H

#include "common/plan/builder.h"

/*
 * Up to so many ranks the plans of all ranks are built and run. Prices of more ranks are extended
 * from those of powers of two, at most FB_PRICE_MODEL_RANKS ranks.
 */
enum { FB_PRICE_MOST_RANKS = 32, FB_PRICE_MODEL_RANKS = 64 };

/* The messages and blocks on an algorithm's longest chain, which do not depend on the size. */
struct fb_price {
	double messages, blocks;         /* in one piece */
	double cut_messages, cut_blocks; /* in pieces that follow each other along the chain */
};

/* What a message costs, and how fast bytes move. */
struct fb_link_cost {
	const char *protocol;
	double message_us, bytes_per_us;
};

/*
 * Prices the algorithm for the shape, over direct links or slotted ones. Local, pure, some
 * milliseconds; with more than FB_PRICE_MOST_RANKS ranks up to a second. A price of so many is a
 * sum of 1, n, log n and 1/n (n nodes of as many ranks each, or n ranks of one node), which is how
 * all algorithms' messages and bytes grow: within 2% of plans of 128 ranks, `pat` 20%. Returns 0;
 * FB_EUNSUPPORTED (nothing printed) for many ranks on nodes that are unlike or have more than 8;
 * FB_ENOMEM; or FB_EPLAN for a shape that it cannot do.
 */
int fb_price(const struct fb_algorithm *algorithm, const struct fb_shape *shape, bool direct,
	     struct fb_price *price);

/* Time in us for blocks of that many bytes: in one piece or cut, whichever is quicker. */
double fb_price_us(const struct fb_price *price, const struct fb_link_cost *cost,
		   double block_bytes);

/* Whether links of the protocol have no slots: what they carry goes from buffer to buffer. */
bool fb_protocol_is_direct(const char *protocol);

/* What links of an engine ("host", "cuda") cost by protocol; NULL where it does not speak it. */
const struct fb_link_cost *fb_link_cost(bool device, const char *protocol);

#endif
