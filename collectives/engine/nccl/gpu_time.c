/* SPDX-License-Identifier: BSD-3-Clause */
/* See gpu_time.h. */
#include "collectives/engine/nccl/gpu_time.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/library/nccl/watch.h"
#include "common/measure/stats.h"

enum {
	CALLS = 9,
	FIRST = 2,            /* the first calls connect NCCL's profiler */
	PAUSE_US = 300,       /* times the call's number: stamps of another call do not fit */
	TOLERANCE_NS = 10000, /* older timers count microseconds */
};

/* How much the clocks' rates may differ, of the time from the first call to the last one. */
static const double drift = 1e-4;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

bool fb_nccl_stamps_fit(const struct fb_nccl_stamps *calls, size_t n)
{
	double least = -INFINITY, most = INFINITY; /* of the GPU's timer minus the host's clock */

	for (size_t i = 0; i < n; i++) {
		const struct fb_nccl_stamps *c = &calls[i];
		/* Differences are small enough for a double. */
		double begin = (double)(int64_t)(c->gpu_begin - calls[0].gpu_begin);
		double end = (double)(int64_t)(c->gpu_end - calls[0].gpu_begin);

		if (!c->gpu_begin || c->gpu_end <= c->gpu_begin)
			return false;
		least = fmax(least, end - (c->host_end - calls[0].host_begin));
		most = fmin(most, begin - (c->host_begin - calls[0].host_begin));
	}
	return least <= most + TOLERANCE_NS + drift * (calls[n - 1].host_end - calls[0].host_begin);
}

/* One call, alone. The same error on all ranks, or 0. */
static int measure(const struct fb_group *group, struct fb_gpu_stream *stream, int number,
		   struct fb_nccl_stamps *stamps)
{
	struct fb_nccl_seen seen;
	int err;

	usleep(PAUSE_US * (unsigned)number);
	MPI_Barrier(group->comm);
	fb_nccl_watch_begin(true);
	stamps->host_begin = now_ns();
	err = fb_gpu_stream_start(stream);
	if (!err)
		err = fb_gpu_stream_wait(stream);
	stamps->host_end = now_ns();
	fb_nccl_watch_end(&seen);
	stamps->gpu_begin = seen.gpu_begin;
	stamps->gpu_end = seen.gpu_end;
	return fb_group_agree(group, err);
}

/* The median over calls, of the rank that counts among all ranks. */
static void conclude(const struct fb_group *group, const struct fb_nccl_stamps *stamps,
		     bool longest, struct fb_nccl_gpu_time *time)
{
	double us[CALLS], scratch[2 * CALLS];
	int ok[2] = {1, fb_nccl_stamps_fit(stamps, CALLS)}; /* has times, which fit the calls */

	for (int i = 0; i < CALLS; i++) {
		us[i] = 1e-3 * (double)(stamps[i].gpu_end - stamps[i].gpu_begin);
		ok[0] = ok[0] && stamps[i].gpu_begin;
	}
	MPI_Allreduce(MPI_IN_PLACE, ok, 2, MPI_INT, MPI_MIN, group->comm);
	MPI_Allreduce(MPI_IN_PLACE, us, CALLS, MPI_DOUBLE, longest ? MPI_MAX : MPI_MIN,
		      group->comm);
	time->mixed = ok[0] && !ok[1];
	if (ok[0] && ok[1])
		time->us = fb_median(us, CALLS, scratch);
}

int fb_nccl_gpu_time(const struct fb_group *group, const struct fb_nccl_need *need,
		     const struct fb_nccl_ran *ran, struct fb_gpu_stream *stream,
		     struct fb_nccl_call *call, struct fb_nccl_group **polled,
		     struct fb_nccl_gpu_time *time)
{
	enum fb_collective what = call->op->collective;
	struct fb_nccl_stamps stamps[FIRST + CALLS];
	struct fb_nccl_group *list = NULL, *made, *usual = *polled;
	int err;

	*time = (struct fb_nccl_gpu_time){.us = NAN};
	if (strcmp(ran->algorithm, "ring") != 0)
		return FB_OK;
	/* Without that communicator (memory may be short) the row lacks this time only. */
	err = fb_nccl_group_get(&list, call->nccl, group, need, &made);
	if (err)
		return err == FB_EPEER ? err : FB_OK;
	*polled = made;
	call->comm = made->comm;
	for (int i = 0; i < FIRST + CALLS && !err; i++)
		err = measure(group, stream, i, &stamps[i]);
	if (!err)
		conclude(group, stamps + FIRST, what == FB_BROADCAST || what == FB_REDUCE, time);
	*polled = usual;
	call->comm = usual->comm;
	fb_nccl_deregister(call->nccl, made->comm, need->registration, made->registered);
	/* Aborts it: ncclCommDestroy would wait for stamps that may never come (gpu_time.h). */
	fb_nccl_group_drop(&list, call->nccl, made);
	return err;
}

void fb_nccl_gpu_time_describe(const struct fb_nccl_gpu_time *time, struct fb_traits *traits)
{
	traits->extra[FB_GPU_US] = time->us;
	if (time->mixed)
		fb_traits_flag(traits, "gpu-time-mixed");
}
