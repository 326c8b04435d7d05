/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of ranks; see group.h.
 *
 * Nodes are what MPI can share memory over, not what host names say: containers and name spaces
 * often carry equal names. Processors are counted as the union of the affinity masks of a
 * node's ranks, cut by the control group's quota, because that is what decides whether a
 * spinning rank steals the processor from the one it waits for.
 */
#include "common/base/error.h"
#include "common/system/group.h"
#include "common/system/numa.h"
#include "common/system/rdma_ports.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whole processors the control group's quota allows, or a huge number where there is none. */
static int quota_cpus(void)
{
	double quota = 0, period = 0;
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

	if (file) {
		int n = fscanf(file, "%lf %lf", &quota, &period);

		fclose(file);
		if (n != 2 || quota <= 0 || period <= 0)
			return FB_NUMA_CPUS;
		return quota / period < 1 ? 1 : (int)(quota / period + 0.5);
	}
	return FB_NUMA_CPUS;
}

/* The processors that the ranks of node_comm may use, all together. */
static int count_cpus(MPI_Comm node_comm)
{
	struct fb_cpus cpus;
	int count, quota;

	(void)fb_cpus_get(&cpus);
	MPI_Allreduce(MPI_IN_PLACE, cpus.word, FB_NUMA_WORDS, MPI_UINT64_T, MPI_BOR, node_comm);
	count = fb_cpus_count(&cpus);
	quota = quota_cpus();
	count = count < quota ? count : quota;
	return count > 0 ? count : 1;
}

/* Numbers the groups given by first_of[rank] (the lowest rank of each rank's group). */
static void number_nodes(struct fb_group *world, const int *first_of)
{
	int next = 0;

	for (int r = 0; r < world->nranks; r++) {
		int first = first_of[r];

		if (first == r) {
			world->node_of[r] = next++;
			world->local_rank_of[r] = 0;
			continue;
		}
		world->node_of[r] = world->node_of[first];
		world->local_rank_of[r] = 0;
		for (int i = first; i < r; i++)
			if (first_of[i] == first)
				world->local_rank_of[r]++;
	}
	world->nnodes = next;
	world->node = world->node_of[world->rank];
	world->local_rank = world->local_rank_of[world->rank];
	world->local_ranks = 0;
	for (int r = 0; r < world->nranks; r++)
		if (world->node_of[r] == world->node)
			world->local_ranks++;
}

int fb_group_pretend_nodes(struct fb_group *world, int pretend_nodes)
{
	int *first_of = calloc((size_t)world->nranks, sizeof(*first_of));
	int first = world->rank, err = first_of ? FB_OK : FB_ENOMEM;
	int share;

	err = fb_group_agree(world, err);
	if (err || !first_of)
		goto free_first;
	MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, world->node_comm);
	MPI_Allgather(&first, 1, MPI_INT, first_of, 1, MPI_INT, world->comm);
	if (pretend_nodes > 0) {
		err = FB_EINPUT;
		share = world->nranks / pretend_nodes;
		if (share == 0 || world->nranks % pretend_nodes) {
			if (world->rank == 0)
				fb_error(err,
					 "option --nodes-as: '%d' is not accepted: expected a "
					 "number by which the %d ranks divide evenly, or 0",
					 pretend_nodes, world->nranks);
			goto free_first;
		}
		for (int r = 0; r < world->nranks; r++) {
			if (first_of[r] == first_of[r / share * share])
				continue;
			if (world->rank == 0)
				fb_error(err,
					 "--nodes-as %d: ranks %d and %d are on different hosts",
					 pretend_nodes, r / share * share, r);
			goto free_first;
		}
		for (int r = 0; r < world->nranks; r++)
			first_of[r] = r / share * share;
		err = FB_OK;
	}
	number_nodes(world, first_of);
free_first:
	free(first_of);
	return err;
}

const char *fb_group_transport(const struct fb_group *group)
{
	bool alone = group->nnodes == group->nranks;

	if (group->nnodes == 1)
		return "shm";
	if (group->rdma)
		return alone ? "rdma" : "shm+rdma";
	return alone ? "tcp" : "shm+tcp";
}

bool fb_group_one_host(const struct fb_group *world)
{
	int size;

	MPI_Comm_size(world->node_comm, &size);
	return size == world->nranks;
}

static void name_library(struct fb_group *world)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;

	MPI_Get_library_version(text, &length);
	/* MPICH separates the words by tabs; a tab would be a nuisance in every table. */
	for (char *p = text; *p; p++)
		if (*p == '\t')
			*p = ' ';
	text[strcspn(text, "\r\n")] = '\0';
	snprintf(world->library, sizeof(world->library), "%.*s", (int)sizeof(world->library) - 1,
		 text);
}

