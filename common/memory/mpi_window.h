/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows for MPI's one-sided calls, which not every library has on every machine. */
#ifndef FB_COMMON_MEMORY_MPI_WINDOW_H
#define FB_COMMON_MEMORY_MPI_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "common/system/group.h"

/*
 * Collective on comm, whose ranks are the world's: a window over `bytes` bytes at `base`, in units
 * of a byte. 0; or on all ranks FB_EUNSUPPORTED, with *window MPI_WIN_NULL where there is none.
 */
int fb_mpi_window(const struct fb_group *world, MPI_Comm comm, void *base, size_t bytes,
		  MPI_Win *window);

/*
 * Collective, the same on all ranks: whether the library makes one, of a byte. Where it does not,
 * why[n] says so, and what may help.
 */
bool fb_mpi_has_windows(const struct fb_group *world, MPI_Comm comm, char *why, size_t n);

#endif
