/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer's pieces as MPI's derived datatypes; see mpi_type.h. */
#include "common/mover/mpi_type.h"

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

/* The list once, without repeats. */
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

int fb_mpi_sides(const struct fb_transfer *t, struct fb_mpi_sides *sides)
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

void fb_mpi_sides_free(struct fb_mpi_sides *sides)
{
	if (sides->local.made)
		MPI_Type_free(&sides->local.type);
	if (sides->remote.made)
		MPI_Type_free(&sides->remote.type);
}
