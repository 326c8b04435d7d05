/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records while they are made: what build.c says about a step, joined and written out by draft.c.
 * Internal to collectives/engine/cuda.
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_DRAFT_H
#define FB_COLLECTIVES_ENGINE_CUDA_DRAFT_H

#include "collectives/engine/cuda/build.h"

struct fb_gpu_draft {
	uint64_t bytes;
	uint32_t flags;
	bool late; /* the sources have to be waited for */
	int nsrc, ndst, nwait, npost;
	struct fb_gpu_end src[FB_GPU_MOST_ENDS], dst[FB_GPU_MOST_ENDS];
	struct fb_gpu_counter waits[FB_GPU_MOST_ENDS], posts[FB_GPU_MOST_ENDS];
};

/* A lane being built. */
struct fb_gpu_builder {
	const struct fb_gpu_view *view;
	struct fb_gpu_table *table;
	int channel, lane;
	uint64_t slice;
	/* In this call so far. done: by in-link [0] or out-link [1]; pushed: by out-link. */
	uint64_t *done[2], *pulled, *pushed, *credited;
	bool *awaited; /* [steps of the lane]: another lane waits for it */
	struct fb_gpu_draft draft, posts, pending;
	bool has_pending;
	size_t last;   /* offset of the record written last */
};

int fb_gpu_builder_open(struct fb_gpu_builder *b, const struct fb_gpu_view *view, int channel,
			int lane, struct fb_gpu_table *table);
void fb_gpu_builder_close(struct fb_gpu_builder *b);

void fb_gpu_draft_clear(struct fb_gpu_draft *d);
/* Counters already there are raised to the larger number; what does not fit is noticed later. */
void fb_gpu_draft_wait(struct fb_gpu_draft *d, struct fb_gpu_counter wait);
void fb_gpu_draft_post(struct fb_gpu_draft *d, struct fb_gpu_counter post);
void fb_gpu_draft_end(struct fb_gpu_draft *d, bool out, struct fb_gpu_end end);

/* Adds the draft behind all before; 0, FB_ENOMEM or FB_EPLAN (printed). */
int fb_gpu_add(struct fb_gpu_builder *b, const struct fb_gpu_draft *d);
/* Writes out what was held back. */
int fb_gpu_flush(struct fb_gpu_builder *b);

/*
 * Decides, for a block's finished records in a line protocol, which are done side by side, and
 * before which the threads meet (batch.c). 0 or FB_ENOMEM.
 */
int fb_gpu_batch(const struct fb_gpu_view *view, struct fb_gpu_table *table,
		 const struct fb_gpu_block *block);

#endif
