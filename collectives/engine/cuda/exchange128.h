/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fused exchange by lines of protocol ll128: blocks of medium size to and from all peers at
 * once, and of two-shot all_reduce the sums in a second message. A template without include guard,
 * after lines128.h. Parameters: struct fb_gpu_exchange; blocks may differ in size. FB_GPU_ALIGNED
 * says that all of them begin at multiples of 8 bytes and have multiples of 8 bytes.
 *
 * A group of 8 threads has the same lines of all blocks in all of a call, so it overwrites only
 * what it has read itself. It sends its next line before it waits for the sum of this one, and
 * waits for the sums of other ranks behind its own next sum. So links are idle only at both ends of
 * a call.
 *
 * It cannot deadlock, however ranks divide the lines among groups. Take the first line whose sum is
 * missing on some rank. All that its group waits for before it belongs to earlier lines, whose sums
 * are there. The same holds for the groups that still have to send something for it.
 */

/* A thread's 16 bytes (the last of a group: 8) of a line. */
struct NAME(share) {
	uint32_t line, at; /* at: in a block */
	uint32_t lane;     /* in its group */
};

FB_DEVICE struct NAME(share) NAME(share_of)(uint32_t line)
{
	struct NAME(share) s;

	s.line = line;
	s.lane = fb_thread() % NAME(GROUP);
	s.at = line * NAME(LINE_DATA) + s.lane * 16;
	return s;
}

FB_DEVICE uint32_t NAME(lines_of)(uint32_t bytes)
{
	return bytes ? (bytes + NAME(LINE_DATA) - 1) / NAME(LINE_DATA) : 1;
}

/* Whether a block has the line: one without bytes has one. */
FB_DEVICE bool NAME(has_line)(const struct NAME(share) *s, uint32_t bytes)
{
	return !s->line || s->line * NAME(LINE_DATA) < bytes;
}

FB_DEVICE bool NAME(has_high)(const struct NAME(share) *s, uint32_t bytes)
{
	return s->lane < NAME(GROUP) - 1 && s->at + 8 < bytes;
}

/* What is not the block's is anything: loads without a condition keep the threads together. */
FB_DEVICE void NAME(load_share)(uint64_t block, uint32_t bytes, const struct NAME(share) *s,
				union NAME(pack) *to)
{
	uint32_t low = s->at < bytes ? s->at : 0;

	to->halves[0] = to->halves[1] = 0;
	if (!bytes)
		return;
	if (ODD) {
		NAME(load_piece)(block + low, bytes - low, to);
		return;
	}
	to->halves[0] = fb_load8(block + low);
	to->halves[1] = fb_load8(block + (NAME(has_high)(s, bytes) ? low + 8 : low));
}

FB_DEVICE void NAME(store_share)(uint64_t block, uint32_t bytes, const struct NAME(share) *s,
				 const union NAME(pack) *from)
{
	if (ODD) {
		uint32_t left = s->at < bytes ? bytes - s->at : 0;

		left = s->lane == NAME(GROUP) - 1 && left > 8 ? 8 : left;
		NAME(store_bytes)(block + s->at, from, left, 16);
		return;
	}
	if (s->at < bytes)
		NAME(store_bytes)(block + s->at, from, bytes - s->at, 8);
	if (NAME(has_high)(s, bytes))
		fb_store8(block + s->at + 8, from->halves[1]);
}

FB_DEVICE uint32_t NAME(slot_of)(const struct NAME(share) *s)
{
	return s->line * 128 + s->lane * 16;
}

/* One line into a slot of every peer that gets it; flags as in put_slot. `sums`: of one size. */
FB_DEVICE void NAME(push_shares)(const struct fb_gpu_exchange *x, const struct NAME(share) *s,
				 uint64_t offset, uint64_t flag, bool sums, uint32_t most,
				 union NAME(pack) *v)
{
	bool last = s->lane == NAME(GROUP) - 1;
	uint32_t apart = 0;

