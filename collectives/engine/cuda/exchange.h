/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fused exchange: small blocks to and from all peers at once, by lines of protocol ll. A
 * template without include guard, after lines.h. A thread has the same line of all blocks: it
 * sends it to all peers, and waits for all of them together, so that a call takes one flight,
 * whatever their number. Parameters: struct fb_gpu_exchange.
 */

/* Up to eight bytes of each peer's block, `left` of them. */
FB_DEVICE void NAME(load_blocks)(const struct fb_gpu_exchange *x,
				 const struct fb_gpu_exchange_peer *peer, uint64_t i,
				 uint64_t left, uint64_t *half)
{
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < x->npeers)
			half[p] = NAME(load_half)(peer[p].in + i * 8, left);
}

/* Line i of the own block is *own afterwards. */
FB_DEVICE void NAME(send_line)(const struct fb_gpu_exchange *x,
			       const struct fb_gpu_exchange_peer *peer, uint64_t offset, uint64_t i,
			       uint32_t flag, bool same, union NAME(pack) *own)
{
	uint64_t half[FB_GPU_MOST_PEERS];

	own->halves[1] = 0;
	own->halves[0] = NAME(load_half)(x->own_in + i * 8, x->bytes - i * 8);
	if (!same)
		NAME(load_blocks)(x, peer, i, x->bytes - i * 8, half);
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (same && p < x->npeers)
			half[p] = own->halves[0];
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < x->npeers) {
			struct fb_words4 line = {{(uint32_t)half[p], flag,
						  (uint32_t)(half[p] >> 32), flag}};

			fb_store_line(peer[p].to + offset + i * 16, line, false);
		}
}

#ifdef MOVE_ONLY

/* Line i of each peer goes to its place. */
FB_DEVICE void NAME(finish_line)(const struct fb_gpu_exchange *x,
				 const struct fb_gpu_exchange_peer *peer, uint64_t i,
				 const union NAME(pack) *own, const uint64_t *half)
{
	uint64_t left = x->bytes - i * 8;
	union NAME(pack) a;

	if (x->own_out)
		NAME(store_bytes)(x->own_out + i * 8, own, left, 8);
	a.halves[1] = 0;
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++) {
		if (p >= x->npeers)
			continue;
		a.halves[0] = half[p];
		NAME(store_bytes)(peer[p].out + i * 8, &a, left, 8);
	}
}

#else

/* Line i of all ranks is combined, in order of rank. */
FB_DEVICE void NAME(finish_line)(const struct fb_gpu_exchange *x,
				 const struct fb_gpu_exchange_peer *peer, uint64_t i,
				 const union NAME(pack) *own, const uint64_t *half)
{
	union NAME(pack) a, b;

	(void)peer;
	a.halves[1] = b.halves[1] = 0;
	a.halves[0] = x->rank ? half[0] : own->halves[0];
	FB_UNROLL
	for (uint32_t k = 1; k <= FB_GPU_MOST_PEERS; k++) {
		if (k > x->npeers)
			continue;
		b.halves[0] = half[k - 1];
		if (k == x->rank)
			b.halves[0] = own->halves[0];
		else if (k < x->rank && k < FB_GPU_MOST_PEERS)
			b.halves[0] = half[k];
		NAME(combine_half)(x->op, &a, &b);
	}
	if (x->flags & FB_GPU_FINISH)
		NAME(finish)(&a, x->nranks);
	NAME(store_bytes)(x->own_out + i * 8, &a, x->bytes - i * 8, 8);
}

#endif

FB_DEVICE void NAME(receive_line)(const struct fb_gpu_exchange *x,
				  const struct fb_gpu_exchange_peer *peer, uint64_t offset,
				  uint64_t i, uint32_t flag, const union NAME(pack) *own)
{
	struct fb_words4 line[FB_GPU_MOST_PEERS];
	uint64_t half[FB_GPU_MOST_PEERS];

	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < x->npeers)
			line[p] = fb_load_line(peer[p].from + offset + i * 16, false);
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++) {
		half[p] = 0;
		if (p >= x->npeers)
			continue;
		while (!NAME(has_flag)(&line[p], flag)) {
			fb_again();
			line[p] = fb_load_line(peer[p].from + offset + i * 16, false);
		}
		half[p] = line[p].w[0] | (uint64_t)line[p].w[2] << 32;
	}
	NAME(finish_line)(x, peer, i, own, half);
}

/* `same`, a constant of the caller's: FB_GPU_SAME. */
FB_DEVICE void NAME(exchange)(const struct fb_gpu_exchange *x, bool same)
{
	uint64_t mine = x->epochs + (uint64_t)fb_block() * FB_GPU_LINE, epoch, offset;
	uint64_t lines = x->bytes ? (x->bytes + 7) / 8 : 1;
	uint64_t step = (uint64_t)fb_blocks() * fb_threads();
	uint64_t first = (uint64_t)fb_block() * fb_threads() + fb_thread();
	struct fb_gpu_exchange_peer peer[FB_GPU_MOST_PEERS];
	uint32_t flag;

	fb_let_next();
	/* Parameters are fetched while the launch before still runs. */
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++) {
		peer[p] = x->peer[p];
		fb_hold(&peer[p].to);
		fb_hold(&peer[p].from);
		fb_hold(&peer[p].in);
		fb_hold(&peer[p].out);
	}
	fb_await_last();
	epoch = fb_load_private(mine);
	offset = (epoch & 1) * (uint64_t)x->stride;
	flag = (uint32_t)epoch + 1;
	if (x->times && fb_thread() == 0 && fb_block() == 0)
		fb_store_private(x->times + (epoch & (FB_GPU_TIMES - 1)) * 8, fb_device_time());
	FB_ROLLED
	for (uint64_t i = first; i < lines; i += step) {
		union NAME(pack) own;

		NAME(send_line)(x, peer, offset, i, flag, same, &own);
		NAME(receive_line)(x, peer, offset, i, flag, &own);
	}
	fb_sync_block();
	if (fb_thread() == 0)
		fb_store_private(mine, epoch + 1);
}
