/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records whose sums stay f32 until all sources are in (FB_GPU_WIDE, --accumulate f32): a template
 * without include guard, after lines.h. What follows the sums, an average's division, happens
 * before the one rounding, too.
 *
 * These are separate functions and no branch at each combination, so that usual records need no
 * more registers. For other records each function does nothing and returns false.
 */

#ifdef ACCUMULATES

struct NAME(wide) {
	COMPUTE e[NAME(PER_PACK)];
};

FB_DEVICE void NAME(wide_add)(uint32_t op, struct NAME(wide) *w, const union NAME(pack) *b,
			      bool first)
{
	FB_UNROLL
	for (int i = 0; i < NAME(PER_PACK); i++) {
		const COMPUTE x = w->e[i], y = WIDEN(b->e[i]);

		if (first)
			w->e[i] = y;
		else if (op == FB_SUM || op == FB_AVG)
			w->e[i] = ADD(x, y);
		else if (op == FB_PROD)
			w->e[i] = MULTIPLY(x, y);
		else if (op == FB_MIN)
			w->e[i] = x < y ? x : y;
		else
			w->e[i] = x > y ? x : y;
	}
}

FB_DEVICE void NAME(wide_end)(const struct fb_gpu_record *r, uint32_t nranks,
			      const struct NAME(wide) *w, union NAME(pack) *a)
{
	FB_UNROLL
	for (int i = 0; i < NAME(PER_PACK); i++) {
		const COMPUTE x = w->e[i];

		a->e[i] = NARROW(r->flags & FB_GPU_FINISH ? DIVIDE(x, nranks) : x);
	}
}

/* 16 bytes from byte `at` on. */
FB_DEVICE void NAME(wide_pack)(const uint64_t *address, const struct fb_gpu_record *r,
			       uint32_t op, uint32_t nranks, uint64_t at)
{
	union NAME(pack) b[NAME(AT_ONCE)], a;
	struct NAME(wide) w = {{0}};

	for (int s0 = 0; s0 < r->nsrc; s0 += NAME(AT_ONCE)) {
		FB_UNROLL
		for (int k = 0; k < NAME(AT_ONCE); k++)
			if (s0 + k < r->nsrc)
				NAME(load_odd)(address[s0 + k] + at, 0, 1, &b[k]);
		FB_UNROLL
		for (int k = 0; k < NAME(AT_ONCE); k++)
			if (s0 + k < r->nsrc)
				NAME(wide_add)(op, &w, &b[k], s0 + k == 0);
	}
	NAME(wide_end)(r, nranks, &w, &a);
	for (int d = r->nsrc; d < r->nsrc + r->ndst; d++)
		NAME(store_odd)(address[d] + at, &a);
}

/* The elements from byte `from` to byte `to`. */
FB_DEVICE void NAME(wide_ones)(const uint64_t *address, const struct fb_gpu_record *r,
			       uint32_t op, uint32_t nranks, uint64_t from, uint64_t to)
{
	const uint64_t width = sizeof(ELEMENT);

	for (uint64_t at = from + fb_thread() * width; at < to; at += fb_threads() * width) {
		union NAME(pack) a;
		struct NAME(wide) w = {{0}};

		a.halves[1] = 0;
		for (int s = 0; s < r->nsrc; s++) {
			NAME(load_one)(address[s] + at, &a);
			NAME(wide_add)(op, &w, &a, s == 0);
		}
		NAME(wide_end)(r, nranks, &w, &a);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++)
			NAME(store_one)(address[d] + at, &a);
	}
}

FB_DEVICE bool NAME(wide_bulk)(const uint64_t *address, const struct fb_gpu_record *r,
			       uint32_t op, uint32_t nranks)
{
	uint64_t head, end;

	if (!(r->flags & FB_GPU_WIDE))
		return false;
	if (!r->ndst)
		return true;
	head = ODD ? NAME(odd_head)(address, r) : 0;
	end = head + ((r->bytes - head) & ~(uint64_t)15);
	NAME(wide_ones)(address, r, op, nranks, 0, head);
	for (uint64_t at = head + (uint64_t)fb_thread() * 16; at < end;
	     at += (uint64_t)fb_threads() * 16)
		NAME(wide_pack)(address, r, op, nranks, at);
	NAME(wide_ones)(address, r, op, nranks, end, r->bytes);
	return true;
}

/* Line i of an end, as it is now. */
FB_DEVICE struct fb_words4 NAME(wide_load)(const struct fb_gpu_record *r,
					   const struct fb_gpu_end *e, uint64_t epoch, uint64_t i,
					   bool by_word)
{
	struct fb_words4 line;
	uint64_t own;

	if (e->is_slot)
		return fb_load_line(NAME(end_address)(e, epoch) + i * 16, by_word);
	own = NAME(load_half)(e->address + i * 8, r->bytes - i * 8);
	line.w[0] = (uint32_t)own;
	line.w[1] = line.w[3] = 0;
	line.w[2] = (uint32_t)(own >> 32);
	return line;
}

