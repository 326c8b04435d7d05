/* SPDX-License-Identifier: BSD-3-Clause */
/* What the movers over MPI share: moves whose pieces are described by derived datatypes. */
#ifndef FB_COMMON_MOVER_MPI_MOVE_H
#define FB_COMMON_MOVER_MPI_MOVE_H

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

struct fb_mpi_move {
	struct fb_move move;
	struct fb_mpi_sides *side; /* [transfers] */
	MPI_Request *request;      /* [2 * transfers], all MPI_REQUEST_NULL */
	MPI_Status *status;        /* [transfers]; MPICH's MPI_STATUSES_IGNORE upsets gcc */
};

/*
 * Local: a move of `bytes` zeroed bytes that begin with a struct fb_mpi_move, which is filled in.
 * Neighbouring pieces are joined; a transfer that is one run needs no derived type. 0, FB_ENOMEM
 * (printed), or FB_EUNSUPPORTED (not printed) where MPI's counts, which are ints, do not suffice.
 */
int fb_mpi_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		    struct fb_move **move);

/* fb_mover_ops.release */
void fb_mpi_move_release(struct fb_move *move);

#endif
