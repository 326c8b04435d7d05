/* SPDX-License-Identifier: BSD-3-Clause */
/* What the movers between GPUs share: launches that carry out transfers, and posted moves. */
#ifndef FB_COMMON_MOVER_GPU_DEVICE_H
#define FB_COMMON_MOVER_GPU_DEVICE_H

#include <cuda_runtime_api.h>

#include "common/mover/gpu.h"
#include "common/mover/gpu_build.h"

/* A list of chunks in device memory, for all transfers that have the same pieces. */
struct fb_gpu_table {
	struct fb_gpu_table *next;
	const struct fb_piece *piece;
	uint64_t pieces, chunks;
	enum fb_move_leg leg;
	bool gets;
	int users;
	void *memory;
};

/* One launch, but for the values that it counts up to. */
struct fb_gpu_launch {
	struct fb_move_launch kernel;
	const struct fb_transfer *transfer[FB_MOVE_MOST_WAYS]; /* [kernel.ways] */
	struct fb_gpu_table *table[FB_MOVE_MOST_WAYS];         /* NULL: a way without chunks */
	uint32_t blocks, most; /* most: for what it touches */
	bool odd, bulk;
};

struct fb_gpu_launches {
	struct fb_gpu_launch *launch;
	uint32_t count;
};

/*
 * Local: launches for n transfers, which outlive them, as `leg` says; buffer[n] has what
 * FB_MOVE_GATHER and _SCATTER need (0: the transfer is left out), or is NULL. 0, FB_ENOMEM or
 * FB_ESYS (printed), or FB_EUNSUPPORTED: more pieces than a kernel counts. To be closed either way;
 * safe where zeroed.
 */
int fb_gpu_launches_open(struct fb_gpu_launches *l, struct fb_gpu_mover *m,
			 const struct fb_transfer *transfer, uint32_t n, enum fb_move_leg leg,
			 const uint64_t *buffer);
/* Form tma: has those by bulk copies of which all memory is aligned. How many these are. */
uint32_t fb_gpu_launches_bulk(struct fb_gpu_launches *l);
void fb_gpu_launches_close(struct fb_gpu_launches *l, struct fb_gpu_mover *m);

/* Enqueues them, behind waits for n notices, and counts the notices that they give. */
int fb_gpu_launches_enqueue(const struct fb_gpu_launches *l, struct fb_gpu_mover *m,
			    const struct fb_wait *wait, int n, cudaStream_t stream);

/* A move of the movers here begins with these. */
struct fb_gpu_move {
	struct fb_move move;
	cudaEvent_t posted; /* behind what the last post() enqueued */
};

/* As fb_move_new() and fb_move_free(), with the event; the memory is zeroed. */
int fb_gpu_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		    struct fb_move **move);
void fb_gpu_move_free(struct fb_move *move);

/* Copies counters of this rank's, of so many bytes, to m->seen. 0 or an error (printed). */
int fb_gpu_look(struct fb_gpu_mover *m, int from, int notice, size_t bytes);

#endif
