/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code of engine cuda, above common/cuda/device.h or its emulation.
 *
 * Memory order. The threads of a block move their parts and then meet at a barrier. After it one
 * thread executes fence.acq_rel.sys and stores the block's counter, relaxed and at system scope
 * (fb_post). The barrier orders all threads' stores before the fence, and fences are cumulative. So
 * a thread that reads the counter by an acquiring load (fb_load_counter) sees all bytes, and so do
 * the threads that it then meets at a barrier. Protocol ll needs no fence: an aligned word of 4
 * bytes of data and a 4-byte flag is stored and loaded as a whole.
 *
 * One set of lines in each direction is enough for ll. A side sends message r + 1 only after all of
 * answer r has arrived, and the peer sent answer r after it had read all lines of message r.
 */
#ifndef FB_P2P_ENGINE_CUDA_MOVE_H
#define FB_P2P_ENGINE_CUDA_MOVE_H

#include "common/cuda/device_copy.h"
#include "p2p/engine/cuda/launch.h"

/* Moves all messages of all flows. The teams take them in turn. */
FB_DEVICE void fb_p2p_move_window(const struct fb_p2p_window *l)
{
	uint64_t thread = fb_block() * (uint64_t)fb_threads() + fb_thread();
	uint64_t threads = fb_blocks() * (uint64_t)fb_threads();
	uint64_t team = l->team == FB_P2P_WARP	 ? FB_WARP
			: l->team == FB_P2P_BLOCK ? fb_threads()
						  : threads;

	for (uint64_t m = thread / team; m < (uint64_t)l->window * l->nout; m += threads / team) {
		const struct fb_p2p_way *way = &l->out[m % l->nout];
		uint64_t offset = m / l->nout % l->regions * l->stride;

		fb_copy_aligned(way->from + offset, way->to + offset, l->bytes, thread % team,
				team);
	}
}

FB_DEVICE void fb_p2p_run_window(const struct fb_p2p_window *l)
{
	uint64_t own = l->epochs + 8 * (uint64_t)fb_block(), call = fb_load_private(own) + 1;

	fb_p2p_move_window(l);
	fb_sync_block();
	for (uint32_t f = fb_thread(); f < l->nout; f += fb_threads())
		if (l->out[f].counters)
			fb_post(l->out[f].counters + 8 * (uint64_t)fb_block(), call);
	/* Only the first block waits, and only for what peers do without waiting for it. */
	for (uint32_t f = 0; f < l->nin && fb_block() == 0; f++)
		fb_await_counters(l->in[f], l->in_blocks, call);
	fb_sync_block();
	if (fb_thread() == 0)
		fb_store_private(own, call);
}

/* --- ping-pong ------------------------------------------------------------------------------- */

FB_DEVICE void fb_p2p_send_direct(const struct fb_p2p_ping_pong *l, uint64_t number)
{
	fb_copy_aligned(l->from, l->to, l->bytes, fb_block() * (uint64_t)fb_threads() + fb_thread(),
		    fb_blocks() * (uint64_t)fb_threads());
	fb_sync_block();
	if (fb_thread() == 0)
		fb_post(l->out + 8 * (uint64_t)fb_block(), number);
}

/* A block answers only when the whole message has arrived, not only the part that it moves. */
FB_DEVICE void fb_p2p_direct_rounds(const struct fb_p2p_ping_pong *l, uint64_t before,
				    uint64_t *began)
{
	for (uint32_t r = 1; r <= l->rounds; r++) {
		if (l->first)
			fb_p2p_send_direct(l, before + r);
		fb_await_counters(l->in, fb_blocks(), before + r);
		if (!l->first)
			fb_p2p_send_direct(l, before + r);
		if (r == 1)
			*began = fb_device_time();
	}
}

/* 8 bytes of the message from byte 8 i on; bytes behind its end are 0. */
FB_DEVICE uint64_t fb_p2p_load_half(const struct fb_p2p_ping_pong *l, uint64_t i)
{
	uint64_t value = 0;

	if (8 * i + 8 <= l->bytes)
		return fb_load8(l->from + 8 * i);
	for (uint32_t b = 0; 8 * i + b < l->bytes; b++)
		value |= (uint64_t)fb_load1(l->from + 8 * i + b) << (8 * b);
	return value;
}