	offset += NAME(slot_of)(s);
	fb_sync_warp();
	FB_UNROLL
	for (uint32_t p = 0; p < most; p++) {
		bool active;

		if (p >= x->npeers)
			continue;
		active = NAME(has_line)(s, sums ? (uint32_t)x->bytes : x->peer[p].in_bytes);
		if (last)
			v[p].halves[1] = flag;
		if (!fb_store_part(x->peer[p].to + offset, v[p].words, s->lane, active))
			apart |= active ? 1u << p : 0;
	}
	if (!fb_any(apart != 0))
		return;
	FB_ROLLED
	for (int flags = 0; flags < 2; flags++) {
		FB_UNROLL
		for (uint32_t p = 0; p < most; p++)
			if (apart >> p & 1 && last == (flags != 0))
				fb_store_line(x->peer[p].to + offset, v[p].words, false);
		fb_order_warp();
	}
}

/*
 * One line of every peer that sends it, as soon as all are there; which flags count is said at
 * settle. `summands`: of one size.
 */
FB_DEVICE void NAME(take_shares)(const struct fb_gpu_exchange *x, const struct NAME(share) *s,
				 uint64_t offset, uint64_t flag, bool summands, uint32_t most,
				 union NAME(pack) *v)
{
	uint32_t wanted = 0, seen = 0;
	bool last = s->lane == NAME(GROUP) - 1;

	offset += NAME(slot_of)(s);
	FB_UNROLL
	for (uint32_t p = 0; p < most; p++)
		if (p < x->npeers && NAME(has_line)(s, summands ? (uint32_t)x->bytes
								: x->peer[p].out_bytes))
			wanted |= 1u << p;
	for (;;) {
		uint32_t whole = 0, now = 0;

		fb_sync_warp();
		FB_UNROLL
		for (uint32_t p = 0; p < most; p++)
			if (p < x->npeers &&
			    fb_load_part(x->peer[p].from + offset, s->lane, wanted >> p & 1,
					 &v[p].words))
				whole |= 1u << p;
		FB_UNROLL
		for (uint32_t p = 0; p < most; p++)
			if (p < x->npeers && fb_is_flag(v[p].halves[1], flag))
				now |= 1u << p;
		if (!fb_any(last && (wanted & ~(now & (whole | seen))) != 0))
			return;
		seen = now;
		fb_again();
	}
}

FB_DEVICE void NAME(send_shares)(const struct fb_gpu_exchange *x, const struct NAME(share) *s,
				 uint64_t offset, uint64_t flag, bool same, uint32_t most)
{
	union NAME(pack) v[FB_GPU_MOST_PEERS];

	FB_UNROLL
	for (uint32_t p = 0; p < most; p++) {
		if (p >= x->npeers)
			continue;
		if (same && p > 0)
			v[p] = v[0];
		else
			NAME(load_share)(x->peer[p].in, x->peer[p].in_bytes, s, &v[p]);
	}
	NAME(push_shares)(x, s, offset, flag, false, most, v);
}

/* The peers' lines go to their places, and the own one. */
FB_DEVICE void NAME(collect_shares)(const struct fb_gpu_exchange *x, const struct NAME(share) *s,
				    uint64_t offset, uint64_t flag, bool own, uint32_t most)
{
	uint32_t bytes = own ? (uint32_t)x->bytes : 0;
	union NAME(pack) v[FB_GPU_MOST_PEERS], mine;

	NAME(load_share)(x->own_in, bytes, s, &mine);
	NAME(take_shares)(x, s, offset, flag, false, most, v);
	NAME(store_share)(x->own_out, bytes, s, &mine);
	FB_UNROLL
	for (uint32_t p = 0; p < most; p++)
		if (p < x->npeers)
			NAME(store_share)(x->peer[p].out, x->peer[p].out_bytes, s, &v[p]);
}

#ifndef MOVE_ONLY

