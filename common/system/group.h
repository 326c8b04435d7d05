/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group is a set of ranks: who they are, which of them share a node, and how many processors
 * they have. The first group is the world, all ranks of the job; other groups are parts of it.
 * Engines, movers and transports open on a group, so that a program can run a collective on the
 * ranks of one pipeline stage and another on the replicas of a shard.
 *
 * This is the only place that starts and ends MPI.
 */
#ifndef FB_COMMON_SYSTEM_GROUP_H
#define FB_COMMON_SYSTEM_GROUP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct fb_group {
	MPI_Comm comm;	    /* all ranks; private to the project, never handed to a library */
	MPI_Comm node_comm; /* ranks that can share memory with this one */
	int rank, nranks;
	int node, nnodes; /* nodes are numbered by their lowest rank */
	int local_rank, local_ranks;
	int *node_of;	     /* [nranks] */
	int *local_rank_of;  /* [nranks] */
	int *world_rank_of;  /* [nranks]: the ranks' numbers in the world */
	bool world;	     /* all ranks of the job: closing it ends MPI */
	int cpus;	     /* processors the ranks of this node may use, all together */
	bool oversubscribed; /* on some node: more ranks than processors, so waiting must yield */
	bool rdma;	     /* every rank of the world can use an active RDMA port */
	char host[64];
	int thread_level;  /* what MPI provides, one of its constants */
	char library[128]; /* first line of the MPI library's own version text */
};

/*
 * Collective over MPI_COMM_WORLD: initialises MPI and fills *world with the real nodes. Before
 * MPI creates any thread, SIGINT and SIGTERM are blocked, so that only the watchdog's thread
 * ever takes them. The process's own MPI calls come from its main thread.
 */
int fb_group_open(struct fb_group *world, int *argc, char ***argv);

/* The same, with MPI asked for another thread level than MPI_THREAD_SINGLE. */
int fb_group_open_threads(struct fb_group *world, int level, int *argc, char ***argv);

/* "single", "funneled", "serialized" or "multiple", of one of MPI's constants. */
const char *fb_group_thread_level(int level);

/*
 * Collective: `pretend_nodes` > 0 groups the ranks into that many pretended nodes of
 * consecutive ranks, so that hierarchical plans and slow transports can be exercised on one
 * host; 0 takes the real nodes. Changes node, nnodes, local_*, node_of and local_rank_of, not
 * node_comm's reach, cpus or oversubscribed. FB_EINPUT (printed by rank 0; *world unchanged)
 * when the ranks do not divide evenly or a pretended node would span two real ones.
 */
int fb_group_pretend_nodes(struct fb_group *world, int pretend_nodes);

/*
 * Collective over `parent`: ranks that give the same colour (>= 0) become a group, numbered in the
 * order of their ranks in `parent`. A rank with a negative colour is in none and gets zeroes. Nodes
 * are those of `parent`, pretended ones too, numbered anew. Returns the same on all ranks of
 * `parent`: 0 or FB_ENOMEM (printed). Closed by fb_group_close, before `parent`.
 */
int fb_group_split(const struct fb_group *parent, int colour, struct fb_group *group);

/*
 * Local: what links are made of where nobody says it: "shm" where all ranks are on one node, else
 * "rdma" where every rank has an active port, else "tcp", with "shm+" before it where ranks share
 * nodes. The same on all ranks.
 */
const char *fb_group_transport(const struct fb_group *group);

/* Local: whether fb_group_transport() has RDMA. */
static inline bool fb_group_takes_rdma(const struct fb_group *group)
{
	return group->rdma && group->nnodes > 1;
}

/* Local: whether every rank can share memory with every other, pretended nodes or not. */
bool fb_group_one_host(const struct fb_group *world);

/*
 * Collective: frees what open or split took. Closing the world ends MPI. A group that was never
 * opened (zeroes) is fine.
 */
void fb_group_close(struct fb_group *world);

/* Collective: the worst (lowest) of all ranks' values, so that every rank takes the same way. */
int fb_group_worst(const struct fb_group *world, int err);

/* The same, such that compilers and analysers see that an own error remains one. */
static inline int fb_group_agree(const struct fb_group *world, int err)
{
	int worst = fb_group_worst(world, err);

	return worst ? worst : err;
}

/*
 * Collective: the same, and where the worst value is an error, why[n] becomes the text of the first
 * rank that has that error, with its host if the group has several.
 */
int fb_group_agree_why(const struct fb_group *group, int err, char *why, size_t n);

/*
 * Collective: the `bytes` bytes of each rank, one behind the other, to rank 0 as *all. Those of
 * rank r begin at (*begin)[r], and (*begin)[nranks] is the end. Both are malloced; on the other
 * ranks they are NULL. Returns the same on all ranks: 0, or FB_ENOMEM (printed) with both NULL.
 */
int fb_group_gather(const struct fb_group *group, const void *own, size_t bytes, char **all,
		    int **begin);

/* Collective: whether every rank of the group gives the same text, of n bytes with its NUL. */
bool fb_group_same(const struct fb_group *group, const char *text, size_t n);

/*
 * Ends the job at once from one rank: used only where others may wait in a collective. Prints
 * nothing; the finder has printed. Does not return, even where MPI_Abort hangs: the process
 * then ends by itself within a second. May be called from any thread, while the main thread is
 * anywhere. mpirun returns exit_code.
 */
_Noreturn void fb_group_abort(const struct fb_group *world, int exit_code);

#endif
