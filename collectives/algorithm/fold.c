/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding and butterflies. Everything is computed from the rank being built for, so building
 * costs O(log n) calls. What a rank overwrites in a round is never what its partner reads in
 * that round, which is why one buffer suffices even where partners read it in place.
 */
#include "collectives/algorithm/fold.h"

struct fb_fold fb_fold_of(int nranks)
{
	int rounds = 31 - __builtin_clz((unsigned)nranks);

	return (struct fb_fold){.n = 1 << rounds, .extra = nranks - (1 << rounds),
				.rounds = rounds};
}

int fb_fold_rank(const struct fb_fold *fold, int v)
{
	return v < fold->extra ? 2 * v : v + fold->extra;
}

int fb_fold_virtual(const struct fb_fold *fold, int rank)
{
	if (rank < 2 * fold->extra)
		return rank % 2 ? -1 : rank / 2;
	return rank < 0 ? -1 : rank - fold->extra;
}

static int partner_of(const struct fb_butterfly *f, int v, int round)
{
	return f->partner ? f->partner(&f->fold, v, round) : v ^ f->fold.n >> (round + 1);
}

/* The units of the aligned group of `size` places around virtual rank v's, at that rank. */
static struct fb_chunk group(const struct fb_butterfly *f, int rank, enum fb_buffer buffer, int v,
			     int size)
{
	int first = (f->place_of ? f->place_of[v] : v) & -size, end = first + size;

	if (f->block_per_rank) {
		first = fb_fold_rank(&f->fold, first);
		end = fb_fold_rank(&f->fold, end);
	}
	return fb_chunk(rank, buffer, (uint32_t)first, (uint32_t)(end - first));
}

/*
 * Virtual rank v reduces what it keeps with its partner's part of it. With own_out, what it keeps
 * after the last round comes in two pieces: its own block to FB_OUT and the rest to `partial`.
 */
static void keep(struct fb_builder *b, const struct fb_butterfly *f, enum fb_buffer partial,
		 int v, int round, bool own_out, bool rest)
{
	const struct fb_fold *fold = &f->fold;
	int size = fold->n >> (round + 1), q = partner_of(f, v, round);
	enum fb_buffer mine = round || v < fold->extra ? partial : FB_IN;
	enum fb_buffer other = round || q < fold->extra ? partial : FB_IN;
	int rank = fb_fold_rank(fold, v);
	struct fb_chunk x = group(f, rank, mine, v, size);
	struct fb_chunk y = group(f, fb_fold_rank(fold, q), other, v, size);
	struct fb_chunk dst = group(f, rank, partial, v, size);
	bool last = size == 1;

	if (own_out && last && !rest) {
		dst = fb_chunk(rank, FB_OUT, 0, 1);
		x.count = y.count = 1;
	} else if (rest) {
		x.index++;
		y.index++;
		dst.index++;
		x.count = y.count = --dst.count;
	}
	fb_reduce(b, dst, x, y, last ? FB_COMPLETE : FB_PARTIAL);
}

void fb_butterfly_reduce(struct fb_builder *b, const struct fb_butterfly *f,
			 enum fb_buffer partial, bool own_out)
{
	int self = fb_self(b), v = fb_fold_virtual(&f->fold, self);
	uint32_t units = (uint32_t)(f->block_per_rank ? fb_nranks(b) : f->fold.n);

	if (self < 0)
		return;
	if (self < 2 * f->fold.extra) {
		int rank = self - self % 2;

		fb_reduce(b, fb_chunk(rank, partial, 0, units), fb_chunk(rank, FB_IN, 0, units),
			  fb_chunk(rank + 1, FB_IN, 0, units), FB_PARTIAL);
	}
	for (int round = 0; round < f->fold.rounds; round++) {
		fb_round(b);
		if (v < 0)
			continue;
		keep(b, f, partial, v, round, own_out, false);
		keep(b, f, partial, partner_of(f, v, round), round, own_out, false);
	}
	/* A round of its own: two messages in a row each way would need two slots. */
	fb_round(b);
	if (own_out && v >= 0) {
		int round = f->fold.rounds - 1;

		keep(b, f, partial, v, round, true, true);
		keep(b, f, partial, partner_of(f, v, round), round, true, true);
	}
}

/* The acting rank of a pair passes on to the silent one what it got from virtual rank q. */
static void pass_on(struct fb_builder *b, const struct fb_butterfly *f, int rank, int q, int size)
{
	fb_copy(b, group(f, rank + 1, FB_OUT, q, size), group(f, rank, FB_OUT, q, size));
}

void fb_butterfly_gather(struct fb_builder *b, const struct fb_butterfly *f)
{
	const struct fb_fold *fold = &f->fold;
	int self = fb_self(b), acting = self - (self < 2 * fold->extra ? self % 2 : 0);
	int v = fb_fold_virtual(fold, acting), q, last = v, last_size = f->block_per_rank ? 0 : 1;

	if (self < 0)
		return;
	for (int round = fold->rounds - 1; round >= 0; round--) {
		int size = fold->n >> (round + 1), there;

		fb_round(b);
		q = partner_of(f, v, round);
		there = fb_fold_rank(fold, q);
		fb_copy(b, group(f, there, FB_OUT, v, size), group(f, acting, FB_OUT, v, size));
		fb_copy(b, group(f, acting, FB_OUT, q, size), group(f, there, FB_OUT, q, size));
		if (v < fold->extra && last_size)
			pass_on(b, f, acting, last, last_size);
		last = q;
		last_size = size;
	}
	fb_round(b);
	if (v < fold->extra && last_size)
		pass_on(b, f, acting, last, last_size);
}