/* Collective over world->comm: the tables of its ranks. 0 or FB_ENOMEM (printed), on all alike. */
static int make_tables(struct fb_group *group)
{
	size_t n = (size_t)group->nranks;
	int err;

	group->node_of = calloc(n, sizeof(int));
	group->local_rank_of = calloc(n, sizeof(int));
	group->world_rank_of = calloc(n, sizeof(int));
	err = group->node_of && group->local_rank_of && group->world_rank_of ? FB_OK : FB_ENOMEM;
	if (err)
		fb_error(err, "out of memory for a table of %d ranks", group->nranks);
	return err;
}

const char *fb_group_thread_level(int level)
{
	return level == MPI_THREAD_SINGLE     ? "single"
	       : level == MPI_THREAD_FUNNELED ? "funneled"
	       : level == MPI_THREAD_MULTIPLE ? "multiple"
					      : "serialized";
}

/*
 * SINGLE is the level at which libraries are fastest: Open MPI 4.1.4 takes atomic instructions and
 * locks from FUNNELED on, which more than doubles the time of a message of 8 bytes. By the letter
 * of the standard a process of that level has one thread, and this one has a watchdog and maybe
 * threads of engines. None of them calls MPI, but for MPI_Abort as the last thing before the
 * process ends. Both families take the level as a promise about MPI calls alone: below MULTIPLE
 * neither's code depends on which other threads a process has, and memory allocation is the C
 * library's, which is safe for threads. --mpi-threads funneled is there for a library where that
 * should not hold.
 */
int fb_group_open(struct fb_group *world, int *argc, char ***argv)
{
	return fb_group_open_threads(world, MPI_THREAD_SINGLE, argc, argv);
}

int fb_group_open_threads(struct fb_group *world, int level, int *argc, char ***argv)
{
	int provided, size, over, rdma, err;
	sigset_t set;

	memset(world, 0, sizeof(*world));
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1); /* fb_launcher_ends() */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (MPI_Init_thread(argc, argv, level, &provided) != MPI_SUCCESS)
		return fb_error(FB_EMPI, "MPI could not be initialised");
	world->thread_level = provided;
	MPI_Comm_dup(MPI_COMM_WORLD, &world->comm);
	MPI_Comm_rank(world->comm, &world->rank);
	MPI_Comm_size(world->comm, &world->nranks);
	MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL,
			    &world->node_comm);
	MPI_Comm_size(world->node_comm, &size);
	world->world = true;
	err = fb_group_agree(world, make_tables(world));
	if (err)
		goto close_world;
	for (int r = 0; r < world->nranks; r++)
		world->world_rank_of[r] = r;
	world->cpus = count_cpus(world->node_comm);
	over = size > world->cpus;
	MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, world->comm);
	world->oversubscribed = over != 0;
	rdma = fb_rdma_usable();
	MPI_Allreduce(MPI_IN_PLACE, &rdma, 1, MPI_INT, MPI_MIN, world->comm);
	world->rdma = rdma != 0;
	if (gethostname(world->host, sizeof(world->host) - 1))
		snprintf(world->host, sizeof(world->host), "unknown");
	name_library(world);
	err = fb_group_pretend_nodes(world, 0);
	if (!err)
		return FB_OK;
close_world:
	fb_group_close(world);
	return err;
}

/* The nodes of the group, as its parent has them; collective over group->comm. */
static int inherit_nodes(struct fb_group *group, int parent_node)
{
	int *first_of = calloc((size_t)group->nranks, sizeof(*first_of));

	if (!first_of)
		return FB_ENOMEM;
	MPI_Allgather(&parent_node, 1, MPI_INT, first_of, 1, MPI_INT, group->comm);
	/* Replaces the parent's node numbers by the first rank of each node. */
	for (int r = group->nranks - 1; r >= 0; r--) {
		int first = r;

		for (int i = 0; i < r && first == r; i++)
			if (first_of[i] == first_of[r])
				first = i;
		first_of[r] = first;
	}
	number_nodes(group, first_of);
	free(first_of);
	return FB_OK;
}