/* All ranks' lines are combined, in order of rank; the sum is kept, and a second message to all. */
FB_DEVICE void NAME(combine_shares)(const struct fb_gpu_exchange *x, const struct NAME(share) *s,
				    uint64_t offset, uint64_t flag, uint64_t next_offset,
				    uint32_t most)
{
	union NAME(pack) v[FB_GPU_MOST_PEERS], mine, sum, b;

	NAME(load_share)(x->own_in, (uint32_t)x->bytes, s, &mine);
	NAME(take_shares)(x, s, offset, flag, true, most, v);
	sum = x->rank ? v[0] : mine;
	FB_UNROLL
	for (uint32_t k = 1; k <= most; k++) {
		if (k > x->npeers)
			continue;
		b = v[k - 1];
		if (k == x->rank)
			b = mine;
		else if (k < x->rank && k < most)
			b = v[k];
		NAME(combine)(x->op, &sum, &b);
	}
	if (x->flags & FB_GPU_FINISH)
		NAME(finish)(&sum, x->nranks);
	if (x->per_call > 1) {
		FB_UNROLL
		for (uint32_t p = 0; p < most; p++)
			v[p] = sum;
		NAME(push_shares)(x, s, next_offset, flag + 1, true, most, v);
	}
	NAME(store_share)(x->own_out, (uint32_t)x->bytes, s, &sum);
}

#endif

/*
 * Lines of the longest block. Reads all parameters, so that they are fetched while the launch
 * before still runs.
 */
FB_DEVICE uint32_t NAME(count_lines)(const struct fb_gpu_exchange *x, uint32_t most)
{
	uint64_t all = x->own_in ^ x->own_out ^ x->op ^ x->stride;
	uint32_t longest = (uint32_t)x->bytes;

	FB_UNROLL
	for (uint32_t p = 0; p < most; p++) {
		const struct fb_gpu_exchange_peer *e = &x->peer[p];

		all ^= e->to ^ e->from ^ e->in ^ e->out;
		longest = e->in_bytes > longest ? e->in_bytes : longest;
		longest = e->out_bytes > longest ? e->out_bytes : longest;
	}
	fb_hold(&all);
	return NAME(lines_of)(longest);
}

/*
 * `same`, a constant of the caller's: all peers get the own block. `most`, another: there are no
 * more peers. Kernels for few have a fraction of the code, and calls by them take less time.
 */
FB_DEVICE void NAME(exchange_lines)(const struct fb_gpu_exchange *x, bool same, uint32_t most)
{
	uint64_t own = x->epochs + (uint64_t)fb_block() * FB_GPU_LINE, epoch, flag, offset[2];
	uint32_t each = FB_WARP / NAME(GROUP), warp = fb_thread() / FB_WARP;
	uint32_t step = fb_blocks() * (fb_threads() / FB_WARP) * each, passes = 0;
	uint32_t begin = (warp * fb_blocks() + fb_block()) * each, lines;
	uint32_t line = begin + fb_thread() % FB_WARP / NAME(GROUP);
	struct NAME(share) s;

	fb_let_next();
	lines = NAME(count_lines)(x, most);
	if (begin < lines)
		passes = (lines - begin + step - 1) / step;
	fb_await_last();
	epoch = fb_load_private(own);
	if (x->times && fb_thread() == 0 && fb_block() == 0)
		fb_store_private(x->times + (epoch & (FB_GPU_TIMES - 1)) * 8, fb_device_time());
	flag = epoch * x->per_call + 1;
	offset[0] = (epoch & 1) * x->per_call * x->stride;
	offset[1] = offset[0] + x->stride;
	FB_ROLLED
	for (uint32_t i = 0; i < passes + x->per_call; i++, line += step) {
		if (i < passes) {
			s = NAME(share_of)(line);
			NAME(send_shares)(x, &s, offset[0], flag, same, most);
		}
		if (i >= 1 && i <= passes) {
			s = NAME(share_of)(line - step);
#ifdef MOVE_ONLY
			NAME(collect_shares)(x, &s, offset[0], flag, x->own_out != 0, most);
#else
			NAME(combine_shares)(x, &s, offset[0], flag, offset[1], most);
#endif
		}
#ifndef MOVE_ONLY
		if (x->per_call > 1 && i >= 2) {
			s = NAME(share_of)(line - 2 * step);
			NAME(collect_shares)(x, &s, offset[1], flag + 1, false, most);
		}
#endif
	}
	fb_sync_block();
	if (fb_thread() == 0)
		fb_store_private(own, epoch + 1);
}
