/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy the multiprocessors of a GPU are, by the counters of NVML's GPM, from Hopper on. */
#ifndef FB_COMMON_CUDA_GPU_BUSY_H
#define FB_COMMON_CUDA_GPU_BUSY_H

#include "common/cuda/gpu.h"
#include "common/measure/clock.h"
#include "common/system/group.h"

struct fb_gpu_busy; /* opaque */

/* Shares of the time between begin and end; NAN: not known. */
struct fb_gpu_busy_shares {
	double sms;	  /* in which a multiprocessor had a warp, mean over all of them */
	double occupancy; /* warps that were there, of as many as fit */
};

/* The driver updates GPM's counters at intervals, so begin and end should be this time apart. */
#define FB_GPU_BUSY_LEAST_S 0.1

/*
 * Local. Not to be called while anything is timed: reading takes up to a millisecond. NULL: no
 * NVML, or a GPU or driver without GPM, or no permission to read.
 */
struct fb_gpu_busy *fb_gpu_busy_begin(const struct fb_gpu *gpu);

/* Local: writes the shares since begin and frees `busy`. NULL: writes nothing. */
void fb_gpu_busy_end(struct fb_gpu_busy *busy, struct fb_gpu_busy_shares *shares);

/* Carries out this many measured calls, one after the other. 0 or an error. */
typedef int (*fb_gpu_busy_run_fn)(void *arg, int calls);

/*
 * Collective, while nothing is timed: runs calls for three times FB_GPU_BUSY_LEAST_S, if all ranks
 * have counters. *call_s is the mean time of a call, slowest rank; NAN if none ran. The shares are
 * of this rank's GPU; they are NAN if its multiprocessors were busy for less than `least_share` of
 * the time, because an idle GPU while kernels run means wrong counters. 0 or the error of `run`.
 */
int fb_gpu_busy_measure(const struct fb_gpu *gpu, const struct fb_group *world,
			const struct fb_clock *clock, fb_gpu_busy_run_fn run, void *arg,
			double least_share, struct fb_gpu_busy_shares *shares, double *call_s);

#endif
