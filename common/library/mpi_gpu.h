/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the MPI library takes addresses of GPU memory ("CUDA-aware"). A library that is not would
 * access them like host memory, and the process would crash; so the library is asked first.
 */
#ifndef FB_COMMON_LIBRARY_MPI_GPU_H
#define FB_COMMON_LIBRARY_MPI_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "common/system/group.h"

/*
 * Collective, the same on all ranks: whether the libraries of all ranks are. If not, why[n] has the
 * reason: "Open MPI v4.1.4 is not CUDA-aware". The functions asked are not in the MPI standard:
 * MPIX_Query_cuda_support (Open MPI, MPICH, MVAPICH2), else MPIX_GPU_query_support (MPICH 4 and
 * libraries derived from it).
 */
bool fb_mpi_takes_gpu(const struct fb_group *world, char *why, size_t n);

/*
 * The same for windows, where the library takes GPU memory in messages: Open MPI's one-sided calls
 * over UCX do not (its documentation, "Which MPI APIs do NOT work with CUDA-aware UCX"). Call it
 * before this program loads a UCX, because a loaded UCX is taken for MPI's.
 */
bool fb_mpi_windows_take_gpu(const struct fb_group *world, char *why, size_t n);

/* Length of "Open MPI v4.1.4", with which world->library begins. */
int fb_mpi_name_chars(const struct fb_group *world);

#endif
