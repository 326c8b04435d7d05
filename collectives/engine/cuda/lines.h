/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes of protocol ll, and what it shares with ll128: their flags travel with the data. A
 * template without include guard, after unaligned.h. No thread waits for another here; each polls
 * its own line.
 *
 * The loads of several sources are under way before the first is looked at, so that own input
 * and all peers' lines are waited for together.
 */

enum { NAME(AT_ONCE) = 4 }; /* sources under way */

/* The warps of a block that work on one record, and which of their threads this is. */
struct NAME(crew) {
	uint32_t thread, threads;
};

FB_DEVICE uint64_t NAME(end_number)(const struct fb_gpu_end *e, uint64_t epoch)
{
	return epoch * e->per_call + (uint64_t)e->index;
}

FB_DEVICE uint64_t NAME(end_address)(const struct fb_gpu_end *e, uint64_t epoch)
{
	return e->address + (NAME(end_number)(e, epoch) & e->mask) * (uint64_t)e->stride;
}

FB_DEVICE bool NAME(has_flag)(const struct fb_words4 *line, uint32_t flag)
{
	return fb_is_flag(line->w[1], flag) && fb_is_flag(line->w[3], flag);
}

/* Reduces the record's sources at line i into *a. */
FB_DEVICE void NAME(ll_gather)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
			       uint64_t epoch, uint32_t op, uint64_t i, bool by_word,
			       union NAME(pack) *a)
{
	uint64_t left = r->bytes - i * 8;

	for (int s0 = 0; s0 < r->nsrc; s0 += NAME(AT_ONCE)) {
		struct fb_words4 line[NAME(AT_ONCE)];

		FB_UNROLL
		for (int k = 0; k < NAME(AT_ONCE); k++) {
			const struct fb_gpu_end *e = ends + s0 + k;

			if (s0 + k >= r->nsrc)
				break;
			if (e->is_slot) {
				line[k] = fb_load_line(NAME(end_address)(e, epoch) + i * 16,
						       by_word);
			} else {
				uint64_t own = NAME(load_half)(e->address + i * 8, left);

				line[k].w[0] = (uint32_t)own;
				line[k].w[2] = (uint32_t)(own >> 32);
			}
		}
		FB_UNROLL
		for (int k = 0; k < NAME(AT_ONCE); k++) {
			const struct fb_gpu_end *e = ends + s0 + k;
			union NAME(pack) b;

			if (s0 + k >= r->nsrc)
				break;
			if (e->is_slot) {
				uint64_t address = NAME(end_address)(e, epoch) + i * 16;
				uint32_t flag = (uint32_t)NAME(end_number)(e, epoch) + 1;

				while (!NAME(has_flag)(&line[k], flag)) {
					fb_again();
					line[k] = fb_load_line(address, by_word);
				}
			}
			b.words.w[0] = line[k].w[0];
			b.words.w[1] = line[k].w[2];
			b.halves[1] = 0;
			if (s0 + k == 0)
				*a = b;
			else
				NAME(combine_half)(op, a, &b);
		}
	}
}

FB_DEVICE void NAME(ll_move)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
			     uint64_t epoch, uint32_t op, uint32_t nranks, bool by_word,
			     const struct NAME(crew) *crew)
{
	/* A message of no bytes is one line. */
	uint64_t lines = r->bytes ? (r->bytes + 7) / 8 : 1;

	if (!r->ndst && !r->nsrc)
		return;
	for (uint64_t i = crew->thread; i < lines; i += crew->threads) {
		uint64_t left = r->bytes - i * 8;
		union NAME(pack) a;

		a.halves[0] = a.halves[1] = 0;
		NAME(ll_gather)(r, ends, epoch, op, i, by_word, &a);
		if (r->flags & FB_GPU_FINISH)
			NAME(finish)(&a, nranks);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++) {
			const struct fb_gpu_end *e = ends + d;
			uint32_t flag = (uint32_t)NAME(end_number)(e, epoch) + 1;
			struct fb_words4 line = {{a.words.w[0], flag, a.words.w[1], flag}};

			if (e->is_slot)
				fb_store_line(NAME(end_address)(e, epoch) + i * 16, line, by_word);
			else
				NAME(store_bytes)(e->address + i * 8, &a, left, 8);
		}
	}
}
