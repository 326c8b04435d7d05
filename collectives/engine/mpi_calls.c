/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's name for each collective, three times: blocking, nonblocking, persistent (MPI-4).
 *
 * The three take the same arguments but for what comes last, so each collective's arguments are
 * written once and the functions made from them.
 */
#include "collectives/engine/mpi.h"

#include <stdio.h>

enum { TAG = 1 };

#define BLOCKING(name, call, ...)                                                                  \
	static int name##_run(struct fb_mpi_request *r) { return call(__VA_ARGS__); }
#define NONBLOCKING(name, call, ...)                                                               \
	static int name##_begin(struct fb_mpi_request *r)                                          \
	{                                                                                          \
		r->npending = 1;                                                                   \
		return call(__VA_ARGS__, &r->pending[0]);                                          \
	}
#if MPI_VERSION >= 4
#define PERSISTENT(name, call, ...)                                                                \
	static int name##_init(struct fb_mpi_request *r)                                           \
	{                                                                                          \
		r->npending = 1;                                                                   \
		return call(__VA_ARGS__, MPI_INFO_NULL, &r->pending[0]);                           \
	}
#define INIT(function) (function)
#else
#define PERSISTENT(name, call, ...)
#define INIT(function) NULL
#endif

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): who begins is not who waits (mpi.c). */

/* F: blocking, I: nonblocking, P: persistent call. */
#define COLLECTIVE(name, F, I, P, ...)                                                             \
	BLOCKING(name, F, __VA_ARGS__)                                                             \
	NONBLOCKING(name, I, __VA_ARGS__)                                                          \
	PERSISTENT(name, P, __VA_ARGS__)

COLLECTIVE(all_reduce, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init,
	   r->send, r->receive, r->count, r->type, r->op, r->comm)
COLLECTIVE(all_gather, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init,
	   r->send, r->count, r->type, r->receive, r->count, r->type, r->comm)
COLLECTIVE(reduce_scatter, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
	   MPI_Reduce_scatter_block_init,
	   r->send, r->receive, r->count, r->type, r->op, r->comm)
COLLECTIVE(broadcast, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init,
	   r->receive, r->count, r->type, r->root, r->comm)
COLLECTIVE(reduce, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init,
	   r->send, r->receive, r->count, r->type, r->op, r->root, r->comm)
COLLECTIVE(all_to_all, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init,
	   r->send, r->count, r->type, r->receive, r->count, r->type, r->comm)
COLLECTIVE(all_to_all_v, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init,
	   r->send, r->send_counts, r->send_first, r->type,
	   r->receive, r->receive_counts, r->receive_first, r->type, r->comm)
COLLECTIVE(all_gather_v, MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init,
	   r->send, r->send_counts[0], r->type,
	   r->receive, r->receive_counts, r->receive_first, r->type, r->comm)
COLLECTIVE(reduce_scatter_v, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init,
	   r->send, r->receive, r->send_counts, r->type, r->op, r->comm)
COLLECTIVE(gather, MPI_Gather, MPI_Igather, MPI_Gather_init,
	   r->send, r->count, r->type, r->receive, r->count, r->type, r->root, r->comm)
COLLECTIVE(scatter, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init,
	   r->send, r->count, r->type, r->receive, r->count, r->type, r->root, r->comm)
COLLECTIVE(barrier, MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, r->comm)

BLOCKING(send_recv, MPI_Sendrecv,
	 r->send, r->count, r->type, r->next, TAG,
	 r->receive, r->count, r->type, r->previous, TAG, r->comm, MPI_STATUS_IGNORE)
BLOCKING(replace, MPI_Sendrecv_replace,
	 r->receive, r->count, r->type, r->next, TAG, r->previous, TAG, r->comm,
	 MPI_STATUS_IGNORE)
#if MPI_VERSION >= 4
NONBLOCKING(replace, MPI_Isendrecv_replace,
	    r->receive, r->count, r->type, r->next, TAG, r->previous, TAG, r->comm)
#endif

/* Before MPI-4 there is no nonblocking Sendrecv: its two halves, the receiving one first. */
static int send_recv_begin(struct fb_mpi_request *r)
{
	int err = MPI_Irecv(r->receive, r->count, r->type, r->previous, TAG, r->comm,
			    &r->pending[0]);

	if (err)
		return err;
	r->npending = 2;
	return MPI_Isend(r->send, r->count, r->type, r->next, TAG, r->comm, &r->pending[1]);
}

static int send_recv_init(struct fb_mpi_request *r)
{
	int err = MPI_Recv_init(r->receive, r->count, r->type, r->previous, TAG, r->comm,
				&r->pending[0]);

	if (err)
		return err;
	r->npending = 2;
	return MPI_Send_init(r->send, r->count, r->type, r->next, TAG, r->comm, &r->pending[1]);
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

#define CALLS(text, prefix)                                                                        \
	{ .name = (text), .run = prefix##_run, .begin = prefix##_begin,                            \
	  .init = INIT(prefix##_init) }

static const struct fb_mpi_calls calls[FB_COLLECTIVES] = {
	[FB_ALL_REDUCE] = CALLS("MPI_Allreduce", all_reduce),
	[FB_ALL_GATHER] = CALLS("MPI_Allgather", all_gather),
	[FB_REDUCE_SCATTER] = CALLS("MPI_Reduce_scatter_block", reduce_scatter),
	[FB_BROADCAST] = CALLS("MPI_Bcast", broadcast),
	[FB_REDUCE] = CALLS("MPI_Reduce", reduce),
	[FB_ALL_TO_ALL] = CALLS("MPI_Alltoall", all_to_all),
	[FB_ALL_TO_ALL_V] = CALLS("MPI_Alltoallv", all_to_all_v),
	[FB_ALL_GATHER_V] = CALLS("MPI_Allgatherv", all_gather_v),
	[FB_REDUCE_SCATTER_V] = CALLS("MPI_Reduce_scatter", reduce_scatter_v),
	[FB_GATHER] = CALLS("MPI_Gather", gather),
	[FB_SCATTER] = CALLS("MPI_Scatter", scatter),
	[FB_SEND_RECV] = {
		.name = "MPI_Sendrecv", .run = send_recv_run, .begin = send_recv_begin,
		.init = send_recv_init, /* of MPI-1 */
	},
	[FB_BARRIER] = CALLS("MPI_Barrier", barrier),
};

static const struct fb_mpi_calls replace_calls = {
	.name = "MPI_Sendrecv_replace", .run = replace_run, .begin = INIT(replace_begin)};

const struct fb_mpi_calls *fb_mpi_calls_for(const struct fb_operation *op, char *why)
{
	if (op->collective == FB_SEND_RECV && op->in_place)
		return &replace_calls;
	if (op->collective == FB_BROADCAST && !op->in_place) {
		snprintf(why, FB_REASON_CHARS, "MPI_Bcast works in place only");
		return NULL;
	}
	if (op->in_place && (op->collective == FB_REDUCE_SCATTER ||
			     op->collective == FB_REDUCE_SCATTER_V)) {
		snprintf(why, FB_REASON_CHARS, "%s in place writes block 0, not the rank's own",
			 calls[op->collective].name);
		return NULL;
	}
	return &calls[op->collective];
}
