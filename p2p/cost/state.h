/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a cost program: program.c fills it, expand.c makes cases from it. */
#ifndef FB_P2P_COST_STATE_H
#define FB_P2P_COST_STATE_H

#include "common/cuda/stores.h"
#include "p2p/cost/cost.h"

struct fb_cost_state {
	const struct fb_cost_program *program;
	struct fb_cost_context context; /* without place, bytes and own */
	struct fb_stores stores; /* no segments: what memory there is, and places */
	char no_rdma[FB_REASON_CHARS], no_window[FB_REASON_CHARS];
	int rails; /* that all ranks have; 0: none */
	struct fb_cost_gpu gpu;
	const struct fb_cost *adding; /* whose cases fb_cost_expand() adds */
};

/* The kind of a GPU's memory of that name, as enum fb_gpu_memory, or -1. Pure. */
int fb_cost_gpu_memory_of(const char *name);

/* fb_program.expand */
int fb_cost_expand(struct fb_run *run, void *state);

#endif
