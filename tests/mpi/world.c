/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the ranks that mpirun was asked for see each other?
 *
 * The first thing to know about an MPI installation: with a launcher that does not fit the
 * library (another MPI's, or a broken package) each process is a job of one rank, and everything
 * after that measures nothing. FB_RANKS says how many were asked for; exit 77 is that case.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const char *text = getenv("FB_RANKS");
	long want = text ? strtol(text, NULL, 10) : 0;
	int size, rank, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (size == 1 && want > 1) {
		printf("SKIP world: a job of one rank instead of %ld\n", want);
		return 77;
	}
	if (size != want || sum != size * (size - 1) / 2) {
		printf("FAIL world: %d ranks, not %ld; their numbers add up to %d\n", size, want,
		       sum);
		return 1;
	}
	if (rank == 0)
		printf("PASS world (%d ranks)\n", size);
	return 0;
}
