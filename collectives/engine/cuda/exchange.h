/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fused exchange: small blocks to and from all peers at once, by lines of protocol ll. A
 * template without include guard, after lines.h. A thread has the same lines of all blocks: it
 * sends them all before it waits for any, and waits for all peers together, so that a call takes
 * one flight, whatever the number of peers. Parameters: struct fb_gpu_exchange.
 */

enum { NAME(ROUND) = 2 }; /* lines a thread sends before it waits for the first */

/* Line i of the own block is *own afterwards. */
FB_DEVICE void NAME(send_lines)(const struct fb_gpu_exchange *x, uint64_t offset, uint64_t i,
				uint32_t flag, union NAME(pack) *own)
{
	uint64_t half[FB_GPU_MOST_PEERS], left = x->bytes - i * 8;
	bool aligned = x->flags & FB_GPU_ALIGNED, same = x->flags & FB_GPU_SAME;

	own->halves[1] = 0;
	own->halves[0] = NAME(load_half)(x->own_in + i * 8, left, aligned);
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < x->npeers)
			half[p] = same ? own->halves[0]
				       : NAME(load_half)(x->in[p] + i * 8, left, aligned);
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < x->npeers) {
			struct fb_words4 line = {{(uint32_t)half[p], flag,
						  (uint32_t)(half[p] >> 32), flag}};

			fb_store_line(x->to[p] + offset + i * 16, line, false);
		}
}

/* Line i of all peers and this rank, combined in order of rank, or each to its place. */
FB_DEVICE void NAME(receive_lines)(const struct fb_gpu_exchange *x, uint64_t offset, uint64_t i,
				   uint32_t flag, const union NAME(pack) *own)
{
	struct fb_words4 line[FB_GPU_MOST_PEERS];
	bool aligned = x->flags & FB_GPU_ALIGNED, combines = x->flags & FB_GPU_COMBINE;
	uint64_t left = x->bytes - i * 8;
	union NAME(pack) a = *own;

	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < x->npeers)
			line[p] = fb_load_line(x->from[p] + offset + i * 16, false);
	if (!combines && x->own_out)
		NAME(store_half)(x->own_out + i * 8, own->halves[0], left, aligned);
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++) {
		union NAME(pack) b;

		if (p >= x->npeers)
			continue;
		while (!NAME(has_flag)(&line[p], flag)) {
			fb_again();
			line[p] = fb_load_line(x->from[p] + offset + i * 16, false);
		}
		b.words.w[0] = line[p].w[0];
		b.words.w[1] = line[p].w[2];
		b.halves[1] = 0;
		if (!combines) {
			NAME(store_half)(x->out[p] + i * 8, b.halves[0], left, aligned);
			continue;
		}
		if (p == 0 && x->rank != 0)
			a = b;
		else
			NAME(combine)(x->op, &a, &b);
		/* The peers from p + 1 on have higher ranks than this one. */
		if (p + 1 == x->rank)
			NAME(combine)(x->op, &a, own);
	}
	if (!combines)
		return;
	if (x->flags & FB_GPU_FINISH)
		NAME(finish)(&a, x->nranks);
	NAME(store_half)(x->own_out + i * 8, a.halves[0], left, aligned);
}

FB_DEVICE void NAME(exchange)(const struct fb_gpu_exchange *x)
{
	uint64_t mine = x->epochs + (uint64_t)fb_block() * FB_GPU_LINE, epoch, offset;
	uint64_t lines = x->bytes ? (x->bytes + 7) / 8 : 1;
	uint64_t step = (uint64_t)fb_blocks() * fb_threads();
	uint64_t first = (uint64_t)fb_block() * fb_threads() + fb_thread();
	uint32_t flag;

	fb_let_next();
	fb_await_last();
	epoch = fb_load_private(mine);
	offset = (epoch & 1) * (uint64_t)x->stride;
	flag = (uint32_t)epoch + 1;
	if (x->times && fb_thread() == 0 && fb_block() == 0)
		fb_store_private(x->times + (epoch & (FB_GPU_TIMES - 1)) * 8, fb_device_time());
	for (; first < lines; first += NAME(ROUND) * step) {
		union NAME(pack) own[NAME(ROUND)];

		FB_UNROLL
		for (int u = 0; u < NAME(ROUND); u++) {
			uint64_t i = first + (uint64_t)u * step;

			if (i < lines)
				NAME(send_lines)(x, offset, i, flag, &own[u]);
		}
		FB_UNROLL
		for (int u = 0; u < NAME(ROUND); u++) {
			uint64_t i = first + (uint64_t)u * step;

			if (i < lines)
				NAME(receive_lines)(x, offset, i, flag, &own[u]);
		}
	}
	fb_sync_block();
	if (fb_thread() == 0)
		fb_store_private(mine, epoch + 1);
}
