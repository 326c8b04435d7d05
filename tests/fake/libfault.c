/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded into a rank: has one rank stop, hang or end with exit code 0 at a point where the
 * job depends on it. FAULT is stop, hang or exit; FAULT_AT is load (before main), init (in
 * MPI_Init), middle (in the rows) or finalize; FAULT_RANK is the rank, or all.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIDDLE = 150 }; /* the call of MPI_Allreduce that counts as the middle */

static int chosen(const char *where)
{
	const char *at = getenv("FAULT_AT"), *which = getenv("FAULT_RANK");
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	rank = rank ? rank : getenv("PMI_RANK");
	if (!at || !which || !rank || strcmp(at, where))
		return 0;
	return !strcmp(which, "all") || !strcmp(which, rank);
}

static void misbehave(const char *where)
{
	const char *what = getenv("FAULT");

	if (!what || !chosen(where))
		return;
	if (!strcmp(what, "exit"))
		_exit(0);
	if (!strcmp(what, "stop"))
		raise(SIGSTOP);
	for (;;)
		pause();
}

__attribute__((constructor)) static void load(void)
{
	misbehave("load");
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	misbehave("init");
	return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	static int calls;

	if (++calls == MIDDLE)
		misbehave("middle");
	return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Finalize(void)
{
	misbehave("finalize");
	return PMPI_Finalize();
}
