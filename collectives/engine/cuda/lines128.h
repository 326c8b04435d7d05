/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving bytes of protocol ll128: a template without include guard, after lines.h. */

enum {
	NAME(GROUP) = 8,
	NAME(LINE_DATA) = 120,
	NAME(LINES) = 4, /* of one source that a thread has under way */
};

/* What a thread works on: lines first + u * groups, of which it has 16 bytes each. */
struct NAME(lines) {
	uint64_t first, lines, groups;
	uint32_t lane; /* in its group */
};

/*
 * The functions below have `n`, the lines under way, as a constant: 1, or LINES of them, which
 * then are whole.
 */

FB_DEVICE bool NAME(is_line)(const struct NAME(lines) *l, int u)
{
	return l->first + (uint64_t)u * l->groups < l->lines;
}

/* Where this thread's part of line u is, in own memory: from the message's begin. */
FB_DEVICE uint64_t NAME(own_offset)(const struct NAME(lines) *l, int u)
{
	return (l->first + (uint64_t)u * l->groups) * NAME(LINE_DATA) + l->lane * 16;
}

FB_DEVICE uint64_t NAME(slot_offset)(const struct NAME(lines) *l, int u)
{
	return (l->first + (uint64_t)u * l->groups) * 128 + l->lane * 16;
}

/* Bytes of a single line that are this thread's. */
FB_DEVICE uint64_t NAME(share_of_line)(const struct NAME(lines) *l, uint64_t bytes)
{
	uint64_t at = NAME(own_offset)(l, 0), left = at < bytes ? bytes - at : 0;

	return l->lane == NAME(GROUP) - 1 && left > 8 ? 8 : left;
}

/* Loads the lines of a slot, after a meeting; bit u: all of line u at once. */
FB_DEVICE uint32_t NAME(load_lines)(const struct NAME(lines) *l, uint64_t slot,
				    union NAME(pack) *to, int n)
{
	uint32_t whole = 0;

	fb_sync_warp();
	FB_UNROLL
	for (int u = 0; u < n; u++)
		whole |= fb_load_part(slot + NAME(slot_offset)(l, u), l->lane, NAME(is_line)(l, u),
				      &to[u].words) ? 1u << u : 0;
	return whole;
}

/* Looks at the lines of a source, be they there or not. Returns what load_lines says. */
FB_DEVICE uint32_t NAME(look)(const struct NAME(lines) *l, const struct fb_gpu_end *e,
			      uint64_t epoch, uint64_t bytes, union NAME(pack) *to, int n)
{
	bool last = l->lane == NAME(GROUP) - 1;

	if (e->is_slot)
		return NAME(load_lines)(l, NAME(end_address)(e, epoch), to, n);
	FB_UNROLL
	for (int u = 0; u < n; u++) {
		uint64_t address = e->address + NAME(own_offset)(l, u), left;

		if (!NAME(is_line)(l, u))
			continue;
		left = n == 1 ? NAME(share_of_line)(l, bytes) : last ? 8 : 16;
		if (left)
			NAME(load_piece)(address, left, &to[u]);
	}
	return 0;
}

/*
 * Looks again until all lines have the flag; all threads of the warp take part. A flag counts if
 * its line was loaded at once, or if it was there already when the warp met last: what the others
 * have loaded since is then at least as new.
 */
FB_DEVICE void NAME(settle)(const struct NAME(lines) *l, const struct fb_gpu_end *e,
			    uint64_t epoch, uint32_t counts, union NAME(pack) *to, int n)
{
	uint64_t flag = NAME(end_number)(e, epoch) + 1;

	if (!e->is_slot)
		return;
	for (;;) {
		uint32_t seen = 0, wanted = 0;

		FB_UNROLL
		for (int u = 0; u < n; u++) {
			wanted |= NAME(is_line)(l, u) ? 1u << u : 0;
			seen |= fb_is_flag(to[u].halves[1], flag) ? 1u << u : 0;
		}
		if (!fb_any(l->lane == NAME(GROUP) - 1 && (wanted & ~(seen & counts))))
			return;
		fb_again();
		counts = seen | NAME(load_lines)(l, NAME(end_address)(e, epoch), to, n);
	}
}

/* Stores lines into a slot; the last thread's upper half becomes the flag. */
FB_DEVICE void NAME(put_slot)(const struct NAME(lines) *l, uint64_t slot, uint64_t flag,
			      union NAME(pack) *a, int n)
{
	bool last = l->lane == NAME(GROUP) - 1;
	uint32_t apart = 0;

