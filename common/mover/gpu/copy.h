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

/* A strip of a transfer; strip.rows 0: all of it, run by run, as repeats cannot be a dimension. */
struct fb_copy_strip {
	const struct fb_transfer *transfer;
	struct fb_move_strip strip;
};

struct fb_copy_move {
	struct fb_gpu_move move;
	enum fb_copy_form form; /* never AUTO */
	bool chosen;            /* form AUTO was asked for, and `form` chosen for it */
	uint64_t copies;	     /* calls or entries of a post, if strided or batch */
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

/* Source and target addresses; the offsets do not include local_at and remote_at. */
static inline struct fb_copy_ends fb_copy_ends_of(const struct fb_transfer *t, int rank,
						  uint64_t local, uint64_t remote)
{
	char *here = fb_transfer_local(t, rank) + t->local_at + local;
	char *there = fb_segment_part(t->remote->segment, t->peer) + t->remote_at + remote;

	return t->verb == FB_MOVE_GET ? (struct fb_copy_ends){there, here}
				      : (struct fb_copy_ends){here, there};
}

/* Enqueues the copies of a move, without waits and notices. */
int fb_copy_all(const struct fb_copy_move *c, cudaStream_t stream);

#endif
