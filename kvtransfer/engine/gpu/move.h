/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code of the KV transfer engines, above collectives/engine/cuda/device.h or its emulation.
 *
 * A launch waits for its peers' counters, moves all pieces of all pairs, dealt out such that
 * neighbouring teams work for different peers, and counts at its peers. Memory order is that of
 * p2p/engine/cuda/move.h: each block posts a counter of its own behind a fence, when all its
 * threads have stored; who waits acquires the counters of all blocks.
 */
#ifndef FB_KVTRANSFER_ENGINE_GPU_MOVE_H
#define FB_KVTRANSFER_ENGINE_GPU_MOVE_H

#include "kvtransfer/engine/gpu/launch.h"
#include "p2p/engine/cuda/move.h"

/* Piece number `i` of a region, by one of `team` threads, number `lane`. */
FB_DEVICE void fb_kv_move_piece(const struct fb_kv_launch *l, const struct fb_kv_way *way,
				uint32_t region, uint32_t i, uint32_t lane)
{
	uint64_t from = way->from + region * way->from_stride;
	uint64_t to = way->to + region * way->to_stride, at = way->piece + i * (uint64_t)32;
	uint64_t bytes;

	if (!way->piece) {
		uint64_t offset = i * (uint64_t)FB_KV_PIECE;

		if (offset >= way->bytes)
			return;
		bytes = way->bytes - offset;
		fb_p2p_copy(from + offset, to + offset, bytes < FB_KV_PIECE ? bytes : FB_KV_PIECE,
			    lane, l->team);
		return;
	}
	if (i >= way->pieces)
		return;
	from += fb_load_private(at + (l->from_packed ? 16 : 0));
	to += fb_load_private(at + (l->to_packed ? 16 : 8));
	fb_p2p_copy(from, to, fb_load_private(at + 24), lane, l->team);
}

FB_DEVICE void fb_kv_run_launch(const struct fb_kv_launch *l)
{
	uint32_t thread = fb_block() * fb_threads() + fb_thread();
	uint32_t teams = fb_blocks() * fb_threads() / l->team;
	uint32_t all = l->ways * l->pieces * l->regions;

	for (uint32_t w = 0; w < l->ways; w++)
		if (l->way[w].await)
			fb_p2p_await(l->way[w].await, l->await_blocks, l->await_value);
	for (uint32_t m = thread / l->team; m < all; m += teams) {
		uint32_t rest = m / l->ways;

		fb_kv_move_piece(l, &l->way[m % l->ways], rest / l->pieces, rest % l->pieces,
				 thread % l->team);
	}
	fb_sync_block();
	for (uint32_t i = fb_thread(); i < l->ways * l->posts; i += fb_threads()) {
		const struct fb_kv_way *way = &l->way[i / l->posts];

		if (way->post)
			fb_post(way->post + 8 * (uint64_t)(fb_block() + i % l->posts),
				l->post_value);
	}
}

#endif
