/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that collective programs have beside the common ones. */
#ifndef FB_COLLECTIVES_SETTINGS_H
#define FB_COLLECTIVES_SETTINGS_H

#include "collectives/traffic.h"
#include "common/option/settings.h"

/* Lists of what struct fb_nccl_ctas has. */
struct fb_nccl_ctas_lists {
	struct fb_sizes min, max;
	uint64_t policy, cluster, poll; /* bits: indices in fb_nccl_policies, _clusters, _polls */
};

/* Their values. */
struct fb_collective_settings {
	const char *numa; /* see common/memory/places.h */
	struct fb_traffic_settings traffic; /* of unequal blocks only */
	int producer; /* enum fb_producer */
	struct fb_nccl_ctas_lists ctas;
};

/* The options of all programs, of all_to_all_v, and of others with unequal blocks. (settings.c) */
extern const struct fb_option fb_collective_options[], fb_traffic_options[], fb_block_options[];
extern const struct fb_default *const fb_collective_presets[FB_PRESETS];

extern const char *const fb_producers[]; /* "none", "plain", "early", NULL */

#endif
