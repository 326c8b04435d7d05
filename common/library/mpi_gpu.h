/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the MPI library takes addresses of GPU memory ("CUDA-aware"). One that does not reads
 * and writes them like any other, and the process ends; so it is asked before it is given one.
 */
#ifndef FB_COMMON_LIBRARY_MPI_GPU_H
#define FB_COMMON_LIBRARY_MPI_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "common/system/group.h"

/*
 * Collective, the same on all ranks: whether the library says so on each of them. Where it does
 * not, why[n] says what it lacks: "Open MPI v4.1.4 is not CUDA-aware". Asked by what libraries
 * have beyond the standard: MPIX_Query_cuda_support (Open MPI, MPICH, MVAPICH2), else
 * MPIX_GPU_query_support (MPICH 4 and what is made of it).
 */
bool fb_mpi_takes_gpu(const struct fb_group *world, char *why, size_t n);

/*
 * The same of windows, for a library that takes it in messages: Open MPI's one-sided calls over
 * UCX do not (its documentation, "Which MPI APIs do NOT work with CUDA-aware UCX"). Called before
 * anybody else loads a UCX.
 */
bool fb_mpi_windows_take_gpu(const struct fb_group *world, char *why, size_t n);

/* Length of "Open MPI v4.1.4", with which world->library begins. */
int fb_mpi_name_chars(const struct fb_group *world);

#endif
