/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code of the movers between GPUs, above common/cuda/device.h or its emulation.
 *
 * A launch waits for its peers' counters, moves all chunks of all transfers, with neighbouring
 * teams working for different peers, and then stores counters at its peers. Memory order: when all
 * threads of a block have moved their chunks, each posting thread executes fence.acq_rel.sys and
 * stores counters of the block (fb_post); the block's barrier orders all threads' accesses before
 * the fence, and fences are cumulative. A waiting kernel acquires the counters of all blocks. So
 * the notices of a launch come after everything that the launch moved, including loads of a GET.
 * Bulk copies (form tma) are complete and fenced before that barrier (common/cuda/device_pipe.h).
 */
#ifndef FB_COMMON_MOVER_GPU_MOVE_H
#define FB_COMMON_MOVER_GPU_MOVE_H

#include "common/cuda/device_copy.h"
#include "common/cuda/device_pipe.h"
#include "common/mover/gpu/launch.h"

/* `odd` is a compile-time constant: any addresses; otherwise all are multiples of 16. */
FB_DEVICE void fb_move_bytes(uint64_t from, uint64_t to, uint64_t bytes, uint32_t lane,
			     uint32_t team, bool odd)
{
	if (odd && ((from | to) & 15))
		fb_copy_any(from, to, bytes, lane, team);
	else
		fb_copy_aligned(from, to, bytes, lane, team);
}

/* Chunk number `i` of a repeat; false: there is none. */
FB_DEVICE bool fb_move_find(const struct fb_move_way *way, uint32_t repeat, uint32_t i,
			    struct fb_move_chunk *chunk)
{
	uint64_t from = way->from + repeat * way->from_step;
	uint64_t to = way->to + repeat * way->to_step;
	uint64_t at = way->chunk + i * (uint64_t)sizeof(struct fb_move_chunk), bytes;

	if (repeat >= way->repeats)
		return false;
	if (!way->chunk) {
		uint64_t offset = i * (uint64_t)FB_MOVE_CHUNK;

		if (offset >= way->bytes)
			return false;
		bytes = way->bytes - offset;
		chunk->from = from + offset;
		chunk->to = to + offset;
		chunk->bytes = bytes < FB_MOVE_CHUNK ? bytes : FB_MOVE_CHUNK;
		return true;
	}
	if (i >= way->chunks)
		return false;
	chunk->from = from + fb_load_private(at);
	chunk->to = to + fb_load_private(at + 8);
	chunk->bytes = fb_load_private(at + 16);
	return true;
}

/* Stores this block's counters: of all l->counters every fb_blocks()-th one. */
FB_DEVICE void fb_move_post(const struct fb_move_launch *l)
{
	uint32_t own = (l->counters - fb_block() + fb_blocks() - 1) / fb_blocks();

	for (uint32_t i = fb_thread(); i < l->ways * own; i += fb_threads()) {
		const struct fb_move_way *way = &l->way[i / own];

		if (way->post)
			fb_post(way->post + 8 * (uint64_t)(fb_block() + i % own * fb_blocks()),
				way->post_value);
	}
}

FB_DEVICE void fb_move_run(const struct fb_move_launch *l, bool odd)
{
	uint32_t thread = fb_block() * fb_threads() + fb_thread();
	uint32_t teams = fb_blocks() * fb_threads() / l->team;
	uint32_t all = l->ways * l->chunks * l->repeats;

	for (uint32_t w = 0; w < l->waits; w++)
		fb_await_counters(l->wait[w].counters, l->counters, l->wait[w].value);
	for (uint32_t m = thread / l->team; m < all; m += teams) {
		uint32_t rest = m / l->ways;
		struct fb_move_chunk c;

		if (fb_move_find(&l->way[m % l->ways], rest / l->chunks, rest % l->chunks, &c))
			fb_move_bytes(c.from, c.to, c.bytes, thread % l->team, l->team, odd);
	}
	fb_sync_block();
	if (fb_block() < l->counters)
		fb_move_post(l);
}

/* --- by bulk copies --------------------------------------------------------------------------- */

/* A warp's tile: `bulk` bytes of a chunk in a stage, and `rest` bytes that threads move. */
struct fb_move_tile {
	uint64_t from, to;
	uint32_t bulk, rest;
};

