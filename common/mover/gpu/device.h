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

/* A launch, except for the values of its notices and waits, which differ in each post. */
struct fb_gpu_launch {
	struct fb_move_launch kernel;
	const struct fb_transfer *transfer[FB_MOVE_MOST_WAYS]; /* [kernel.ways] */
	struct fb_gpu_table *table[FB_MOVE_MOST_WAYS];         /* NULL: a way without chunks */
	uint32_t blocks, most; /* most: the limit, which depends on local or remote memory */
	bool odd, bulk;
};

struct fb_gpu_launches {
	struct fb_gpu_launch *launch;
	uint32_t count;
};

/*
 * Local: makes launches that move n transfers as `leg` says. The transfers must outlive them.
 * buffer[n] has the buffers of FB_MOVE_GATHER and _SCATTER (0: the transfer is left out), or is
 * NULL. 0, FB_ENOMEM or FB_ESYS (printed), or FB_EUNSUPPORTED: more pieces than a kernel can count.
 * To be closed also after an error; closing is safe on zeroes.
 */
int fb_gpu_launches_open(struct fb_gpu_launches *l, struct fb_gpu_mover *m,
			 const struct fb_transfer *transfer, uint32_t n, enum fb_move_leg leg,
			 const uint64_t *buffer);
/* Form tma: marks the launches whose memory is all aligned for bulk copies. Returns how many. */
uint32_t fb_gpu_launches_bulk(struct fb_gpu_launches *l);
void fb_gpu_launches_close(struct fb_gpu_launches *l, struct fb_gpu_mover *m);

/* Enqueues them, behind waits for n notices, and counts the notices that they give. */
int fb_gpu_launches_enqueue(const struct fb_gpu_launches *l, struct fb_gpu_mover *m,
			    const struct fb_wait *wait, int n, cudaStream_t stream);

/* All moves of the movers between GPUs begin with this. */
struct fb_gpu_move {
	struct fb_move move;
	cudaEvent_t posted; /* recorded after the operations of the last post() */
};

/* As fb_move_new() and fb_move_free(), with the event; the memory is zeroed. */
int fb_gpu_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		    struct fb_move **move);
void fb_gpu_move_free(struct fb_move *move);

/* Reads the counters of the notice, `bytes` bytes, to m->seen. 0 or an error (printed). */
int fb_gpu_look(struct fb_gpu_mover *m, int from, int notice, size_t bytes);

#endif
