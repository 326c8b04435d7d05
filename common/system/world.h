/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a job: who they are, which of them share a node, and how many processors they
 * have. This is the only place that starts and ends MPI.
 */
#ifndef FB_COMMON_SYSTEM_WORLD_H
#define FB_COMMON_SYSTEM_WORLD_H

#include <mpi.h>
#include <stdbool.h>

struct fb_world {
	MPI_Comm comm;	    /* all ranks; private to the harness, never handed to an engine */
	MPI_Comm node_comm; /* ranks that can share memory with this one */
	int rank, nranks;
	int node, nnodes; /* nodes are numbered by their lowest rank */
	int local_rank, local_ranks;
	int *node_of;	     /* [nranks] */
	int *local_rank_of;  /* [nranks] */
	int cpus;	     /* processors the ranks of this node may use, all together */
	bool oversubscribed; /* on some node: more ranks than processors, so waiting must yield */
	char host[64];
	char library[128]; /* first line of the MPI library's own version text */
};

/*
 * Collective over MPI_COMM_WORLD: initialises MPI and fills *world with the real nodes. Before
 * MPI creates any thread, SIGINT and SIGTERM are blocked, so that only the watchdog's thread
 * ever takes them. The process's own MPI calls come from its main thread.
 */
int fb_world_open(struct fb_world *world, int *argc, char ***argv);

/*
 * Collective: `pretend_nodes` > 0 groups the ranks into that many pretended nodes of
 * consecutive ranks, so that hierarchical plans and slow transports can be exercised on one
 * host; 0 takes the real nodes. Changes node, nnodes, local_*, node_of and local_rank_of, not
 * node_comm's reach, cpus or oversubscribed. FB_EINPUT (printed by rank 0; *world unchanged)
 * when the ranks do not divide evenly or a pretended node would span two real ones.
 */
int fb_world_group(struct fb_world *world, int pretend_nodes);

/* Local: whether every rank can share memory with every other, pretended nodes or not. */
bool fb_world_one_host(const struct fb_world *world);

/* Collective: frees what open took and ends MPI. A world that was never opened (zeroes) is fine. */
void fb_world_close(struct fb_world *world);

/* Collective: the worst (lowest) of all ranks' values, so that every rank takes the same way. */
int fb_world_worst(const struct fb_world *world, int err);

/* The same, such that compilers and analysers see that an own error remains one. */
static inline int fb_world_agree(const struct fb_world *world, int err)
{
	int worst = fb_world_worst(world, err);

	return worst ? worst : err;
}

/*
 * Ends the job at once from one rank: used only where others may wait in a collective. Prints
 * nothing; the finder has printed. Does not return, even where MPI_Abort hangs: the process
 * then ends by itself within a second. May be called from any thread, while the main thread is
 * anywhere. mpirun returns exit_code.
 */
_Noreturn void fb_world_abort(const struct fb_world *world, int exit_code);

#endif