FB_DEVICE void fb_p2p_store_half(const struct fb_p2p_ping_pong *l, uint64_t i, uint64_t value)
{
	if (8 * i + 8 <= l->bytes) {
		fb_store8(l->landed + 8 * i, value);
		return;
	}
	for (uint32_t b = 0; 8 * i + b < l->bytes; b++)
		fb_store1(l->landed + 8 * i + b, (uint8_t)(value >> (8 * b)));
}

FB_DEVICE void fb_p2p_send_line(uint64_t address, uint32_t flag, uint64_t value)
{
	struct fb_words4 line;

	line.w[0] = (uint32_t)value;
	line.w[2] = (uint32_t)(value >> 32);
	line.w[1] = line.w[3] = flag;
	fb_store_line(address, line, false);
}

/* `mine` is the thread's first 8 bytes, which were loaded while it waited. */
FB_DEVICE void fb_p2p_send_lines(const struct fb_p2p_ping_pong *l, uint64_t lines, uint32_t flag,
				 uint64_t mine)
{
	for (uint64_t i = fb_thread(); i < lines; i += fb_threads()) {
		fb_p2p_send_line(l->out + 16 * i, flag, mine);
		if (i + fb_threads() < lines)
			mine = fb_p2p_load_half(l, i + fb_threads());
	}
}

/* The 8 bytes of a line, as soon as they are there. */
FB_DEVICE uint64_t fb_p2p_await_line(uint64_t address, uint32_t flag)
{
	struct fb_words4 line = fb_load_line(address, false);

	while (!fb_is_flag(line.w[1], flag) || !fb_is_flag(line.w[3], flag)) {
		fb_again();
		line = fb_load_line(address, false);
	}
	return line.w[0] | (uint64_t)line.w[2] << 32;
}

FB_DEVICE void fb_p2p_receive_lines(const struct fb_p2p_ping_pong *l, uint64_t lines,
				    uint32_t flag)
{
	for (uint64_t i = fb_thread(); i < lines; i += fb_threads())
		fb_p2p_store_half(l, i, fb_p2p_await_line(l->in + 16 * i, flag));
	fb_sync_block();
}

/* A thread's share of a message of one warp: 8 bytes, or the last 1 to 7 bytes, or nothing. */
struct fb_p2p_share {
	uint64_t from, landed, out, in;
	bool has, whole;
	bool alone; /* no other thread has any: the warp need not meet */
};

FB_DEVICE uint64_t fb_p2p_load_share(const struct fb_p2p_ping_pong *l, const struct fb_p2p_share *s)
{
	return s->whole ? fb_load8(s->from) : fb_p2p_load_half(l, fb_thread());
}

FB_DEVICE void fb_p2p_store_share(const struct fb_p2p_ping_pong *l, const struct fb_p2p_share *s,
				  uint64_t value)
{
	if (s->whole)
		fb_store8(s->landed, value);
	else
		fb_p2p_store_half(l, fb_thread(), value);
}

/* `mine` goes out, and is loaded anew while the answer is under way. */
FB_DEVICE void fb_p2p_begin_of_warp(const struct fb_p2p_ping_pong *l, const struct fb_p2p_share *s,
				    uint64_t mine, uint64_t before, uint64_t *began)
{
	uint64_t came = 0;

	for (uint32_t r = 1; r <= l->rounds; r++) {
		uint32_t flag = (uint32_t)(before + r);

		if (s->has) {
			fb_p2p_send_line(s->out, flag, mine);
			mine = fb_p2p_load_share(l, s);
			came = fb_p2p_await_line(s->in, flag);
		}
		if (!s->alone)
			fb_sync_warp();
		if (s->has)
			fb_p2p_store_share(l, s, came);
		if (r == 1)
			*began = fb_device_time();
	}
}

