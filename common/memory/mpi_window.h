/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows for MPI's one-sided calls, which not every library has on every machine. */
#ifndef FB_COMMON_MEMORY_MPI_WINDOW_H
#define FB_COMMON_MEMORY_MPI_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "common/system/group.h"

/*
 * Collective on comm, which has the ranks of `world`: makes a window over `bytes` bytes at `base`,
 * with displacements in bytes. 0; or FB_EUNSUPPORTED on all ranks if any rank got no window; where
 * it got none, *window is MPI_WIN_NULL.
 */
int fb_mpi_window(const struct fb_group *world, MPI_Comm comm, void *base, size_t bytes,
		  MPI_Win *window);

/*
 * Collective, the same on all ranks: tries whether the library can make a window, of one byte. If
 * not, why[n] says so, and what may help.
 */
bool fb_mpi_has_windows(const struct fb_group *world, MPI_Comm comm, char *why, size_t n);

#endif
