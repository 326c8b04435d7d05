/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports that are down while somebody waits.
 *
 * A queue pair with something under way fails once all retries are used up. One with nothing under
 * way does not, since a device reports the state of ports by events only; and soft-RoCE has been
 * seen not to retry at all after its link went down. So whoever waits for long asks for the port's
 * state, and gives up when it has been down for longer than all retries of a packet may take. Links
 * that come back earlier are the queue pairs' affair.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_WATCH_H
#define FB_COMMON_TRANSPORT_RDMA_WATCH_H

#include "common/transport/rdma_device.h"

#if FB_HAVE_VERBS

struct fb_rdma_watch {
	double patience_s; /* how long a port may be down */
	double asked_s;    /* when its state was asked for last, or the wait was first reported */
	double down_s;     /* since when it has been down */
	bool waits;        /* nothing has been completed since asked_s was set first */
	bool down;
};

/*
 * The watch of a rail with these timeouts: an answer is due within 4.096 us times 2^timeout, which
 * a device may take four times as long to notice (InfiniBand, 9.9.2.4.1), after the first packet
 * and each retry; and 5 s. For ever where soft-RoCE is asked to retry for ever.
 */
struct fb_rdma_watch fb_rdma_watch_begin(const struct fb_rdma_settings *settings);

/*
 * From the slow path of a wait, at now_s seconds of any clock that is not set back; waits is set to
 * false when something has been completed meanwhile, which ends one wait. From its first second on
 * asks for the state once a second. FB_OK, or FB_EPEER (printed) where the port has been down for
 * too long.
 */
int fb_rdma_watch(struct fb_rdma_watch *watch, const struct fb_rdma_rail *rail, double now_s);

#endif
#endif
