/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer's pieces as MPI's derived datatypes. */
#ifndef FB_COMMON_MOVER_MPI_TYPE_H
#define FB_COMMON_MOVER_MPI_TYPE_H

#include <mpi.h>

#include "common/mover/mover.h"

/* `count` elements of the type at offset `at` of a part. */
struct fb_mpi_side {
	uint64_t at;
	MPI_Datatype type;
	int count;
	bool made; /* the type is to be freed */
};

struct fb_mpi_sides {
	struct fb_mpi_side local, remote; /* remote: of PUT and GET */
	uint64_t bytes;                   /* 0: there are no types */
};

/*
 * Local. Neighbours are merged, and what is one run needs no type of its own. 0, FB_ENOMEM (not
 * printed), or FB_EUNSUPPORTED where MPI's counts do not suffice. Freed with the other one, which
 * is safe on zeroes.
 */
int fb_mpi_sides(const struct fb_transfer *transfer, struct fb_mpi_sides *sides);
void fb_mpi_sides_free(struct fb_mpi_sides *sides);

#endif
