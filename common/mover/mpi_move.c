/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves over MPI; see mpi_move.h. */
#include "common/mover/mpi_move.h"

#include <stdlib.h>

#include "common/base/error.h"

enum { LONGEST = 1 << 30 }; /* bytes of a block: its count is an int */

struct blocks {
	int *bytes;
	MPI_Aint *at;
	size_t n;
};

static void add(struct blocks *b, uint64_t at, uint64_t bytes)
{
	int *last = b->n ? &b->bytes[b->n - 1] : NULL;

	if (last && (uint64_t)b->at[b->n - 1] + (uint64_t)*last == at &&
	    (uint64_t)*last + bytes <= LONGEST) {
		*last += (int)bytes;
		return;
	}
	b->at[b->n] = (MPI_Aint)at;
	b->bytes[b->n++] = (int)bytes;
}

/* Counts the chunks of the list in one repeat. */
static size_t count_chunks(const struct fb_transfer *once)
{
	struct fb_walk walk = {.transfer = once};
	uint64_t a, b;
	size_t n = 0;

	while (fb_walk_next(&walk, LONGEST, &a, &b))
		n++;
	return n;
}

static void make(const struct blocks *b, uint32_t repeats, uint64_t step, struct fb_mpi_side *side)
{
	MPI_Datatype list;

	if (b->n == 1 && repeats <= 1) {
		*side = (struct fb_mpi_side){(uint64_t)b->at[0], MPI_BYTE, b->bytes[0], false};
		return;
	}
	*side = (struct fb_mpi_side){0, MPI_DATATYPE_NULL, 1, true};
	MPI_Type_create_hindexed((int)b->n, b->bytes, b->at, MPI_BYTE, &list);
	MPI_Type_create_hvector((int)(repeats ? repeats : 1), 1, (MPI_Aint)step, list, &side->type);
	MPI_Type_commit(&side->type);
	MPI_Type_free(&list);
}

static int make_sides(const struct fb_transfer *t, struct fb_mpi_sides *sides)
{
	struct fb_transfer once = *t;
	bool one_sided = t->verb == FB_MOVE_PUT || t->verb == FB_MOVE_GET;
	struct fb_walk walk = {.transfer = &once};
	struct blocks here, there;
	uint64_t a, b, bytes;
	size_t n;

	*sides = (struct fb_mpi_sides){.bytes = fb_transfer_bytes(t)};
	once.repeats = 1;
	n = count_chunks(&once);
	if (!sides->bytes || !n)
		return FB_OK;
	if (n > INT32_MAX || t->repeats > INT32_MAX)
		return FB_EUNSUPPORTED;
	here = (struct blocks){malloc(n * sizeof(int)), malloc(n * sizeof(MPI_Aint)), 0};
	there = (struct blocks){malloc(n * sizeof(int)), malloc(n * sizeof(MPI_Aint)), 0};
	if (!here.bytes || !here.at || !there.bytes || !there.at) {
		sides->bytes = 0;
	} else {
		while ((bytes = fb_walk_next(&walk, LONGEST, &a, &b))) {
			add(&here, a, bytes);
			add(&there, b, bytes);
		}
		make(&here, t->repeats, t->local_step, &sides->local);
		if (one_sided)
			make(&there, t->repeats, t->remote_step, &sides->remote);
	}
	free(here.bytes);
	free(here.at);
	free(there.bytes);
	free(there.at);
	return sides->bytes ? FB_OK : FB_ENOMEM;
}

void fb_mpi_move_release(struct fb_move *move)
{
	struct fb_mpi_move *m = (struct fb_mpi_move *)move;

	for (uint32_t i = 0; m->side && i < move->transfers; i++) {
		if (m->side[i].local.made)
			MPI_Type_free(&m->side[i].local.type);
		if (m->side[i].remote.made)
			MPI_Type_free(&m->side[i].remote.type);
	}
	free(m->side);
	free(m->request);
	free(m->status);
	fb_move_free(move);
}

int fb_mpi_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		    struct fb_move **move)
{
	size_t n = given->transfers ? given->transfers : 1;
	int err = fb_move_new(mover, given, bytes, move);
	struct fb_mpi_move *m;

	if (err)
		return err;
	m = (struct fb_mpi_move *)*move;
	m->side = calloc(n, sizeof(*m->side));
	m->request = calloc(2 * n, sizeof(MPI_Request));
	m->status = calloc(n, sizeof(*m->status));
	err = m->side && m->request && m->status ? FB_OK : FB_ENOMEM;
	for (uint32_t i = 0; i < given->transfers && !err; i++) {
		m->request[2 * i] = m->request[2 * i + 1] = MPI_REQUEST_NULL;
		err = make_sides(&given->transfer[i], &m->side[i]);
	}
	if (!err)
		return FB_OK;
	fb_mpi_move_release(*move);
	return err == FB_EUNSUPPORTED ? err
				      : fb_error(err, "mover %s: out of memory", mover->ops->name);
}
