/* SPDX-License-Identifier: BSD-3-Clause */
/* Making windows such that a library without them returns an error; see mpi_window.h. */
#include "common/memory/mpi_window.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/mpi_gpu.h"

int fb_mpi_window(const struct fb_group *world, MPI_Comm comm, void *base, size_t bytes,
		  MPI_Win *window)
{
	int err;

	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	err = MPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, comm, window);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
	if (err != MPI_SUCCESS)
		*window = MPI_WIN_NULL;
	return fb_group_agree(world, err == MPI_SUCCESS ? FB_OK : FB_EUNSUPPORTED);
}

/*
 * Some libraries have one-sided calls only if processes can access each other's memory: Open MPI 4
 * needs cross-memory attach or a network, unless a setting makes it use messages. Open MPI 5 no
 * longer has the component for messages.
 */
bool fb_mpi_has_windows(const struct fb_group *world, MPI_Comm comm, char *why, size_t n)
{
	char byte = 0;
	MPI_Win window;

	if (!fb_mpi_window(world, comm, &byte, 1, &window)) {
		MPI_Win_free(&window);
		return true;
	}
	snprintf(why, n, "%.*s has no one-sided calls here: MPI_Win_create fails%s",
		 fb_mpi_name_chars(world), world->library,
		 strncmp(world->library, "Open MPI v4", 11) ? ""
			: "; OMPI_MCA_osc=pt2pt has them by messages");
	return false;
}
