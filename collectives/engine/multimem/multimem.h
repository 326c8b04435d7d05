/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code of engine multimem, above common/cuda/device.h and device_multimem.h or their
 * emulations. Not run on hardware.
 *
 * A call is: barrier, data, barrier. The first says that all ranks' inputs are there and their
 * outputs are free, the last that all outputs are there and no input is read any more. Block b of
 * a rank waits for block b of the others. That is enough at the beginning, as a kernel that has
 * begun has all of its stream behind it, and at the end, as a kernel ends with its last block.
 *
 * Memory order (PTX ISA, memory consistency model): when a block has stored and loaded, it
 * synchronises, and each posting thread executes fence.acq_rel.sys and a relaxed store at system
 * scope (fb_post). The block's barrier orders all its threads' accesses before the fence, which is
 * cumulative. Who waits loads with acquire at system scope, and then its block synchronises. So
 * causality is as in the other engines. One thing is new: ranks write by one address what others
 * read by another, the memory's own and the multimem address, and such aliases need a
 * fence.proxy.alias on the way from one to the other. Both sides execute it, before they post and
 * after they have waited, which is once more than the model asks for. The barrier at the beginning
 * needs it as well: that a kernel which wrote inputs has ended makes aliases agree only for kernels
 * that begin later, and those of the peers may have begun already. (NCCL 2.30 executes no such
 * fence around its multimem instructions.) The data's multimem instructions are relaxed at system
 * scope; without this they would be weak.
 */
#ifndef FB_COLLECTIVES_ENGINE_MULTIMEM_MULTIMEM_H
#define FB_COLLECTIVES_ENGINE_MULTIMEM_MULTIMEM_H

#include "collectives/engine/multimem/launch.h"
#include "common/cuda/device_copy.h"

enum { FB_MULTIMEM_UNROLL = 4 }; /* 16-byte loads of a thread that are under way at once */

FB_DEVICE void fb_multimem_barrier(const struct fb_multimem_launch *l, uint64_t number)
{
	uint64_t arrived = sizeof(uint64_t) * FB_MULTIMEM_MOST_BLOCKS +
			   sizeof(uint64_t) * FB_MULTIMEM_MOST_RANKS * (uint64_t)fb_block();

	fb_sync_block();
	for (uint32_t r = fb_thread(); r < l->ranks; r += fb_threads()) {
		fb_fence_alias();
		fb_post(l->flags[r] + arrived + sizeof(uint64_t) * l->rank, number);
	}
	for (uint32_t r = fb_thread(); r < l->ranks; r += fb_threads()) {
		while (!fb_is_reached(fb_load_counter(l->flags[l->rank] + arrived +
						      sizeof(uint64_t) * r), number))
			fb_again();
		fb_fence_alias();
	}
	fb_sync_block();
}

/* --- single elements, by plain loads and stores: what is no 16 bytes, or lies across them ---- */

union fb_multimem_float {
	uint32_t bits;
	float value;
};

FB_DEVICE float fb_multimem_load(uint64_t address, const enum fb_multimem_kind kind)
{
	union fb_multimem_float f;

	if (kind == FB_MULTIMEM_F32_SUM) {
		f.bits = fb_load4(address);
		return f.value;
	}
	return kind < FB_MULTIMEM_BF16_SUM ? FB_WIDEN_F16(fb_load2(address))
					   : FB_WIDEN_BF16(fb_load2(address));
}

FB_DEVICE float fb_multimem_combine(float x, float y, const enum fb_multimem_kind kind)
{
	if (kind == FB_MULTIMEM_F16_MIN || kind == FB_MULTIMEM_BF16_MIN)
		return x < y ? x : y;
	if (kind == FB_MULTIMEM_F16_MAX || kind == FB_MULTIMEM_BF16_MAX)
		return x > y ? x : y;
	return x + y;
}

FB_DEVICE void fb_multimem_store(uint64_t address, float x, const enum fb_multimem_kind kind)
{
	union fb_multimem_float f;

	f.value = x;
	if (kind == FB_MULTIMEM_F32_SUM)
		fb_store4(address, f.bits);
	else
		fb_store2(address, (uint16_t)(kind < FB_MULTIMEM_BF16_SUM ? FB_NARROW_F16(x)
									  : FB_NARROW_BF16(x)));
}

/* Sums are rounded once, as .acc::f32 does it. */
FB_DEVICE void fb_multimem_element(const struct fb_multimem_launch *l, uint64_t at,
				   const enum fb_multimem_kind kind)
{
	uint32_t first = l->all_out ? 0 : l->rank, end = l->all_out ? l->ranks : l->rank + 1;
	float sum = 0;

	if (kind == FB_MULTIMEM_MOVE) {
		for (uint32_t r = first; r < end; r++)
			fb_store1(l->out[r] + at, fb_load1(l->in[l->rank] + at));
		return;
	}
	for (uint32_t r = 0; r < l->ranks; r++) {
		float x = fb_multimem_load(l->in[r] + at, kind);

		sum = r ? fb_multimem_combine(sum, x, kind) : x;
	}
	for (uint32_t r = first; r < end; r++)
		fb_multimem_store(l->out[r] + at, sum, kind);
}

