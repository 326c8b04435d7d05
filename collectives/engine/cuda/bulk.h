/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes of protocols simple and direct: a template without include guard, after combine.h.
 *
 * Every thread has several 16-byte loads under way before it uses the first, of two sources at a
 * time. Where not all memory is aligned to 16 bytes, elements move one by one. The includer
 * defines BULK_UNROLL, the loads of one source that are under way.
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

/* `width` bytes of an element, or of what is copied, in the first place of a pack. */
FB_DEVICE void NAME(load_one)(uint64_t address, uint32_t width, union NAME(pack) *to)
{
	to->halves[0] = 0;
	if (width == 8)
		to->halves[0] = fb_load8(address);
	else if (width == 4)
		to->words.w[0] = fb_load4(address);
	else if (width == 2)
		to->words.w[0] = fb_load2(address);
	else
		to->words.w[0] = fb_load1(address);
}

FB_DEVICE void NAME(store_one)(uint64_t address, uint32_t width, const union NAME(pack) *from)
{
	if (width == 8)
		fb_store8(address, from->halves[0]);
	else if (width == 4)
		fb_store4(address, from->words.w[0]);
	else if (width == 2)
		fb_store2(address, (uint16_t)from->words.w[0]);
	else
		fb_store1(address, (uint8_t)from->words.w[0]);
}

/* From byte `from` on in pieces of `width`, which is an element's or, where nothing is combined,
 * what all ends are aligned to. */
FB_DEVICE void NAME(bulk_ones)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			       uint32_t nranks, uint64_t from, uint32_t width)
{
	union NAME(pack) a, b;

	a.halves[1] = 0;
	b.halves[1] = 0;
	for (uint64_t at = from + (uint64_t)fb_thread() * width; at < r->bytes;
	     at += (uint64_t)fb_threads() * width) {
		NAME(load_one)(address[0] + at, width, &a);
		for (int s = 1; s < r->nsrc; s++) {
			NAME(load_one)(address[s] + at, width, &b);
			NAME(combine)(op, &a, &b);
		}
		if (r->flags & FB_GPU_FINISH)
			NAME(finish)(&a, nranks);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++)
			NAME(store_one)(address[d] + at, width, &a);
	}
}

/* The widest that all addresses and the length are multiples of; up to 8 bytes. */
FB_DEVICE uint32_t NAME(width)(const uint64_t *address, const struct fb_gpu_record *r)
{
#ifdef MOVE_ONLY
	uint64_t all = r->bytes | 8;

	for (int i = 0; i < r->nsrc + r->ndst; i++)
		all |= address[i];
	return (uint32_t)(all & (~all + 1));
#else
	(void)address;
	(void)r;
	return sizeof(ELEMENT);
#endif
}

/* Moves a record's bytes by all threads of the block; addresses of its ends in order. */
FB_DEVICE void NAME(bulk)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			  uint32_t nranks)
{
	uint64_t step = (uint64_t)fb_threads() * 16, at = (uint64_t)fb_thread() * 16;
	uint64_t whole = r->bytes & ~(uint64_t)15;

	if (!r->ndst || !r->bytes)
		return;
	if (!(r->flags & FB_GPU_ALIGNED)) {
		NAME(bulk_ones)(address, r, op, nranks, 0, NAME(width)(address, r));
		return;
	}
	for (; at + (BULK_UNROLL - 1) * step < whole; at += BULK_UNROLL * step)
		NAME(bulk_packs)(address, r, op, nranks, at, step);
	for (; at < whole; at += step)
		NAME(bulk_pack)(address, r, op, nranks, at);
	if (whole < r->bytes)
		NAME(bulk_ones)(address, r, op, nranks, whole, sizeof(ELEMENT));
}
