/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes of protocols simple and direct: a template without include guard, after unaligned.h.
 *
 * Every thread has several 16-byte loads under way before it uses the first, of two sources at a
 * time. The includer defines BULK_UNROLL, the loads of one source that are under way.
 *
 * Where not all memory is aligned to 16 bytes, a record is moved in packs of 16 bytes that are
 * aligned at one of its destinations; elements before the first such pack and behind the last one
 * move one by one.
 */

FB_DEVICE void NAME(bulk_packs)(const uint64_t *address, const struct fb_gpu_record *r,
				uint32_t op, uint32_t nranks, uint64_t at, uint64_t step)
{
	union NAME(pack) a[BULK_UNROLL];
	int nsrc = r->nsrc;
#ifndef MOVE_ONLY
	union NAME(pack) b[BULK_UNROLL], c[BULK_UNROLL];
	int s = 1;
#endif

	FB_UNROLL
	for (int u = 0; u < BULK_UNROLL; u++)
		a[u].words = fb_load16(address[0] + at + (uint64_t)u * step);
#ifndef MOVE_ONLY
	for (; s + 1 < nsrc; s += 2) {
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++)
			b[u].words = fb_load16(address[s] + at + (uint64_t)u * step);
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++)
			c[u].words = fb_load16(address[s + 1] + at + (uint64_t)u * step);
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++) {
			NAME(combine)(op, &a[u], &b[u]);
			NAME(combine)(op, &a[u], &c[u]);
		}
	}
	if (s < nsrc) {
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++)
			b[u].words = fb_load16(address[s] + at + (uint64_t)u * step);
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++)
			NAME(combine)(op, &a[u], &b[u]);
	}
	if (r->flags & FB_GPU_FINISH) {
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++)
			NAME(finish)(&a[u], nranks);
	}
#else
	(void)op;
	(void)nranks;
#endif
	for (int d = nsrc; d < nsrc + r->ndst; d++) {
		FB_UNROLL
		for (int u = 0; u < BULK_UNROLL; u++)
			fb_store16(address[d] + at + (uint64_t)u * step, a[u].words);
	}
}

FB_DEVICE void NAME(bulk_pack)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			       uint32_t nranks, uint64_t at)
{
	union NAME(pack) a, b;

	a.words = fb_load16(address[0] + at);
	for (int s = 1; s < r->nsrc; s++) {
		b.words = fb_load16(address[s] + at);
		NAME(combine)(op, &a, &b);
	}
	if (r->flags & FB_GPU_FINISH)
		NAME(finish)(&a, nranks);
	for (int d = r->nsrc; d < r->nsrc + r->ndst; d++)
		fb_store16(address[d] + at, a.words);
}

/* The elements from byte `from` to byte `to`. */
FB_DEVICE void NAME(bulk_ones)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			       uint32_t nranks, uint64_t from, uint64_t to)
{
	const uint64_t width = sizeof(ELEMENT);
	union NAME(pack) a, b;

	a.halves[1] = 0;
	b.halves[1] = 0;
	for (uint64_t at = from + fb_thread() * width; at < to;
	     at += fb_threads() * width) {
		NAME(load_one)(address[0] + at, &a);
		for (int s = 1; s < r->nsrc; s++) {
			NAME(load_one)(address[s] + at, &b);
			NAME(combine)(op, &a, &b);
		}
		if (r->flags & FB_GPU_FINISH)
			NAME(finish)(&a, nranks);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++)
			NAME(store_one)(address[d] + at, &a);
	}
}

FB_DEVICE void NAME(odd_packs)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			       uint32_t nranks, uint64_t at, uint64_t step, int n)
{
	union NAME(pack) a[NAME(ODD_UNROLL)], b[NAME(ODD_UNROLL)];

	NAME(load_odd)(address[0] + at, step, n, a);
	for (int s = 1; s < r->nsrc; s++) {
		NAME(load_odd)(address[s] + at, step, n, b);
		FB_UNROLL
		for (int u = 0; u < n; u++)
			NAME(combine)(op, &a[u], &b[u]);
	}
	for (int u = 0; r->flags & FB_GPU_FINISH && u < n; u++)
		NAME(finish)(&a[u], nranks);
	for (int d = r->nsrc; d < r->nsrc + r->ndst; d++) {
		FB_UNROLL
		for (int u = 0; u < n; u++)
			NAME(store_odd)(address[d] + at + (uint64_t)u * step, &a[u]);
	}
}

/* Bytes before the first pack: none if a destination is aligned, else what aligns the first. */
FB_DEVICE uint64_t NAME(odd_head)(const uint64_t *address, const struct fb_gpu_record *r)
{
	uint64_t head = (0 - address[r->nsrc]) & 15;

	for (int d = r->nsrc + 1; d < r->nsrc + r->ndst; d++)
		if (!(address[d] & 15))
			head = 0;
	return head < r->bytes ? head : r->bytes;
}

#if ODD

/*
 * A record of which not all memory is aligned, or a striped one: stripe by stripe, as all of them
 * begin at the same part of 16 bytes.
 */
FB_DEVICE void NAME(bulk_unaligned)(const uint64_t *address, const struct fb_gpu_record *r,
				    uint32_t op, uint32_t nranks)
{
	uint64_t step = (uint64_t)fb_threads() * 16, head = NAME(odd_head)(address, r);
	uint64_t stripe = r->stripe ? (uint64_t)1 << r->stripe : r->bytes, from = 0;

	FB_ROLLED
	for (uint64_t left = r->bytes; left;) {
		uint64_t n = left < stripe ? left : stripe, first = from + (head < n ? head : n);
		uint64_t at = first + (uint64_t)fb_thread() * 16;
		uint64_t end = first + ((from + n - first) & ~(uint64_t)15);

		NAME(bulk_ones)(address, r, op, nranks, from, first);
		for (; at + (NAME(ODD_UNROLL) - 1) * step < end; at += NAME(ODD_UNROLL) * step)
			NAME(odd_packs)(address, r, op, nranks, at, step, NAME(ODD_UNROLL));
		for (; at < end; at += step)
			NAME(odd_packs)(address, r, op, nranks, at, step, 1);
		NAME(bulk_ones)(address, r, op, nranks, end, from + n);
		from += stripe * r->stripes;
		left -= n;
	}
}

#endif

/* Moves a record's bytes by all threads of the block; addresses of its ends in order. */
FB_DEVICE void NAME(bulk)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			  uint32_t nranks)
{
	uint64_t step = (uint64_t)fb_threads() * 16, at = (uint64_t)fb_thread() * 16;
	uint64_t whole = r->bytes & ~(uint64_t)15;

	if (!r->ndst || !r->bytes)
		return;
#if ODD
	if (r->stripe || !(r->flags & FB_GPU_ALIGNED)) {
		NAME(bulk_unaligned)(address, r, op, nranks);
		return;
	}
#endif
	for (; at + (BULK_UNROLL - 1) * step < whole; at += BULK_UNROLL * step)
		NAME(bulk_packs)(address, r, op, nranks, at, step);
	for (; at < whole; at += step)
		NAME(bulk_pack)(address, r, op, nranks, at);
	NAME(bulk_ones)(address, r, op, nranks, whole, r->bytes);
}
