/* SPDX-License-Identifier: BSD-3-Clause */
/* What the lives of NCCL's communicators share: nccl.c makes and ends them, reuse.c keeps them. */
#ifndef FB_COLLECTIVES_COMMUNICATOR_NCCL_H
#define FB_COLLECTIVES_COMMUNICATOR_NCCL_H

#include "collectives/communicator/life.h"
#include "common/library/nccl/comm.h"

struct fb_life_nccl {
	fb_nccl_comm *comm;           /* [count * parts]; NULL: none, or not this rank's */
	fb_nccl_comm parent;          /* of those that are made from one; NULL: none */
	void **handle, **block;       /* [count * parts]: registrations, and memory of `fragment` */
	struct fb_gpu_stream *stream; /* of the calls; NULL: closed */
	unsigned long long random;
};

/* As the members of struct fb_life. */
int fb_life_nccl_begin(struct fb_life_context *c);
void fb_life_nccl_end(struct fb_life_context *c);
int fb_life_nccl_create(struct fb_life_context *c);
int fb_life_nccl_call(struct fb_life_context *c);
int fb_life_nccl_destroy(struct fb_life_context *c);

/* Collective over the part's group: one communicator, by CommInitRank or with a configuration. */
int fb_life_nccl_init(struct fb_life_context *c, int part, fb_nccl_comm *comm, bool blocks);

/* Opens own->stream. */
int fb_life_nccl_stream(struct fb_life_context *c, bool graph);

/* fb_gpu_enqueue_fn: an all_reduce on each communicator. */
int fb_life_nccl_enqueue(void *arg, void *stream);

#endif
