/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared code for lives of NCCL's communicators: nccl.c makes and ends them, reuse.c keeps them. */
#ifndef FB_COLLECTIVES_COMMUNICATOR_NCCL_H
#define FB_COLLECTIVES_COMMUNICATOR_NCCL_H

#include "collectives/communicator/life.h"
#include "common/library/nccl/comm.h"

enum { FB_LIFE_BLOCKS = 8 }; /* of each communicator in `fragment`; even */
struct fb_life_nccl {
	fb_nccl_comm *comm;           /* [count * parts]; NULL: none, or not this rank's */
	fb_nccl_comm parent;          /* of those that are made from one; NULL: none */
	void **handle, **block;       /* [count * parts * FB_LIFE_BLOCKS]: registrations, memory */
	struct fb_gpu_stream *stream; /* of the calls; NULL: closed */
	unsigned long long random;
};

/* As the members of struct fb_life. */
int fb_life_nccl_begin(struct fb_life_context *c);
void fb_life_nccl_end(struct fb_life_context *c);
int fb_life_nccl_create(struct fb_life_context *c);
int fb_life_nccl_call(struct fb_life_context *c);
int fb_life_nccl_destroy(struct fb_life_context *c);

/* Opens own->stream. */
int fb_life_nccl_stream(struct fb_life_context *c, bool graph);

#endif
