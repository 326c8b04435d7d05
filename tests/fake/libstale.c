/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded into a rank: MPI_Allreduce of floats computes from the input of the call before,
 * as a kernel does that reads its input before the producer has written it.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	static float *before, *now;
	static int held;
	size_t bytes = (size_t)count * sizeof(*before);
	int code;

	if (type != MPI_FLOAT || from == MPI_IN_PLACE || count < 2)
		return PMPI_Allreduce(from, to, count, type, op, comm);
	before = realloc(before, bytes);
	now = realloc(now, bytes);
	if (!before || !now)
		return MPI_ERR_NO_MEM;
	memcpy(now, from, bytes);
	code = PMPI_Allreduce(held == count ? (const void *)before : from, to, count, type, op,
			      comm);
	memcpy(before, now, bytes);
	held = count;
	return code;
}
