/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipes: every warp of a block moves its tiles of a long range through a few stages of shared
 * memory by bulk copies. While one tile is used and one is stored, the others are being loaded, so
 * that one block has up to its shared memory in flight. Above device_tma.h or its emulation.
 *
 * There are no barriers between warps within a move. The warp's first thread issues all copies. It
 * loads a stage again when the stores of its tile have read it. At the end of a move that thread
 * waits until its stores are complete, so that accesses after the block's next barrier come after
 * all stores of the block.
 */
#ifndef FB_COMMON_CUDA_DEVICE_PIPE_H
#define FB_COMMON_CUDA_DEVICE_PIPE_H

enum { FB_PIPE_STAGES = 4 };

/* The pipe of one warp: all of its threads hold the same values, except for `phases`. */
struct fb_pipe {
	unsigned char *stage; /* [FB_PIPE_STAGES][bytes] */
	uint64_t *full;       /* [FB_PIPE_STAGES] barriers of loads */
	uint32_t bytes;       /* of a stage */
	uint32_t phases;      /* bit s: the parity of stage s's current phase */
};

/* The ranges to move: sources, then destinations, all multiples of 16; tiles of `each` bytes. */
struct fb_tiles {
	const uint64_t *address; /* [nsrc + ndst] */
	uint32_t nsrc, ndst, each;
	uint64_t bytes;
	uint64_t first, step; /* offsets of the warp's tiles */
	uint32_t count;       /* of them */
};

/* Called by all threads of the block, once per launch; pool: `bytes` bytes of shared memory. */
FB_DEVICE void fb_pipe_open(struct fb_pipe *pipe, unsigned char *pool, uint32_t bytes)
{
	uint32_t warps = fb_threads() / FB_WARP, warp = fb_thread() / FB_WARP;
	uint32_t head = warps * FB_PIPE_STAGES * (uint32_t)sizeof(uint64_t);

	head = (head + FB_TMA_ALIGN - 1) / FB_TMA_ALIGN * FB_TMA_ALIGN;
	pipe->full = (uint64_t *)(void *)pool + (uint64_t)warp * FB_PIPE_STAGES;
	pipe->bytes = (bytes - head) / warps / FB_PIPE_STAGES / FB_TMA_ALIGN * FB_TMA_ALIGN;
	pipe->stage = pool + head + (uint64_t)warp * FB_PIPE_STAGES * pipe->bytes;
	pipe->phases = 0;
	for (uint32_t s = 0; fb_thread() % FB_WARP == 0 && s < FB_PIPE_STAGES; s++)
		fb_tma_begin(&pipe->full[s]);
	fb_tma_fence();
	fb_sync_warp();
}

/*
 * Cuts `bytes`, a multiple of 16, such that every warp gets two tiles if these are not shorter than
 * FB_TMA_USUAL. False if there are no bytes or sources, or stages are too small for the sources.
 */
FB_DEVICE bool fb_pipe_cut(const struct fb_pipe *pipe, struct fb_tiles *t)
{
	uint32_t warps = fb_threads() / FB_WARP, warp = fb_thread() / FB_WARP, tiles;
	uint32_t most = t->nsrc ? pipe->bytes / t->nsrc / 16 * 16 : 0;
	uint64_t fair = t->bytes / (2 * (uint64_t)warps) / 16 * 16;

	if (!most || !t->bytes)
		return false;
	t->each = fair < FB_TMA_USUAL ? FB_TMA_USUAL : fair < most ? (uint32_t)fair : most;
	t->each = t->each < most ? t->each : most;
	tiles = (uint32_t)((t->bytes + t->each - 1) / t->each);
	t->first = (uint64_t)warp * t->each;
	t->step = (uint64_t)warps * t->each;
	t->count = tiles > warp ? (tiles - warp + warps - 1) / warps : 0;
	return true;
}

FB_DEVICE uint32_t fb_pipe_length(const struct fb_tiles *t, uint32_t k)
{
	uint64_t left = t->bytes - t->first - k * t->step;

	return left < t->each ? (uint32_t)left : t->each;
}

FB_DEVICE unsigned char *fb_pipe_stage(const struct fb_pipe *pipe, uint32_t k)
{
	return pipe->stage + (uint64_t)(k % FB_PIPE_STAGES) * pipe->bytes;
}

/* Called by the warp's first thread: begins to load all sources of tile k. */
FB_DEVICE void fb_pipe_load(const struct fb_pipe *pipe, const struct fb_tiles *t, uint32_t k)
{
	uint64_t *full = &pipe->full[k % FB_PIPE_STAGES];
	uint32_t n = fb_pipe_length(t, k);

	fb_tma_expect(full, n * t->nsrc);
	for (uint32_t s = 0; s < t->nsrc; s++)
		fb_tma_load(fb_pipe_stage(pipe, k) + (uint64_t)s * t->each,
			    t->address[s] + t->first + k * t->step, n, full);
}

/* The first loads. All threads of the warp call it, after a barrier of the block. */
FB_DEVICE void fb_pipe_begin(const struct fb_pipe *pipe, const struct fb_tiles *t)
{
	if (fb_thread() % FB_WARP == 0) {
		fb_tma_fence();
		for (uint32_t k = 0; k < FB_PIPE_STAGES - 1 && k < t->count; k++)
			fb_pipe_load(pipe, t, k);
	}
	fb_sync_warp();
}

/* Called by all threads of the warp: waits until tile k is in its stage. */
FB_DEVICE void fb_pipe_await(struct fb_pipe *pipe, uint32_t k)
{
	uint32_t s = k % FB_PIPE_STAGES;

	fb_tma_await(&pipe->full[s], pipe->phases >> s & 1);
	pipe->phases ^= 1u << s;
}

/* Called by all threads of the warp: stores tile k, and loads a tile into the stage before it. */
FB_DEVICE void fb_pipe_store(const struct fb_pipe *pipe, const struct fb_tiles *t, uint32_t k)
{
	if (fb_thread() % FB_WARP == 0) {
		for (uint32_t d = t->nsrc; d < t->nsrc + t->ndst; d++)
			fb_tma_store(t->address[d] + t->first + k * t->step,
				     fb_pipe_stage(pipe, k), fb_pipe_length(t, k));
		fb_tma_commit();
		fb_tma_await_read();
		if (k + FB_PIPE_STAGES - 1 < t->count)
			fb_pipe_load(pipe, t, k + FB_PIPE_STAGES - 1);
	}
	fb_sync_warp();
}

/* Waits for all stores of the warp; after a barrier other threads may announce them. */
FB_DEVICE void fb_pipe_end(void)
{
	if (fb_thread() % FB_WARP == 0) {
		fb_tma_end();
		fb_tma_fence();
	}
	fb_sync_warp();
}

#endif