/* Sends the answer before it stores what has arrived: so the answer leaves 15 ns earlier. */
FB_DEVICE void fb_p2p_answer_of_warp(const struct fb_p2p_ping_pong *l, const struct fb_p2p_share *s,
				     uint64_t mine, uint64_t before, uint64_t *began)
{
	uint64_t came = 0;

	for (uint32_t r = 1; r <= l->rounds; r++) {
		uint32_t flag = (uint32_t)(before + r);

		if (s->has)
			came = fb_p2p_await_line(s->in, flag);
		if (!s->alone)
			fb_sync_warp();
		if (s->has) {
			fb_p2p_send_line(s->out, flag, mine);
			fb_p2p_store_share(l, s, came);
			mine = fb_p2p_load_share(l, s);
		}
		if (r == 1)
			*began = fb_device_time();
	}
}

/*
 * Ping-pong of messages of one warp, with a line for each thread. Only the warp has to synchronise,
 * not the block. It does so because in a ping-pong the answer follows the whole message. The data
 * would be right without it: the same thread has a line at both ends, and sends its next line after
 * it has read the last one. Each side has a loop of its own, and a message of a single line has
 * loops without synchronisation: on an H200 8 bytes take 0.62 us with these loops, and 0.71 us with
 * one loop for all cases.
 */
FB_DEVICE void fb_p2p_ll_rounds_of_warp(const struct fb_p2p_ping_pong *l, uint64_t lines,
					uint64_t before, bool alone, uint64_t *began)
{
	uint64_t at = 8 * (uint64_t)fb_thread(), mine;
	struct fb_p2p_share s = {
		.from = l->from + at, .landed = l->landed + at,
		.out = l->out + 2 * at, .in = l->in + 2 * at,
		.has = alone || fb_thread() < lines, .whole = at + 8 <= l->bytes, .alone = alone,
	};

	mine = s.has ? fb_p2p_load_share(l, &s) : 0;
	if (l->first)
		fb_p2p_begin_of_warp(l, &s, mine, before, began);
	else
		fb_p2p_answer_of_warp(l, &s, mine, before, began);
}

FB_DEVICE void fb_p2p_ll_rounds(const struct fb_p2p_ping_pong *l, uint64_t before,
				uint64_t *began)
{
	uint64_t lines = (l->bytes + 7) / 8, mine = 0;

	if (fb_threads() == FB_WARP && lines == 1) {
		if (fb_thread() == 0)
			fb_p2p_ll_rounds_of_warp(l, 1, before, true, began);
		return;
	}
	if (fb_threads() == FB_WARP && lines <= FB_WARP) {
		fb_p2p_ll_rounds_of_warp(l, lines, before, false, began);
		return;
	}
	if (fb_thread() < lines)
		mine = fb_p2p_load_half(l, fb_thread());
	for (uint32_t r = 1; r <= l->rounds; r++) {
		uint32_t flag = (uint32_t)(before + r);

		if (l->first)
			fb_p2p_send_lines(l, lines, flag, mine);
		/* What is sent next is loaded while the peer's message is under way. */
		if (fb_thread() < lines)
			mine = fb_p2p_load_half(l, fb_thread());
		fb_p2p_receive_lines(l, lines, flag);
		if (!l->first)
			fb_p2p_send_lines(l, lines, flag, mine);
		if (r == 1)
			*began = fb_device_time();
	}
}

FB_DEVICE void fb_p2p_run_ping_pong(const struct fb_p2p_ping_pong *l, bool ll)
{
	uint64_t own = l->epochs + 8 * (uint64_t)fb_block(), calls = fb_load_private(own);
	uint64_t before = calls * l->rounds, began = 0;

	if (ll)
		fb_p2p_ll_rounds(l, before, &began);
	else
		fb_p2p_direct_rounds(l, before, &began);
	fb_sync_block();
	if (fb_thread() != 0)
		return;
	if (fb_block() == 0)
		fb_store_private(l->times + 8 * (calls % FB_P2P_TIMES), fb_device_time() - began);
	fb_store_private(own, calls + 1);
}

#endif
