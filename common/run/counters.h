/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters around a case: what the interfaces, RDMA ports and GPU links of all hosts carried while
 * it was measured, and what else they counted.
 *
 * The harness reads before the first call and after the last check, outside of all times: on every
 * host its first rank the network's, and every rank with a GPU the links of that. So barriers and
 * the traffic of others are in the figures too.
 */
#ifndef FB_COMMON_RUN_COUNTERS_H
#define FB_COMMON_RUN_COUNTERS_H

#include "common/record/traits.h"
#include "common/run/carrier.h"
#include "common/system/audit.h"
#include "common/system/gpu_links.h"
#include "common/system/group.h"

enum { FB_TRAFFIC_CHARS = 512, FB_EVENTS_CHARS = 1024 };

struct fb_counters {
	const struct fb_group *world;
	bool reads;			/* this rank does so for its host: */
	struct fb_audit before, after;
	struct fb_gpu_links gpu_before, gpu_after; /* where `gpu` is there */
	const void *gpu; /* of whoever has opened this rank's, as `read_gpu` wants it; or NULL */
	void (*read_gpu)(const void *gpu, struct fb_gpu_links *links);
	char traffic[FB_TRAFFIC_CHARS], events[FB_EVENTS_CHARS]; /* rank 0: for the row */
};

/* Local. Nothing to close. */
void fb_counters_open(struct fb_counters *counters, const struct fb_group *world);

/* Local: reads. */
void fb_counters_begin(struct fb_counters *counters);
void fb_counters_end(struct fb_counters *counters);

/*
 * Collective, after both: fills the texts, and adds flags on rank 0: retransmits and link-errors
 * for what a network counted that the case `uses`; unless traits->judged, rail-imbalance,
 * idle-port and stray-traffic, where each rank's traits->path says what should have carried the
 * `moved` bytes that passed each rank, `call` of them in a call.
 */
void fb_counters_judge(struct fb_counters *counters, bool uses, double call, double moved,
		       struct fb_traits *traits);

/* A rail that carries less than this part of another one's bytes holds it up; fb_audit_balance. */
#define FB_COUNTERS_EVEN 0.7

/* Whether a call moves enough bytes that barriers are none beside it. */
bool fb_counters_enough(const struct fb_group *world, double call);

/* The devices that should carry the bytes of this host's ranks. */
struct fb_carrier {
	bool known; /* all ranks of the host know it */
	char devices[FB_CARRIER_CHARS];
};

/* Collective: joins what the ranks of each host know. 0 or FB_ENOMEM (printed). */
int fb_carrier_gather(const struct fb_group *world, bool known, const char *devices,
		      struct fb_carrier *carrier);

#endif
