/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes of protocols ll and ll128, whose flags travel with the data: a template without
 * include guard, after combine.h. No thread waits for another here; each polls its own line.
 *
 * The loads of several sources are under way before the first is looked at, so that own input
 * and all peers' lines are waited for together.
 */

enum { NAME(AT_ONCE) = 4 }; /* sources under way */

/* Up to 8 bytes of own memory; the rest is 0. */
FB_DEVICE uint64_t NAME(load_half)(uint64_t address, uint64_t left, bool aligned)
{
	uint64_t value = 0;

	if (aligned && left >= 8)
		return fb_load8(address);
	for (uint32_t i = 0; i < 8 && i < left; i++)
		value |= (uint64_t)fb_load1(address + i) << (8 * i);
	return value;
}

FB_DEVICE void NAME(store_half)(uint64_t address, uint64_t value, uint64_t left, bool aligned)
{
	if (aligned && left >= 8) {
		fb_store8(address, value);
		return;
	}
	for (uint32_t i = 0; i < 8 && i < left; i++)
		fb_store1(address + i, (uint8_t)(value >> (8 * i)));
}

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
	bool aligned = r->flags & FB_GPU_ALIGNED;

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
				uint64_t own = NAME(load_half)(e->address + i * 8, left, aligned);

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
				NAME(combine)(op, a, &b);
		}
	}
}

FB_DEVICE void NAME(ll_move)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
			     uint64_t epoch, uint32_t op, uint32_t nranks, bool by_word)
{
	/* A message of no bytes is one line. */
	uint64_t lines = r->bytes ? (r->bytes + 7) / 8 : 1;

	if (!r->ndst && !r->nsrc)
		return;
	for (uint64_t i = fb_thread(); i < lines; i += fb_threads()) {
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
				NAME(store_half)(e->address + i * 8, a.halves[0], left,
						 r->flags & FB_GPU_ALIGNED);
		}
	}
}

/* --- ll128 ----------------------------------------------------------------------------------- */

enum { NAME(GROUP) = 8, NAME(LINE_DATA) = 120 };

/* This thread's 16 (the last of a group: 8) bytes of own memory; `left` may be 0. */
FB_DEVICE void NAME(load_own)(uint64_t address, uint64_t left, bool last, bool aligned,
			      union NAME(pack) *to)
{
	to->halves[0] = NAME(load_half)(address, left, aligned);
	to->halves[1] = last || left <= 8 ? 0 : NAME(load_half)(address + 8, left - 8, aligned);
}

/* Waits until the whole line has the flag; all threads of the warp take part. */
FB_DEVICE void NAME(await_part)(uint64_t address, uint64_t flag, bool active, uint32_t lane,
				union NAME(pack) *to)
{
	bool missing;

	do {
		if (active)
			to->words = fb_load_part(address, lane);
		missing = active && lane == NAME(GROUP) - 1 && !fb_is_flag(to->halves[1], flag);
		missing = fb_any(missing);
		if (missing)
			fb_again();
	} while (missing);
}

FB_DEVICE void NAME(ll128_move)(const struct fb_gpu_record *r, const struct fb_gpu_end *ends,
				uint64_t epoch, uint32_t op, uint32_t nranks)
{
	uint32_t lane = fb_thread() % NAME(GROUP), groups = fb_threads() / NAME(GROUP);
	uint64_t lines = r->bytes ? (r->bytes + NAME(LINE_DATA) - 1) / NAME(LINE_DATA) : 1;
	uint64_t first = fb_thread() / FB_WARP * (FB_WARP / NAME(GROUP));
	bool last = lane == NAME(GROUP) - 1, aligned = r->flags & FB_GPU_ALIGNED;

	if (!r->ndst && !r->nsrc)
		return;
	/* The warp's threads stay together: `first` is the line of its first group. */
	for (; first < lines; first += groups) {
		uint64_t i = first + fb_thread() % FB_WARP / NAME(GROUP);
		uint64_t at = i * NAME(LINE_DATA) + lane * 16;
		uint64_t left = at < r->bytes ? r->bytes - at : 0;
		bool active = i < lines;
		union NAME(pack) a, b;

		left = last && left > 8 ? 8 : left;
		a.halves[0] = a.halves[1] = 0;
		b = a;
		for (int s = 0; s < r->nsrc; s++) {
			const struct fb_gpu_end *e = ends + s;

			if (e->is_slot)
				NAME(await_part)(NAME(end_address)(e, epoch) + i * 128 + lane * 16,
						 NAME(end_number)(e, epoch) + 1, active, lane, &b);
			else if (active)
				NAME(load_own)(e->address + at, left, last, aligned, &b);
			if (s == 0)
				a = b;
			else
				NAME(combine)(op, &a, &b);
		}
		if (r->flags & FB_GPU_FINISH)
			NAME(finish)(&a, nranks);
		for (int d = r->nsrc; d < r->nsrc + r->ndst; d++) {
			const struct fb_gpu_end *e = ends + d;

			if (e->is_slot) {
				if (last)
					a.halves[1] = NAME(end_number)(e, epoch) + 1;
				fb_store_part(NAME(end_address)(e, epoch) + i * 128 + lane * 16,
					      a.words, lane, active);
			} else if (active) {
				NAME(store_half)(e->address + at, a.halves[0], left, aligned);
				if (!last && left > 8)
					NAME(store_half)(e->address + at + 8, a.halves[1], left - 8,
							 aligned);
			}
		}
	}
}
