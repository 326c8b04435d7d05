/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pieces for the conformance test of movers: made from a seed, alike at both ends, and
 * what a target has to look like behind them.
 */
#ifndef FB_TESTS_MPI_MOVER_LIST_H
#define FB_TESTS_MPI_MOVER_LIST_H

#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/mover/mover.h"

enum { ZONE = 256 << 10, CANARY = 0xca, SCRIBBLE = 0x5c, MOST_PIECES = 3000 };

/* A kind of list: how many pieces, of which lengths, repeated how often. */
struct shape {
	const char *name;
	uint32_t pieces;
	uint32_t least, most;
	uint32_t repeats;
	uint32_t gap; /* bytes between pieces, in order at both ends, and 1; 0: random */
};

static const struct shape shapes[] = {
	{"empty", 0, 0, 0, 1, 0},   {"one", 1, 1, 5000, 1, 0},
	{"odd", 37, 1, 37, 1, 0},   {"words", 64, 8, 64, 1, 0},
	{"many", MOST_PIECES, 0, 60, 1, 0}, {"large", 3, 60001, 66001, 1, 0},
	{"strided", 5, 1, 999, 7, 0}, {"even", 40, 24, 24, 3, 9},
	{"neighbours", 40, 16, 16, 3, 1}, {"pages", 12, 512, 9001, 2, 0},
	{NULL, 0, 0, 0, 0, 0},
};

struct list {
	struct fb_piece piece[MOST_PIECES];
	uint32_t pieces, repeats;
	uint64_t local_step, remote_step;
};

/* At even distances, half as far again at the peer unless they are neighbours; so are repeats. */
static inline void make_even_list(const struct shape *shape, struct list *list)
{
	uint64_t near = shape->least + shape->gap - 1, far = near + (shape->gap - 1) / 2;

	for (uint32_t i = 0; i < shape->pieces; i++)
		list->piece[i] = (struct fb_piece){i * near, i * far, shape->least};
	list->local_step = shape->pieces * near;
	list->remote_step = (shape->pieces + (shape->gap > 1)) * far;
}

/*
 * Offsets in a zone at `local` and `remote`. Pieces of a side do not overlap; their order and the
 * gaps between them are random, and those of the two sides have nothing to do with each other.
 * Words are aligned to 8 bytes at both ends; pages, of any length, to 16.
 */
static inline void make_list(const struct shape *shape, uint64_t seed, struct list *list)
{
	uint32_t order[MOST_PIECES], align = shape->least == 512 ? 16
						: shape->least == 8 ? 8 : 1;
	uint64_t here = 0, there = 0, room;
	struct fb_rng rng;

	fb_rng_seed(&rng, seed);
	list->pieces = shape->pieces;
	list->repeats = shape->repeats;
	if (shape->gap) {
		make_even_list(shape, list);
		return;
	}
	room = ZONE / shape->repeats - (uint64_t)shape->pieces * (shape->most + align);
	room /= shape->pieces + 1;
	for (uint32_t i = 0; i < shape->pieces; i++) {
		uint64_t span = shape->most - shape->least + 1;
		uint64_t bytes = shape->least + fb_rng_below(&rng, span);

		order[i] = i;
		here += fb_rng_below(&rng, room) / align * align;
		list->piece[i] = (struct fb_piece){here, 0, align == 8 ? bytes / 8 * 8 : bytes};
		here += bytes;
		here = (here + align - 1) / align * align;
	}
	fb_shuffle(order, shape->pieces, sizeof(order[0]), &rng);
	for (uint32_t i = 0; i < shape->pieces; i++) {
		there += fb_rng_below(&rng, room) / align * align;
		list->piece[order[i]].remote = there;
		there += (list->piece[order[i]].bytes + align - 1) / align * align;
	}
	list->local_step = here;
	list->remote_step = (there + align - 1) / align * align;
}

/* Bytes of the rank's out zone for a peer, in a round. */
static inline unsigned char byte_of(uint64_t seed, uint64_t at)
{
	return (unsigned char)(fb_mix64(seed + at / 8) >> (at % 8 * 8));
}

static inline void fill_zone(uint64_t seed, unsigned char *zone)
{
	for (uint64_t at = 0; at < ZONE; at++)
		zone[at] = byte_of(seed, at);
}

/* Puts what the pieces k, k + of, ... bring into the image of the target's zone. */
static inline void paint(const struct list *list, uint64_t seed, uint32_t k, uint32_t of,
			 unsigned char *image)
{
	for (uint32_t r = 0; r < list->repeats; r++)
		for (uint32_t i = k; i < list->pieces; i += of)
			for (uint64_t b = 0; b < list->piece[i].bytes; b++) {
				const struct fb_piece *p = &list->piece[i];

				image[p->remote + r * list->remote_step + b] =
					byte_of(seed, p->local + r * list->local_step + b);
			}
}

/* The same list as a receiver of SEND sees it, who cuts it otherwise: pieces in other lengths. */
static inline uint32_t recut(const struct fb_piece *from, uint32_t n, struct fb_piece *to)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t half = from[i].bytes / 3;

		to[count++] = (struct fb_piece){from[i].remote, 0, half};
		to[count++] = (struct fb_piece){from[i].remote + half, 0, from[i].bytes - half};
	}
	return count;
}

#endif
