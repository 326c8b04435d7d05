/* SPDX-License-Identifier: BSD-3-Clause */
/* Between copy_prepare.c, which makes moves of copy engines, and copy.c, which carries them out. */
#ifndef FB_COMMON_MOVER_GPU_COPY_H
#define FB_COMMON_MOVER_GPU_COPY_H

#include "common/mover/gpu/device.h"

enum fb_copy_form {
	FB_COPY_AUTO,
	FB_COPY_LOOP,
	FB_COPY_STRIDED,
	FB_COPY_BATCH,
	FB_COPY_GRAPH,
};

/* A copy of a transfer; `rows` 0: the whole transfer, by runs, since its repeats are no lines. */
struct fb_copy_strip {
	const struct fb_transfer *transfer;
	struct fb_move_strip strip;
};

struct fb_copy_move {
	struct fb_gpu_move move;
	enum fb_copy_form form; /* never AUTO: `chosen` in its place */
	bool chosen;
	uint64_t copies;	     /* of a post, if strided or batch */
	struct fb_copy_strip *strip; /* strided: [count] */
	const void **from; /* batch: [count] */
	void **to;
	size_t *bytes, count;
	cudaGraphExec_t graph;
};

struct fb_copy_ends {
	const char *from;
	char *to;
};

/* Where offsets of the two sides, without local_at and remote_at, lie. */
static inline struct fb_copy_ends fb_copy_ends_of(const struct fb_transfer *t, int rank,
						  uint64_t local, uint64_t remote)
{
	char *here = fb_transfer_local(t, rank) + t->local_at + local;
	char *there = fb_segment_part(t->remote->segment, t->peer) + t->remote_at + remote;

	return t->verb == FB_MOVE_GET ? (struct fb_copy_ends){there, here}
				      : (struct fb_copy_ends){here, there};
}

/* The copies of a post. */
int fb_copy_all(const struct fb_copy_move *c, cudaStream_t stream);

#endif