/*
 * Begins to load tile number m of the launch; a tile is at most as long as a stage. All threads of
 * the warp call it.
 */
FB_DEVICE void fb_move_load(const struct fb_move_launch *l, const struct fb_pipe *pipe, uint32_t k,
			    uint64_t m, struct fb_move_tile *tile)
{
	uint32_t parts = (FB_MOVE_CHUNK + pipe->bytes - 1) / pipe->bytes;
	uint64_t offset = m % parts * pipe->bytes, way = m / parts % l->ways;
	uint64_t rest = m / parts / l->ways, left;
	uint64_t *full = &pipe->full[k % FB_PIPE_STAGES];
	struct fb_move_chunk c;

	*tile = (struct fb_move_tile){0, 0, 0, 0};
	if (fb_move_find(&l->way[way], (uint32_t)(rest / l->chunks), (uint32_t)(rest % l->chunks),
			 &c) &&
	    offset < c.bytes) {
		left = c.bytes - offset;
		left = left < pipe->bytes ? left : pipe->bytes;
		tile->from = c.from + offset;
		tile->to = c.to + offset;
		tile->bulk = c.bytes < FB_MOVE_BULK_LEAST ? 0 : (uint32_t)left / 16 * 16;
		tile->rest = (uint32_t)left - tile->bulk;
	}
	if (fb_thread() % FB_WARP)
		return;
	fb_tma_expect(full, tile->bulk);
	if (tile->bulk)
		fb_tma_load(fb_pipe_stage(pipe, k), tile->from, tile->bulk, full);
}

/* Stores the loaded bytes, and the threads move the rest. */
FB_DEVICE void fb_move_store(const struct fb_pipe *pipe, uint32_t k,
			     const struct fb_move_tile *tile)
{
	if (fb_thread() % FB_WARP == 0) {
		if (tile->bulk)
			fb_tma_store(tile->to, fb_pipe_stage(pipe, k), tile->bulk);
		fb_tma_commit();
		fb_tma_await_read();
	}
	fb_copy_aligned(tile->from + tile->bulk, tile->to + tile->bulk, tile->rest,
			fb_thread() % FB_WARP, FB_WARP);
	fb_sync_warp();
}

/* As fb_move_run of aligned memory; pool: shared memory of that many bytes. */
FB_DEVICE void fb_move_run_bulk(const struct fb_move_launch *l, unsigned char *pool,
				uint32_t pool_bytes)
{
	uint32_t own = fb_threads() / FB_WARP, ahead = FB_PIPE_STAGES - 1, count = 0;
	uint64_t m = (uint64_t)fb_block() * own + fb_thread() / FB_WARP;
	uint64_t warps = (uint64_t)fb_blocks() * own, all;
	struct fb_move_tile tile[FB_PIPE_STAGES];
	struct fb_pipe pipe;

	fb_pipe_open(&pipe, pool, pool_bytes);
	all = (uint64_t)l->ways * l->chunks * l->repeats *
	      ((FB_MOVE_CHUNK + pipe.bytes - 1) / pipe.bytes);
	for (uint32_t w = 0; w < l->waits; w++)
		fb_await_counters(l->wait[w].counters, l->counters, l->wait[w].value);
	fb_tma_fence();
	if (m < all)
		count = (uint32_t)((all - m + warps - 1) / warps);
	FB_UNROLL
	for (uint32_t k = 0; k < FB_PIPE_STAGES - 1; k++)
		if (k < count)
			fb_move_load(l, &pipe, k, m + k * warps, &tile[k]);
	FB_ROLLED
	for (uint32_t k = 0; k < count; k++) {
		fb_pipe_await(&pipe, k);
		fb_move_store(&pipe, k, &tile[k % FB_PIPE_STAGES]);
		if (k + ahead < count)
			fb_move_load(l, &pipe, k + ahead, m + (k + ahead) * warps,
				     &tile[(k + ahead) % FB_PIPE_STAGES]);
	}
	fb_pipe_end();
	fb_sync_block();
	if (fb_block() < l->counters)
		fb_move_post(l);
}

#endif
