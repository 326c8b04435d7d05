/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code of the movers between GPUs, above common/cuda/device.h or its emulation.
 *
 * A launch waits for its peers' counters, moves all chunks of all transfers, dealt out such that
 * neighbouring teams work for different peers, and counts at its peers. Memory order: when all
 * threads of a block have stored and loaded, each posting thread executes fence.acq_rel.sys and
 * stores counters of its block's (fb_post); the barrier orders all threads' accesses before the
 * fence, and fences are cumulative. Who waits acquires the counters of all blocks. So notices of a
 * launch come behind all that the launch moved, loads of a GET included.
 */
#ifndef FB_COMMON_MOVER_GPU_MOVE_H
#define FB_COMMON_MOVER_GPU_MOVE_H

#include "common/cuda/device_copy.h"
#include "common/mover/gpu/launch.h"

/* `odd`, a constant: addresses may be any; otherwise all are multiples of 16. */
FB_DEVICE void fb_move_bytes(uint64_t from, uint64_t to, uint64_t bytes, uint32_t lane,
			     uint32_t team, bool odd)
{
	if (odd && ((from | to) & 15))
		fb_copy_any(from, to, bytes, lane, team);
	else
		fb_copy_aligned(from, to, bytes, lane, team);
}

/* Chunk number `i` of a repeat, by one of `team` threads, number `lane`. */
FB_DEVICE void fb_move_chunk(const struct fb_move_way *way, uint32_t repeat, uint32_t i,
			     uint32_t lane, uint32_t team, bool odd)
{
	uint64_t from = way->from + repeat * way->from_step;
	uint64_t to = way->to + repeat * way->to_step;
	uint64_t at = way->chunk + i * (uint64_t)sizeof(struct fb_move_chunk), bytes;

	if (!way->chunk) {
		uint64_t offset = i * (uint64_t)FB_MOVE_CHUNK;

		if (offset >= way->bytes || repeat >= way->repeats)
			return;
		bytes = way->bytes - offset;
		fb_move_bytes(from + offset, to + offset,
			      bytes < FB_MOVE_CHUNK ? bytes : FB_MOVE_CHUNK, lane, team, odd);
		return;
	}
	if (i >= way->chunks || repeat >= way->repeats)
		return;
	from += fb_load_private(at);
	to += fb_load_private(at + 8);
	fb_move_bytes(from, to, fb_load_private(at + 16), lane, team, odd);
}

/* Counters that this block posts: every one of as many as there are blocks. */
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

		fb_move_chunk(&l->way[m % l->ways], rest / l->chunks, rest % l->chunks,
			      thread % l->team, l->team, odd);
	}
	fb_sync_block();
	if (fb_block() < l->counters)
		fb_move_post(l);
}

#endif
