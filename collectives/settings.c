/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the collective programs' own options; see settings.h. */
#include "collectives/settings.h"

#include "common/memory/places.h"

const char *const fb_producers[] = {"none", "plain", "early", NULL};

#define PRODUCER                                                                                   \
	FB_OPTION_GROUP("Fresh input"),                                                            \
	FB_OPTION_CHOICE(struct fb_collective_settings, producer, 0, "producer", "none",           \
			 fb_producers,                                                             \
			 "each call's input is new and written right before it, its output "       \
			 "checked right behind it, within the time; on GPUs by kernels in the "    \
			 "same graph. early: kernels may begin before the producer has written "   \
			 "(programmatic dependent launch)")

const struct fb_option fb_collective_options[] = {
	FB_OPTION_GROUP("Place"),
	FB_PLACES_OPTION(struct fb_collective_settings, numa),
	PRODUCER,
	FB_OPTION_END,
};

const struct fb_option fb_traffic_options[] = {
	FB_OPTION_GROUP("Place"),
	FB_PLACES_OPTION(struct fb_collective_settings, numa),
	PRODUCER,
	FB_OPTION_GROUP("Traffic"),
	FB_OPTION_DOUBLE(struct fb_collective_settings, traffic.skew, 0, "skew", "S", "0", 0.0,
			 16.0, "rank i sends rank i + k a share of 1 / (k + 1)^S; 0: equal shares"),
	FB_OPTION_STRING(struct fb_collective_settings, traffic.matrix, 0, "matrix", "FILE", NULL,
			 NULL, "who sends how much to whom, instead of --skew: a line for each "
			 "sender, in it a number for each receiver; only proportions matter"),
	FB_OPTION_END,
};
