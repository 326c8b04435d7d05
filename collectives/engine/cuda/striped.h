/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes of protocol striped, of aligned memory: a template without include guard, after
 * bulk.h, which moves the stripes of memory at any address.
 *
 * A warp moves spans, each of them contiguous and within a stripe: `rows` loads of 16 bytes of each
 * thread, all under way before it uses the first. Of a reduction those of two sources are. Warps do
 * not meet between spans. More rows hide more of a link's latency; fewer let loads and stores of
 * different warps alternate sooner, where the block's stores are what takes the time.
 */

enum {
	NAME(ROW) = FB_WARP * 16,
	NAME(MOST_ROWS) = FB_GPU_LEAST_STRIPE / (FB_WARP * 16),
};

/* Where byte `at` of a striped record lies behind the begin of each end. */
FB_DEVICE uint64_t NAME(striped_place)(const struct fb_gpu_record *r, uint64_t at)
{
	uint64_t stripe = (uint64_t)1 << r->stripe;

	return (at >> r->stripe) * stripe * r->stripes + (at & (stripe - 1));
}

FB_DEVICE void NAME(load_rows)(union NAME(pack) *a, uint64_t address, const int rows)
{
	FB_UNROLL
	for (int u = 0; u < rows; u++)
		a[u].words = fb_load16(address + (uint64_t)u * NAME(ROW));
}

/* What follows the loads of the first source; `at` is the thread's. */
FB_DEVICE void NAME(end_rows)(union NAME(pack) *a, const uint64_t *address,
			      const struct fb_gpu_record *r, uint32_t op, uint32_t nranks,
			      uint64_t at, const int rows)
{
#ifndef MOVE_ONLY
	FB_ROLLED
	for (int s = 1; s < r->nsrc; s++) {
		union NAME(pack) b[NAME(MOST_ROWS)];

		NAME(load_rows)(b, address[s] + at, rows);
		FB_UNROLL
		for (int u = 0; u < rows; u++)
			NAME(combine)(op, &a[u], &b[u]);
	}
	if (r->flags & FB_GPU_FINISH) {
		FB_UNROLL
		for (int u = 0; u < rows; u++)
			NAME(finish)(&a[u], nranks);
	}
#else
	(void)op;
	(void)nranks;
#endif
	for (int d = r->nsrc; d < r->nsrc + r->ndst; d++) {
		FB_UNROLL
		for (int u = 0; u < rows; u++)
			fb_store16(address[d] + at + (uint64_t)u * NAME(ROW), a[u].words);
	}
}

/*
 * A striped record, by all threads of the block, with its waiting; addresses of its ends in order
 * go to `address`. Where it waits for its destinations only, each warp has its first loads under
 * way meanwhile. rows: a constant of the caller's.
 */
FB_DEVICE void NAME(striped)(const struct fb_gpu_record *r, uint64_t *address, uint64_t epoch,
			     uint32_t op, uint32_t nranks, const int rows)
{
	const uint64_t span = (uint64_t)rows * NAME(ROW);
	uint64_t spans = r->bytes / span * span, whole = r->bytes & ~(uint64_t)15, last;
	uint64_t at = (uint64_t)fb_thread() / FB_WARP * span, step = fb_threads() / FB_WARP * span;
	uint64_t lane = (uint64_t)fb_thread() % FB_WARP * 16;
	bool early = r->flags & FB_GPU_EARLY && at < spans;
	union NAME(pack) a[NAME(MOST_ROWS)];

	if (early)
		NAME(load_rows)(a, NAME(end_address)(NAME(parts_of)(r).ends, epoch) +
					   NAME(striped_place)(r, at) + lane, rows);
	NAME(begin)(r, address, epoch);
	if (!r->ndst || !r->bytes)
		return;
	for (; at < spans; at += step) {
		uint64_t place = NAME(striped_place)(r, at) + lane;

		if (!early)
			NAME(load_rows)(a, address[0] + place, rows);
		early = false;
		NAME(end_rows)(a, address, r, op, nranks, place, rows);
	}
	/* What is left is shorter than a span, and so within a stripe. */
	last = NAME(striped_place)(r, spans) - spans;
	for (at = spans + (uint64_t)fb_thread() * 16; at < whole; at += (uint64_t)fb_threads() * 16)
		NAME(bulk_pack)(address, r, op, nranks, last + at);
	NAME(bulk_ones)(address, r, op, nranks, last + whole, last + r->bytes);
}