	fb_sync_warp();
	FB_UNROLL
	for (int u = 0; u < n; u++) {
		if (last)
			a[u].halves[1] = flag;
		if (!fb_store_part(slot + NAME(slot_offset)(l, u), a[u].words, l->lane,
				   NAME(is_line)(l, u)))
			apart |= NAME(is_line)(l, u) ? 1u << u : 0;
	}
	if (!fb_any(apart != 0))
		return;
	for (int flags = 0; flags < 2; flags++) {
		FB_UNROLL
		for (int u = 0; u < n; u++)
			if (apart >> u & 1 && last == (flags != 0))
				fb_store_line(slot + NAME(slot_offset)(l, u), a[u].words, false);
		fb_order_warp();
	}
}

FB_DEVICE void NAME(put_lines)(const struct NAME(lines) *l, const struct fb_gpu_end *e,
			       uint64_t epoch, uint64_t bytes, union NAME(pack) *a, int n)
{
	bool last = l->lane == NAME(GROUP) - 1;

	if (e->is_slot) {
		NAME(put_slot)(l, NAME(end_address)(e, epoch), NAME(end_number)(e, epoch) + 1, a,
			       n);
		return;
	}
	FB_UNROLL
	for (int u = 0; u < n; u++) {
		uint64_t address = e->address + NAME(own_offset)(l, u);
		uint64_t left = n == 1 ? NAME(share_of_line)(l, bytes) : last ? 8 : 16;

		if (NAME(is_line)(l, u))
			NAME(store_bytes)(address, &a[u], left, 16);
	}
}

/* Reduces the sources, two of which are under way at first. */
FB_DEVICE void NAME(gather_lines)(const struct NAME(lines) *l, const struct fb_gpu_record *r,
				  const struct fb_gpu_end *ends, uint64_t epoch, uint32_t op,
				  union NAME(pack) *a, int n)
{
	union NAME(pack) b[NAME(LINES)];
	uint32_t first, whole = 0;

	if (!r->nsrc)
		return;
	first = NAME(look)(l, ends, epoch, r->bytes, a, n);
	FB_ROLLED
	for (int s = 1;; s++) {
		if (s < r->nsrc)
			whole = NAME(look)(l, ends + s, epoch, r->bytes, b, n);
		if (s == 1)
			NAME(settle)(l, ends, epoch, first, a, n);
		if (s >= r->nsrc)
			return;
		NAME(settle)(l, ends + s, epoch, whole, b, n);
		FB_UNROLL
		for (int u = 0; u < n; u++)
			NAME(combine)(op, &a[u], &b[u]);
	}
}

/* One pass of the block's threads. */
FB_DEVICE void NAME(ll128_pass)(const struct NAME(lines) *l, const struct fb_gpu_record *r,
				const struct fb_gpu_end *ends, uint64_t epoch, uint32_t op,
				uint32_t nranks, int n)
{
	union NAME(pack) a[NAME(LINES)];

	FB_UNROLL
	for (int u = 0; u < n; u++)
		a[u].halves[0] = a[u].halves[1] = 0;
	NAME(gather_lines)(l, r, ends, epoch, op, a, n);
	if (r->flags & FB_GPU_FINISH) {
		FB_UNROLL
		for (int u = 0; u < n; u++)
			NAME(finish)(&a[u], nranks);
	}
	FB_ROLLED
	for (int d = r->nsrc; d < r->nsrc + r->ndst; d++)
		NAME(put_lines)(l, ends + d, epoch, r->bytes, a, n);
}

/*
 * Whole lines by passes of several for each group of threads, where there are that many; the
 * others one by one, at the end a last line that these passes left out since it is not whole.
 */
FB_DEVICE void NAME(ll128_move)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
				uint64_t epoch, uint32_t op, uint32_t nranks,
				const struct NAME(crew) *crew)
{
	enum { TOGETHER = FB_WARP / NAME(GROUP) }; /* groups of a warp, which stay together */
	uint32_t groups = crew->threads / NAME(GROUP), warp = crew->thread / FB_WARP;
	uint32_t group = crew->thread % FB_WARP / NAME(GROUP);
	uint32_t whole = (uint32_t)(r->bytes / NAME(LINE_DATA)), begin = warp * TOGETHER;
	uint32_t all = r->bytes > (uint64_t)whole * NAME(LINE_DATA) || !whole ? whole + 1 : whole;
	struct NAME(lines) l = {.lines = whole, .groups = groups,
				.lane = crew->thread % NAME(GROUP)};
	bool left_out;

	if (!r->ndst && !r->nsrc)
		return;
	for (; begin + groups < whole; begin += NAME(LINES) * groups) {
		l.first = begin + group;
		NAME(ll128_pass)(&l, r, ends, epoch, op, nranks, NAME(LINES));
	}
	left_out = whole < all && whole < begin && whole % groups / TOGETHER == warp;
	l.lines = all;
	while (begin < all || left_out) {
		if (begin < all) {
			l.first = begin + group;
			begin += groups;
		} else {
			l.first = whole % groups % TOGETHER == group ? whole : all;
			left_out = false;
		}
		NAME(ll128_pass)(&l, r, ends, epoch, op, nranks, 1);
	}
}
