/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an algorithm costs by the cost model (common/plan/check.h), for choosing one where nothing
 * has been measured. It orders algorithms by their number of messages and bytes; it knows no
 * contention, no caches and no slow links, and its times are to be compared with each other only.
 */
#ifndef FB_COLLECTIVES_TUNING_PRICE_H
#define FB_COLLECTIVES_TUNING_PRICE_H

#include "common/plan/builder.h"

/* More ranks than that are not priced: all of their plans are built for it. */
enum { FB_PRICE_MOST_RANKS = 32 };

/* Of an algorithm, whatever the size: messages and blocks on the longest chain. */
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
 * milliseconds. Returns 0, FB_EUNSUPPORTED for too many ranks (nothing printed), FB_ENOMEM, or
 * FB_EPLAN for a shape that it cannot do.
 */
int fb_price(const struct fb_algorithm *algorithm, const struct fb_shape *shape, bool direct,
	     struct fb_price *price);

/* Time in us for blocks of that many bytes: in one piece or cut, whichever is quicker. */
double fb_price_us(const struct fb_price *price, const struct fb_link_cost *cost,
		   double block_bytes);

/* What links of an engine ("host", "cuda") cost by protocol; NULL where it does not speak it. */
const struct fb_link_cost *fb_link_cost(bool device, const char *protocol);

#endif
