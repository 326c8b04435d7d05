/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes of protocol tma: what bulk.h does, by pipes of bulk copies (device_pipe.h). A
 * template without include guard, after bulk.h. All sources of a tile come into shared memory,
 * where the warp combines them; the result goes to all destinations from there.
 */

/* Combines the n bytes of each source in the stage, into the first one's place. */
FB_DEVICE void NAME(pipe_combine)(unsigned char *stage, const struct fb_tiles *t, uint32_t n,
				  const struct fb_gpu_record *r, uint32_t op, uint32_t nranks)
{
#ifndef MOVE_ONLY
	for (uint32_t at = fb_thread() % FB_WARP * 16; at < n; at += FB_WARP * 16) {
		union NAME(pack) a, b;

		a.words = fb_load_shared(stage + at);
		for (uint32_t s = 1; s < t->nsrc; s++) {
			b.words = fb_load_shared(stage + (uint64_t)s * t->each + at);
			NAME(combine)(op, &a, &b);
		}
		if (r->flags & FB_GPU_FINISH)
			NAME(finish)(&a, nranks);
		fb_store_shared(stage + at, a.words);
	}
	fb_tma_fence_shared();
	fb_sync_warp();
#else
	(void)stage;
	(void)t;
	(void)n;
	(void)r;
	(void)op;
	(void)nranks;
#endif
}

/*
 * False, and nothing done, for records that bulk.h has to move: short ones, of memory at any
 * address, of too many sources, and where there are no bulk copies. `pipe`: NULL, a constant of
 * the caller's, in kernels without.
 */
FB_DEVICE bool NAME(pipe_bulk)(const uint64_t *address, const struct fb_gpu_record *r, uint32_t op,
			       uint32_t nranks, struct fb_pipe *pipe)
{
	struct fb_tiles t = {0};

	if (!FB_HAS_TMA || !pipe)
		return false;
	t.address = address;
	t.nsrc = r->nsrc;
	t.ndst = r->ndst;
	t.bytes = r->bytes & ~(uint64_t)15;
	if (!t.ndst || t.bytes < FB_TMA_LEAST || !(r->flags & FB_GPU_ALIGNED) ||
	    !fb_pipe_cut(pipe, &t))
		return false;
	fb_pipe_begin(pipe, &t);
	for (uint32_t k = 0; k < t.count; k++) {
		fb_pipe_await(pipe, k);
		if (t.nsrc > 1 || r->flags & FB_GPU_FINISH)
			NAME(pipe_combine)(fb_pipe_stage(pipe, k), &t, fb_pipe_length(&t, k), r,
					   op, nranks);
		fb_pipe_store(pipe, &t, k);
	}
	fb_pipe_end();
	NAME(bulk_ones)(address, r, op, nranks, t.bytes, r->bytes);
	return true;
}
