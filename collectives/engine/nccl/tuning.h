/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL really ran, read from its own log of one call outside of timing.
 *
 * NCCL tells algorithm, protocol and channels of a call in its log (NCCL_DEBUG=INFO, subsystem
 * TUNING), on rank 0 only. Writing it costs time, so the log is switched on for one call and off
 * again, by ncclResetDebugInit, which versions since 2.24 have. Where the user has set NCCL_DEBUG
 * the log is theirs and nothing is read. Sends and receives have no such line.
 */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_TUNING_H
#define FB_COLLECTIVES_ENGINE_NCCL_TUNING_H

#include "common/library/nccl/api.h"
#include "common/library/nccl/force.h"

/* Plain data, to be broadcast as bytes. Empty texts: not told. */
struct fb_nccl_ran {
	char algorithm[FB_NCCL_NAME_CHARS]; /* "ring", spelled as --nccl-force does */
	char protocol[FB_NCCL_NAME_CHARS];  /* "ll128" */
	char kernel[64];                    /* of symmetric windows: "AllReduce_AGxLL_R" */
	int channels;                       /* 0: not told */
};

/* The last call that the log tells of; zeroes where there is none. */
void fb_nccl_ran_parse(const char *log, struct fb_nccl_ran *ran);

/* Whether that is what was asked for, as far as NCCL tells. */
bool fb_nccl_ran_as(const struct fb_nccl_ran *ran, const struct fb_nccl_choice *choice);

/* A log under way. */
struct fb_nccl_log {
	const struct fb_nccl *nccl; /* NULL: not logging */
	char file[64];
};

/* Local. Nothing is logged where it cannot be. End reads and removes the file. */
void fb_nccl_log_begin(struct fb_nccl_log *log, const struct fb_nccl *nccl);
void fb_nccl_log_end(struct fb_nccl_log *log, struct fb_nccl_ran *ran);

#endif