int fb_group_split(const struct fb_group *parent, int colour, struct fb_group *group)
{
	int err = FB_OK, in = colour >= 0, world_rank = parent->world_rank_of[parent->rank];

	*group = *parent;
	group->world = false;
	group->node_of = group->local_rank_of = group->world_rank_of = NULL;
	MPI_Comm_split(parent->comm, in ? colour : MPI_UNDEFINED, parent->rank, &group->comm);
	MPI_Comm_split(parent->node_comm, in ? colour : MPI_UNDEFINED, parent->rank,
		       &group->node_comm);
	if (!in)
		memset(group, 0, sizeof(*group));
	if (in) {
		MPI_Comm_rank(group->comm, &group->rank);
		MPI_Comm_size(group->comm, &group->nranks);
		err = fb_group_agree(group, make_tables(group));
	}
	if (in && !err) {
		MPI_Allgather(&world_rank, 1, MPI_INT, group->world_rank_of, 1, MPI_INT,
			      group->comm);
		err = fb_group_agree(group, inherit_nodes(group, parent->node));
	}
	err = fb_group_agree(parent, err);
	if (err)
		fb_group_close(group);
	return err;
}

void fb_group_close(struct fb_group *group)
{
	bool world = group->world;

	if (group->nranks == 0)
		return;
	free(group->node_of);
	free(group->local_rank_of);
	free(group->world_rank_of);
	MPI_Comm_free(&group->node_comm);
	MPI_Comm_free(&group->comm);
	memset(group, 0, sizeof(*group));
	if (world)
		MPI_Finalize();
}

int fb_group_worst(const struct fb_group *world, int err)
{
	int worst = err;

	MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, world->comm);
	return worst;
}

int fb_group_agree_why(const struct fb_group *group, int err, char *why, size_t n)
{
	int worst = fb_group_agree(group, err), who = err == worst ? group->rank : group->nranks;
	char text[512] = "";

	if (!worst)
		return FB_OK;
	MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, group->comm);
	if (who == group->rank) {
		snprintf(text, sizeof(text), "%s", why);
		if (group->nnodes > 1 && !fb_group_one_host(group))
			snprintf(text, sizeof(text), "%s (host %s)", why, group->host);
	}
	MPI_Bcast(text, sizeof(text), MPI_CHAR, who, group->comm);
	snprintf(why, n, "%.*s", (int)n - 1, text);
	return worst;
}

int fb_group_gather(const struct fb_group *group, const void *own, size_t bytes, char **all,
		    int **begin)
{
	int length = (int)bytes, *lengths = NULL, n = group->rank ? 0 : group->nranks, err = FB_OK;
	long long total = (long long)bytes;

	MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_LONG_LONG, MPI_SUM, group->comm);
	*all = n && total <= INT_MAX ? malloc((size_t)total + 1) : NULL;
	*begin = n ? calloc(2 * (size_t)n + 1, sizeof(**begin)) : NULL;
	if (n && (!*all || !*begin))
		err = fb_error(FB_ENOMEM, "out of memory for %lld bytes of %d ranks", total, n);
	err = fb_group_agree(group, err);
	if (err) {
		free(*all);
		free(*begin);
		*all = NULL;
		*begin = NULL;
		return err;
	}
	lengths = n ? *begin + n + 1 : NULL;
	MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, group->comm);
	for (int r = 0; r < n; r++)
		(*begin)[r + 1] = (*begin)[r] + lengths[r];
	MPI_Gatherv(own, length, MPI_BYTE, *all, lengths, *begin, MPI_BYTE, 0, group->comm);
	return FB_OK;
}

bool fb_group_same(const struct fb_group *group, const char *text, size_t n)
{
	char first[512] = "";
	int same;

	n = n < sizeof(first) ? n : sizeof(first);
	snprintf(first, n, "%s", text);
	MPI_Bcast(first, (int)n, MPI_CHAR, 0, group->comm);
	same = !strncmp(first, text, n - 1);
	MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, group->comm);
	return same;
}

/* Ends the process when MPI_Abort does not: it may wait for a daemon that is gone. */
static void *end_process(void *arg)
{
	const struct timespec second = {.tv_sec = 1};

	nanosleep(&second, NULL);
	_exit((int)(intptr_t)arg);
	return NULL;
}

_Noreturn void fb_group_abort(const struct fb_group *world, int exit_code)
{
	pthread_t thread;

	fflush(stdout);
	/*
	 * Open MPI's abort only writes to its daemon. MPICH's drives the network, which the main
	 * thread may be driving too: UCX then dies of an assertion, with its own exit code. But
	 * MPICH's launchers end a job whose process is gone without MPI_Finalize.
	 */
	if (strncmp(world->library, "Open MPI", 8))
		_exit(exit_code);
	if (pthread_create(&thread, NULL, end_process, (void *)(intptr_t)exit_code))
		_exit(exit_code);
	MPI_Abort(world->comm, exit_code);
	_exit(exit_code);
}
