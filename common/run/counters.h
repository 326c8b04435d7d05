/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters around a case: what the interfaces, RDMA ports and GPU links of all hosts carried while
 * it was measured, and what else they counted.
 *
 * The harness reads them before the first call and after the last check, outside of all timing. The
 * first rank of each host reads the network's counters, and each rank with a GPU those of the GPU's
 * links. So the figures also contain barriers and the traffic of other jobs.
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
	bool reads;			/* the network's counters of this host, into: */
	struct fb_audit before, after;
	struct fb_gpu_links gpu_before, gpu_after; /* if `gpu` is set */
	const void *gpu; /* this rank's GPU, for `read_gpu`; NULL: nobody has opened it */
	void (*read_gpu)(const void *gpu, struct fb_gpu_links *links);
	char traffic[FB_TRAFFIC_CHARS], events[FB_EVENTS_CHARS]; /* rank 0: for the row */
};

/* Local. Nothing to close. */
void fb_counters_open(struct fb_counters *counters, const struct fb_group *world);

/* Local: read the counters. */
void fb_counters_begin(struct fb_counters *counters);
void fb_counters_end(struct fb_counters *counters);

/*
 * Collective, after both: fills the texts, and adds flags on rank 0. Flags retransmits and
 * link-errors are set if the case `uses` a network and they were counted. Flags rail-imbalance,
 * idle-port and stray-traffic compare counters with the devices that the ranks' traits->path name,
 * unless traits->judged: `moved` bytes passed each rank in all calls, `call` of them in a call.
 */
void fb_counters_judge(struct fb_counters *counters, bool uses, double call, double moved,
		       struct fb_traits *traits);

/* A row is flagged rail-imbalance if fb_audit_balance() of its rails is below this. */
#define FB_COUNTERS_EVEN 0.7

/* Whether a call moves so many bytes that those of barriers do not matter. */
bool fb_counters_enough(const struct fb_group *world, double call);

/* The devices that should carry the bytes of this host's ranks. */
struct fb_carrier {
	bool known; /* all ranks of the host know theirs */
	char devices[FB_CARRIER_CHARS];
};

/* Collective: joins what the ranks of each host know. 0 or FB_ENOMEM (printed). */
int fb_carrier_gather(const struct fb_group *world, bool known, const char *devices,
		      struct fb_carrier *carrier);

#endif
