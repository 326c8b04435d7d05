/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting queue pairs through the connection manager (--rdma-connect cm) instead of by addresses
 * exchanged through MPI: by IP addresses, over the fabric itself, as storage and most services do
 * it. librdmacm is opened at run time.
 *
 * The manager does the handshake only. Queue pairs are created as with MPI, and change their states
 * with the manager's attributes of the path (addresses, packet numbers) and this suite's timeouts,
 * so that rows of both ways differ in nothing else. Every rank listens on each of its rails; MPI
 * exchanges these IP addresses and ports. The lower rank of a pair connects, the other accepts.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_CM_H
#define FB_COMMON_TRANSPORT_RDMA_CM_H

#include "common/system/group.h"
#include "common/transport/rdma_queue.h"

#if FB_HAVE_VERBS

struct fb_rdma_cm;

/*
 * Local. FB_OK, with *cm NULL if the settings want MPI to connect queues; FB_ENOMEM; or
 * FB_EUNSUPPORTED with the reason in `why` (not printed) if there is no manager.
 */
int fb_rdma_cm_open(struct fb_rdma_cm **cm, const struct fb_rdma_settings *settings, char *why,
		    size_t n);
/* After the queues are closed. NULL is fine. */
void fb_rdma_cm_close(struct fb_rdma_cm *cm);

/* The queues to connect: `each` queues, grouped by rail, to each of the peers. */
struct fb_rdma_exchange {
	const struct fb_group *world;
	const struct fb_rdma_settings *settings;
	const struct fb_rdma_rail *rails;
	int nrails;
	const int *peers; /* [n] */
	struct fb_rdma_queue **queues; /* [n], each [nrails][settings->qps], in state INIT */
	int n;
};

/*
 * Collective over the world, n may be 0; both ends of a pair name each other. FB_OK or an error
 * (printed), not the same on all ranks.
 */
int fb_rdma_cm_connect(struct fb_rdma_cm *cm, const struct fb_rdma_exchange *exchange);

#endif
#endif