/* --- 16 bytes at once ------------------------------------------------------------------------ */

/* This rank's own side may lie across 16 bytes: `width` divides the address. */
FB_DEVICE struct fb_words4 fb_multimem_load_own(uint64_t address, uint32_t width)
{
	struct fb_words4 v;

	if (width == 16)
		return fb_load16(address);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t at = address + 4 * (uint64_t)i;

		if (width == 4)
			v.w[i] = fb_load4(at);
		else if (width == 2)
			v.w[i] = fb_load2(at) | (uint32_t)fb_load2(at + 2) << 16;
		else
			v.w[i] = fb_load1(at) | (uint32_t)fb_load1(at + 1) << 8 |
				 (uint32_t)fb_load1(at + 2) << 16 |
				 (uint32_t)fb_load1(at + 3) << 24;
	}
	return v;
}

/* Of reductions, whose elements have 2 bytes at least. */
FB_DEVICE void fb_multimem_store_own(uint64_t address, struct fb_words4 v, uint32_t width)
{
	if (width == 16) {
		fb_store16(address, v);
		return;
	}
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t at = address + 4 * (uint64_t)i;

		if (width == 4) {
			fb_store4(at, v.w[i]);
		} else {
			fb_store2(at, (uint16_t)v.w[i]);
			fb_store2(at + 2, (uint16_t)(v.w[i] >> 16));
		}
	}
}

FB_DEVICE void fb_multimem_packs(const struct fb_multimem_launch *l, uint64_t head, uint64_t packs,
				 const enum fb_multimem_kind kind)
{
	uint64_t team = (uint64_t)fb_blocks() * fb_threads();
	uint64_t from = l->all_in ? l->all_in : l->in[l->rank];
	uint64_t to = l->all_out ? l->all_out : l->out[l->rank];
	/* Of the two one is a multimem address; it is a multiple of 16. */
	uint64_t all = (from + head) | (to + head);
	uint32_t width = !(all & 15) ? 16 : !(all & 3) ? 4 : !(all & 1) ? 2 : 1;

	for (uint64_t i = (uint64_t)fb_block() * fb_threads() + fb_thread(); i < packs;
	     i += FB_MULTIMEM_UNROLL * team) {
		struct fb_words4 v[FB_MULTIMEM_UNROLL];

		FB_UNROLL
		for (uint32_t u = 0; u < FB_MULTIMEM_UNROLL; u++) {
			uint64_t at = head + 16 * (i + u * team);

			if (i + u * team >= packs)
				continue;
			v[u] = kind == FB_MULTIMEM_MOVE ? fb_multimem_load_own(from + at, width)
							: fb_multimem_load16(from + at, kind);
		}
		FB_UNROLL
		for (uint32_t u = 0; u < FB_MULTIMEM_UNROLL; u++) {
			uint64_t at = head + 16 * (i + u * team);

			if (i + u * team >= packs)
				continue;
			if (l->all_out)
				fb_multimem_store16(to + at, v[u]);
			else
				fb_multimem_store_own(to + at, v[u], width);
		}
	}
}

/* `kind` is a constant. */
FB_DEVICE void fb_multimem_run(const struct fb_multimem_launch *l,
			       const enum fb_multimem_kind kind)
{
	const uint64_t size = kind == FB_MULTIMEM_MOVE ? 1 : kind == FB_MULTIMEM_F32_SUM ? 4 : 2;
	uint64_t number_at = l->flags[l->rank] + sizeof(uint64_t) * (uint64_t)fb_block();
	uint64_t number = fb_load_private(number_at), team = (uint64_t)fb_blocks() * fb_threads();
	uint64_t first = (uint64_t)fb_block() * fb_threads() + fb_thread();
	uint64_t head = (0 - (l->all_in ? l->all_in : l->all_out)) & 15, packs, tail;

	/* Two multimem addresses that no shift makes multiples of 16 are left to elements. */
	if (head > l->bytes || (l->all_in && l->all_out && ((l->all_in ^ l->all_out) & 15)))
		head = l->bytes;
	packs = (l->bytes - head) / 16;
	tail = head + 16 * packs;
	fb_multimem_barrier(l, number + 1);
	for (uint64_t at = first * size; at < head; at += team * size)
		fb_multimem_element(l, at, kind);
	fb_multimem_packs(l, head, packs, kind);
	for (uint64_t at = tail + first * size; at < l->bytes; at += team * size)
		fb_multimem_element(l, at, kind);
	fb_multimem_barrier(l, number + 2);
	if (!fb_thread())
		fb_store_private(number_at, number + 2);
}

#endif
