/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking the MPI library about GPU memory; see mpi_gpu.h.
 *
 * The functions are looked for in the running process: headers that declare them differ between
 * libraries, and a build of one may run with a later version of it.
 */
#include "common/library/mpi_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { GPU_SUPPORT_CUDA = 0 }; /* MPICH's MPIX_GPU_SUPPORT_CUDA */

enum answer { NO, SILENT, YES }; /* the ranks' common answer is the lowest */

/* ISO C has no conversion from void * to a function's address. */
static bool find(const char *name, void *function, size_t n)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(function, &found, n);
	return found != NULL;
}

static enum answer ask(void)
{
	int (*query)(void), (*support)(int kind, int *has), has = 0;

	if (find("MPIX_Query_cuda_support", &query, sizeof(query)))
		return query() ? YES : NO;
	if (!find("MPIX_GPU_query_support", &support, sizeof(support)) ||
	    support(GPU_SUPPORT_CUDA, &has) != MPI_SUCCESS)
		return SILENT;
	return has ? YES : NO;
}

int fb_mpi_name_chars(const struct fb_group *world)
{
	return (int)strcspn(world->library, ",");
}

bool fb_mpi_takes_gpu(const struct fb_group *world, char *why, size_t n)
{
	int answer = (int)ask();

	MPI_Allreduce(MPI_IN_PLACE, &answer, 1, MPI_INT, MPI_MIN, world->comm);
	if (answer != YES)
		snprintf(why, n, "%.*s %s", fb_mpi_name_chars(world), world->library,
			 answer == NO ? "is not CUDA-aware"
				      : "does not say whether it is CUDA-aware");
	return answer == YES;
}

bool fb_mpi_windows_take_gpu(const struct fb_group *world, char *why, size_t n)
{
	const char open_mpi[] = "Open MPI";
	bool is_open_mpi = !strncmp(world->library, open_mpi, strlen(open_mpi));
	void *ucx = is_open_mpi ? dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	int uses = ucx != NULL;

	if (ucx)
		dlclose(ucx);
	MPI_Allreduce(MPI_IN_PLACE, &uses, 1, MPI_INT, MPI_MAX, world->comm);
	if (uses)
		snprintf(why, n, "Open MPI's one-sided calls over UCX take no GPU memory: try "
			 "OMPI_MCA_osc=^ucx and OMPI_MCA_pml=ob1");
	return !uses;
}
