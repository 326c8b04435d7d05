/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports that are down while somebody waits.
 *
 * A queue pair with something under way fails once all retries are used up. One with nothing under
 * way does not, since a device reports the state of ports by events only; and soft-RoCE has been
 * seen not to retry at all after its link went down. So a rank that waits for long asks for the
 * port's state, and gives up when it has been down for longer than all retries of a packet may
 * take. If the link comes back earlier, the queue pairs' retries succeed.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_WATCH_H
#define FB_COMMON_TRANSPORT_RDMA_WATCH_H

#include "common/transport/rdma_device.h"

#if FB_HAVE_VERBS

struct fb_rdma_watch {
	double patience_s; /* how long a port may be down */
	double asked_s;    /* when its state was asked for last, or the wait was first reported */
	double down_s;     /* since when it has been down */
	bool waits;        /* the rank waits: nothing has completed since the wait was reported */
	bool down;
};

/*
 * A watch with the patience that the settings' timeouts need: for the first packet and each retry
 * four times 4.096 us times 2^timeout, since a device may take four times the timeout to notice it
 * (InfiniBand, 9.9.2.4.1), and 5 s. No limit with 7 retries, which soft-RoCE takes for endless.
 */
struct fb_rdma_watch fb_rdma_watch_begin(const struct fb_rdma_settings *settings);

/*
 * Called again and again while a rank waits; now_s is of any monotonic clock. The caller sets
 * watch->waits to false when something has completed, which begins a new wait. Asks for the port's
 * state once a second. FB_OK, or FB_EPEER (printed) where it has been down for too long.
 */
int fb_rdma_watch(struct fb_rdma_watch *watch, const struct fb_rdma_rail *rail, double now_s);

#endif
#endif
