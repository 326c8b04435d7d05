/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by over.c (engines and calls) and over_step.c (the steps of a call); see over.c. */
#ifndef FB_P2P_ENGINE_OVER_H
#define FB_P2P_ENGINE_OVER_H

#include "common/cuda/gpu_stream.h"
#include "common/mover/mover.h"
#include "p2p/engine/engine.h"

/* Ping-pong has two steps, there and back. */
enum { FB_OVER_STEPS = 2 };

struct fb_over {
	struct fb_p2p_engine engine;
	struct fb_mover *mover; /* NULL: why says what is missing */
	struct fb_region **region; /* [regions] of the segments that were met */
	int regions;
	struct fb_gpu gpu; /* if has_gpu: for streams */
	bool has_gpu;
	char why[FB_REASON_CHARS];
};

struct fb_over_arrival {
	struct fb_wait wait;
	uint64_t base, each; /* notices before this request; notices of each call */
};

struct fb_over_step {
	struct fb_move *move; /* NULL: nothing to move */
	bool needed;          /* the move has to be complete before the next step begins */
	struct fb_over_arrival *arrival; /* [arrivals] */
	struct fb_wait *wait;    /* [arrivals], for an enqueued call */
	int arrivals;
};

struct fb_over_request {
	struct fb_p2p_request request;
	struct fb_over *engine;
	const struct fb_job *job;
	struct fb_piece *piece; /* [nflows * regions] */
	struct fb_over_step step[FB_OVER_STEPS];
	int steps;
	uint64_t calls;
	struct fb_gpu_stream *stream; /* NULL: the launch is blocking, or nothing to do */
};

/* Collective: registers the job's memory and connects its peers, unless an earlier job did. */
int fb_over_connect(struct fb_over_request *r, struct fb_region **region);

/*
 * Local: makes step `i` of the flows from `first` to the one before `end`; receives go first.
 * `form` is one of the mover's, or NULL. 0, an error (printed), or FB_EUNSUPPORTED as
 * fb_move_prepare().
 */
int fb_over_step_make(struct fb_over_request *r, int i, struct fb_region *region, const char *form,
		      int first, int end);

#endif
