/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers that are wrong on purpose, made of shm by wrapping its moves: a piece that is left out,
 * pieces whose offsets are exchanged, a notice that is given before its payload, data of an earlier
 * round. The test that all movers pass has to fail with each.
 */
#ifndef FB_TESTS_MPI_MOVER_MUTANTS_H
#define FB_TESTS_MPI_MOVER_MUTANTS_H

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/mover.h"

enum mutant { MUTANT_NONE, MUTANT_DROPPED, MUTANT_SWAPPED, MUTANT_EARLY, MUTANT_STALE, MUTANTS };

static const char *const mutant_names[] = {"none", "dropped", "swapped", "early", "stale"};

enum { LATE = 2000 }; /* calls of test() until the payload follows its notice */

struct mutant_move {
	struct fb_move move;
	struct fb_move *payload, *notice;
	struct fb_piece **piece; /* [transfers], its own */
	unsigned char **first;   /* [transfers] stale: source bytes when it was posted first */
	int tests;
	bool posted; /* the payload */
};

static struct fb_mover_ops mutant_ops;
static enum mutant mutant_kind;

/* The source of a chunk, in memory that this process sees. */
static char *source_of(const struct fb_transfer *t, int rank, uint64_t a, uint64_t b)
{
	return t->verb == FB_MOVE_PUT ? fb_transfer_local(t, rank) + a
				      : fb_segment_part(t->remote->segment, t->peer) + b;
}

static char *target_of(const struct fb_transfer *t, int rank, uint64_t a, uint64_t b)
{
	return t->verb == FB_MOVE_GET ? fb_transfer_local(t, rank) + a
				      : fb_segment_part(t->remote->segment, t->peer) + b;
}

/* Keeps what the sources hold, or writes what was kept to the targets. */
static void keep_or_write(const struct mutant_move *m, bool keep)
{
	for (uint32_t i = 0; i < m->move.transfers; i++) {
		const struct fb_transfer *t = &m->move.transfer[i];
		struct fb_walk walk = {.transfer = t};
		int rank = m->move.mover->group->rank;
		unsigned char *at = m->first[i];
		uint64_t a, b, bytes;

		while (at && (bytes = fb_walk_next(&walk, UINT64_MAX, &a, &b))) {
			memcpy(keep ? (void *)at : (void *)target_of(t, rank, a, b),
			       keep ? (const void *)source_of(t, rank, a, b) : (const void *)at,
			       bytes);
			at += bytes;
		}
	}
}

/* The pieces with their mistake. */
static void spoil(struct fb_transfer *t, struct fb_piece *piece)
{
	memcpy(piece, t->piece, t->pieces * sizeof(*piece));
	t->piece = piece;
	if (mutant_kind == MUTANT_DROPPED && t->pieces > 1)
		piece[t->pieces / 2] = piece[0];
	for (uint64_t i = 1; mutant_kind == MUTANT_SWAPPED && i < t->pieces; i++) {
		struct fb_piece *last = &piece[i - 1];

		/* Pieces of equal length change places, so that only the order is wrong. */
		if (last->bytes == piece[i].bytes && last->bytes) {
			uint64_t remote = last->remote;

			last->remote = piece[i].remote;
			piece[i].remote = remote;
			break;
		}
	}
}

static int mutant_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			  struct fb_move **move)
{
	uint32_t n = given->transfers;
	struct fb_transfer *bytes = calloc(n, sizeof(*bytes)), *tells = calloc(n, sizeof(*tells));
	int err = fb_move_new(mover, given, sizeof(struct mutant_move), move);
	struct mutant_move *m;

	if (err || !bytes || !tells)
		abort();
	m = (struct mutant_move *)*move;
	m->piece = calloc(n, sizeof(struct fb_piece *));
	m->first = calloc(n, sizeof(unsigned char *));
	for (uint32_t i = 0; i < n && m->piece; i++) {
		bytes[i] = tells[i] = given->transfer[i];
		m->piece[i] = calloc(bytes[i].pieces + 1, sizeof(struct fb_piece));
		if (bytes[i].pieces)
			spoil(&bytes[i], m->piece[i]);
		bytes[i].notice = 0;
		tells[i].pieces = 0;
	}
	err = fb_mover_shm.prepare(mover, &(struct fb_move){mover, bytes, n}, form, &m->payload);
	if (!err)
		err = fb_mover_shm.prepare(mover, &(struct fb_move){mover, tells, n}, form,
					   &m->notice);
	free(bytes);
	free(tells);
	return err;
}

static void mutant_release(struct fb_move *move)
{
	struct mutant_move *m = (struct mutant_move *)move;

	for (uint32_t i = 0; i < move->transfers; i++) {
		free(m->piece[i]);
		free(m->first[i]);
	}
	free(m->piece);
	free(m->first);
	fb_mover_shm.release(m->payload);
	fb_mover_shm.release(m->notice);
	fb_move_free(move);
}

static int mutant_post(struct fb_move *move)
{
	struct mutant_move *m = (struct mutant_move *)move;
	int err = FB_OK;

	m->tests = 0;
	m->posted = mutant_kind != MUTANT_EARLY;
	if (mutant_kind == MUTANT_STALE && !m->first[0]) {
		for (uint32_t i = 0; i < move->transfers; i++)
			m->first[i] = malloc(fb_transfer_bytes(&move->transfer[i]) + 1);
		keep_or_write(m, true);
	}
	if (mutant_kind == MUTANT_STALE)
		keep_or_write(m, false);
	else if (m->posted)
		err = fb_mover_shm.post(m->payload);
	return err ? err : fb_mover_shm.post(m->notice);
}

static int mutant_test(struct fb_move *move, bool *done)
{
	struct mutant_move *m = (struct mutant_move *)move;

	if (!m->posted && ++m->tests > LATE) {
		m->posted = true;
		return fb_mover_shm.post(m->payload);
	}
	*done = m->posted;
	return FB_OK;
}

static inline void make_mutant(struct fb_mover *mover, enum mutant kind)
{
	mutant_kind = kind;
	mutant_ops = fb_mover_shm;
	mutant_ops.prepare = mutant_prepare;
	mutant_ops.release = mutant_release;
	mutant_ops.post = mutant_post;
	mutant_ops.test = mutant_test;
	mover->ops = &mutant_ops;
}

static inline void unmake_mutant(struct fb_mover *mover)
{
	mover->ops = &fb_mover_shm;
}

#endif
