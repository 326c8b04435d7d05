/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the two parts of the MPI engine: mpi.c prepares, mpi_calls.c calls. */
#ifndef FB_COLLECTIVES_ENGINE_MPI_H
#define FB_COLLECTIVES_ENGINE_MPI_H

#include "collectives/engine/engine.h"

struct fb_mpi_request {
	struct fb_request request;
	int (*call)(struct fb_mpi_request *r); /* the whole operation, or its begin */
	const void *send;                      /* MPI_IN_PLACE where the rule says so */
	void *receive;
	int count;                             /* elements per block */
	int *send_counts, *send_first;         /* [nranks] unequal: elements, displacements */
	int *receive_counts, *receive_first;
	MPI_Datatype type;
	MPI_Op op;
	int root, next, previous; /* next, previous: of the ring shift */
	MPI_Comm comm;
	MPI_Request pending[2];   /* MPI_REQUEST_NULL, or inactive where persistent */
	int npending;             /* of them in use */
	bool blocking, persistent;
	bool device; /* its buffers are in GPU memory */
};

/*
 * How MPI spells a collective. NULL: it has no such form; the function's name in messages is
 * still given. `begin` and `init` leave requests in pending[0 .. npending).
 */
struct fb_mpi_calls {
	const char *name; /* "MPI_Allreduce" */
	int (*run)(struct fb_mpi_request *r);
	int (*begin)(struct fb_mpi_request *r);
	int (*init)(struct fb_mpi_request *r);
};

/*
 * The calls for an operation: those in place differ for send_recv. What cannot be done at all
 * has the reason in `why` (FB_REASON_CHARS) and returns NULL. Pure.
 */
const struct fb_mpi_calls *fb_mpi_calls_for(const struct fb_operation *op, char *why);

#endif