FB_DEVICE void NAME(wide_line)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
			       uint64_t epoch, uint32_t op, uint64_t i, bool by_word,
			       struct NAME(wide) *w)
{
	for (int s0 = 0; s0 < r->nsrc; s0 += NAME(AT_ONCE)) {
		struct fb_words4 line[NAME(AT_ONCE)];

		FB_UNROLL
		for (int k = 0; k < NAME(AT_ONCE); k++)
			if (s0 + k < r->nsrc)
				line[k] = NAME(wide_load)(r, ends + s0 + k, epoch, i, by_word);
		FB_UNROLL
		for (int k = 0; k < NAME(AT_ONCE); k++) {
			const struct fb_gpu_end *e = ends + s0 + k;
			union NAME(pack) b;

			if (s0 + k >= r->nsrc)
				break;
			while (e->is_slot &&
			       !NAME(has_flag)(&line[k],
					       (uint32_t)NAME(end_number)(e, epoch) + 1)) {
				fb_again();
				line[k] = NAME(wide_load)(r, e, epoch, i, by_word);
			}
			b.words.w[0] = line[k].w[0];
			b.words.w[1] = line[k].w[2];
			b.halves[1] = 0;
			NAME(wide_add)(op, w, &b, s0 + k == 0);
		}
	}
}

FB_DEVICE bool NAME(wide_ll)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
			     uint64_t epoch, uint32_t op, uint32_t nranks, bool by_word,
			     const struct NAME(crew) *crew)
{
	uint64_t lines = r->bytes ? (r->bytes + 7) / 8 : 1;

	if (!(r->flags & FB_GPU_WIDE))
		return false;
	for (uint64_t i = crew->thread; i < lines; i += crew->threads) {
		struct NAME(wide) w = {{0}};
		union NAME(pack) a;

		NAME(wide_line)(r, ends, epoch, op, i, by_word, &w);
		NAME(wide_end)(r, nranks, &w, &a);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++) {
			const struct fb_gpu_end *e = ends + d;
			uint32_t flag = (uint32_t)NAME(end_number)(e, epoch) + 1;
			struct fb_words4 line = {{a.words.w[0], flag, a.words.w[1], flag}};

			if (e->is_slot)
				fb_store_line(NAME(end_address)(e, epoch) + i * 16, line, by_word);
			else
				NAME(store_bytes)(e->address + i * 8, &a, r->bytes - i * 8, 8);
		}
	}
	return true;
}

/* This thread's part of a line, as soon as it has the flag; all threads of the warp take part. */
FB_DEVICE struct fb_words4 NAME(wide_await)(uint64_t address, uint64_t flag, bool active,
					    uint32_t lane)
{
	union NAME(pack) part;
	bool is = active && lane == NAME(GROUP) - 1, seen = false, counts;

	for (;;) {
		/* As in settle(): loaded at once, or behind a meeting that knew of the flag. */
		fb_sync_warp();
		counts = fb_load_part(address, lane, active, &part.words) || seen;
		seen = fb_is_flag(part.halves[1], flag);
		if (!fb_any(is && !(seen && counts)))
			return part.words;
		fb_again();
	}
}

/* The warp's threads stay together: `first` is the line of its first group. */
FB_DEVICE bool NAME(wide_ll128)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
				uint64_t epoch, uint32_t op, uint32_t nranks,
				const struct NAME(crew) *crew)
{
	uint32_t lane = crew->thread % NAME(GROUP), groups = crew->threads / NAME(GROUP);
	uint64_t lines = r->bytes ? (r->bytes + NAME(LINE_DATA) - 1) / NAME(LINE_DATA) : 1;
	uint64_t first = crew->thread / FB_WARP * (FB_WARP / NAME(GROUP));
	bool last = lane == NAME(GROUP) - 1;

	if (!(r->flags & FB_GPU_WIDE))
		return false;
	for (; first < lines; first += groups) {
		uint64_t i = first + crew->thread % FB_WARP / NAME(GROUP);
		uint64_t at = i * NAME(LINE_DATA) + lane * 16;
		uint64_t left = at < r->bytes ? r->bytes - at : 0;
		bool active = i < lines;
		const struct NAME(lines) l = {.first = i, .lines = lines, .lane = lane};
		union NAME(pack) a, b;
		struct NAME(wide) w = {{0}};

		left = last && left > 8 ? 8 : left;
		b.halves[0] = b.halves[1] = 0;
		for (int s = 0; s < r->nsrc; s++) {
			const struct fb_gpu_end *e = ends + s;

			if (e->is_slot)
				b.words = NAME(wide_await)(NAME(end_address)(e, epoch) + i * 128 +
								   lane * 16,
							   NAME(end_number)(e, epoch) + 1, active,
							   lane);
			else if (active && left)
				NAME(load_piece)(e->address + at, left, &b);
			NAME(wide_add)(op, &w, &b, s == 0);
		}
		NAME(wide_end)(r, nranks, &w, &a);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++) {
			const struct fb_gpu_end *e = ends + d;

			if (e->is_slot)
				NAME(put_slot)(&l, NAME(end_address)(e, epoch),
					       NAME(end_number)(e, epoch) + 1, &a, 1);
			else if (active)
				NAME(store_bytes)(e->address + at, &a, left, 16);
		}
	}
	return true;
}

#else

/* Types that are computed with as they are stored have no such records. */
FB_DEVICE bool NAME(wide_bulk)(const uint64_t *address, const struct fb_gpu_record *r,
			       uint32_t op, uint32_t nranks)
{
	(void)address;
	(void)r;
	(void)op;
	(void)nranks;
	return false;
}

FB_DEVICE bool NAME(wide_ll)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
			     uint64_t epoch, uint32_t op, uint32_t nranks, bool by_word,
			     const struct NAME(crew) *crew)
{
	(void)r;
	(void)ends;
	(void)epoch;
	(void)op;
	(void)nranks;
	(void)by_word;
	(void)crew;
	return false;
}

FB_DEVICE bool NAME(wide_ll128)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
				uint64_t epoch, uint32_t op, uint32_t nranks,
				const struct NAME(crew) *crew)
{
	return NAME(wide_ll)(r, ends, epoch, op, nranks, false, crew);
}

#endif
