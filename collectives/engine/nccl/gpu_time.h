/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the kernel of a call works, by the GPU's timer (NCCL's profiler, 2.27).
 *
 * By their source, 2.27 to 2.30 count the works of each channel twice, on the host and in the
 * kernel. The host waits for time stamps under its own number, and reads whatever stands there.
 * The two numbers go apart with each replay of a graph that was captured without such events, and
 * with each copy of a rank to itself in sends and receives. Then stamps belong to other calls, and
 * a number that no kernel reaches is waited for until the communicator is aborted:
 * ncclCommDestroy does not return. So these calls have a communicator of their own, which makes no
 * other calls.
 *
 * A channel's stamps are those of the first thread of its block. Only in rings does this thread
 * work until the end: sends and receives, trees, NVLS and PAT divide the threads of a block.
 */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_GPU_TIME_H
#define FB_COLLECTIVES_ENGINE_NCCL_GPU_TIME_H

#include "collectives/engine/nccl/calls.h"
#include "collectives/engine/nccl/tuning.h"
#include "common/cuda/gpu_stream.h"
#include "common/library/nccl/comm.h"
#include "common/record/traits.h"

/* A call that has ended, in ns: by the host's clock from before it until after it, and by the GPU's
 * timer from its first stamp to its last one. */
struct fb_nccl_stamps {
	double host_begin, host_end;
	uint64_t gpu_begin, gpu_end; /* 0: not told */
};

/*
 * Pure: whether the GPU's times can be those of these calls: one offset between the two clocks must
 * put the work of every call between the begin and the end of that call.
 */
bool fb_nccl_stamps_fit(const struct fb_nccl_stamps *calls, size_t n);

struct fb_nccl_gpu_time {
	double us;  /* NAN: not known */
	bool mixed; /* because NCCL told times that are not those of the calls */
};

/*
 * Collective: measures the call outside of timing, on a separate communicator for `need`, which is
 * aborted afterwards. Meanwhile call->comm and *polled are of that communicator. `ran` is what the
 * call ran before: only rings have a time. It is the median over calls of the rank where the kernel
 * is shortest, as this rank waits least for others. For broadcast and reduce it is the rank where
 * it is longest, as other ranks are done early. There is no time where that communicator cannot be
 * made (printed). Returns 0 or the same error on all ranks.
 */
int fb_nccl_gpu_time(const struct fb_group *group, const struct fb_nccl_need *need,
		     const struct fb_nccl_ran *ran, struct fb_gpu_stream *stream,
		     struct fb_nccl_call *call, struct fb_nccl_group **polled,
		     struct fb_nccl_gpu_time *time);

/* The column gpu_us, and the flag gpu-time-mixed. */
void fb_nccl_gpu_time_describe(const struct fb_nccl_gpu_time *time, struct fb_traits *traits);

#endif
