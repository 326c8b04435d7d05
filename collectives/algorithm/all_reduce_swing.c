/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, Swing, bandwidth-optimal form: halving and doubling in which the partner's distance
 * swings: 1, -1, 3, -5, 11, ... places ahead for even ranks and behind for odd ones. On rings and
 * tori partners are then nearer than powers of two, and messages share fewer links.
 *
 * 2 log2 n steps, 2(n - 1)/n of the block sent per rank, which is the least. Other numbers than
 * powers of two are folded, where the source has a form of its own for even ones.
 *
 * The shares that a rank exchanges lie scattered when numbered by rank. An all_reduce is free to
 * number them otherwise: place_of[] numbers ranks such that those that are still connected in
 * later rounds are neighbours, which makes every message one piece.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/fold.h"
#include "common/base/error.h"

static uint32_t split(const struct fb_shape *shape)
{
	return (uint32_t)fb_fold_of(shape->nranks).n;
}

/* Distance in round s: (1 - (-2)^(s + 1)) / 3. */
static int partner(const struct fb_fold *fold, int v, int round)
{
	int power = 1 << (round + 1), distance = round % 2 ? (1 - power) / 3 : (1 + power) / 3;

	return (v % 2 ? v - distance : v + distance) & (fold->n - 1);
}

/*
 * A place's bits, highest first, say in which rounds the way from rank 0 to its rank takes the
 * partner: ranks that share their first bits are those that the rounds after those connect.
 */
static void number(const struct fb_fold *fold, int *place_of)
{
	for (int place = 0; place < fold->n; place++) {
		int v = 0;

		for (int round = 0; round < fold->rounds; round++)
			if (place & fold->n >> (round + 1))
				v = partner(fold, v, round);
		place_of[v] = place;
	}
}

static int build(struct fb_builder *b)
{
	struct fb_butterfly butterfly = {
		.fold = fb_fold_of(fb_nranks(b)),
		.partner = partner,
	};
	int *place_of;

	if (fb_nranks(b) == 1) {
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
		return FB_OK;
	}
	place_of = malloc(sizeof(*place_of) * (size_t)butterfly.fold.n);
	if (!place_of)
		return FB_ENOMEM;
	number(&butterfly.fold, place_of);
	butterfly.place_of = place_of;
	fb_butterfly_reduce(b, &butterfly, FB_OUT, false);
	fb_butterfly_gather(b, &butterfly);
	free(place_of);
	return FB_OK;
}

const struct fb_algorithm fb_all_reduce_swing = {
	.name = "swing",
	.collective = FB_ALL_REDUCE,
	.source = "De Sensi, Bonato, Saam, Hoefler 2024, arXiv 2401.09356",
	.in_place = true,
	.split = split,
	.build = build,
};
