/* SPDX-License-Identifier: BSD-3-Clause */
/* A blocking kernel; see gpu_hold.h. */
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_hold.h"

static const uint64_t limit_ns = UINT64_C(10000000000);

int fb_gpu_hold_open(struct fb_gpu_hold *hold)
{
	void *gate = NULL, *device_gate = NULL;
	int err = FB_CUDA(cudaHostAlloc(&gate, sizeof(*hold->gate), cudaHostAllocMapped));

	*hold = (struct fb_gpu_hold){.gate = gate};
	if (err)
		return err;
	*hold->gate = (struct fb_hold_gate){.open = 0};
	err = FB_CUDA(cudaHostGetDevicePointer(&device_gate, gate, 0));
	hold->device_gate = device_gate;
	return err ? err : FB_CUDA((cudaError_t)fb_stream_kernels_load());
}

void fb_gpu_hold_close(struct fb_gpu_hold *hold)
{
	if (hold->gate)
		(void)cudaFreeHost(hold->gate);
	*hold = (struct fb_gpu_hold){.gate = NULL};
}

int fb_gpu_hold_begin(struct fb_gpu_hold *hold, void *stream)
{
	int err = FB_CUDA((cudaError_t)fb_stream_kernel_hold(hold->device_gate, hold->number + 1,
							     limit_ns, stream));

	if (err)
		return err;
	hold->number++;
	hold->held = true;
	return FB_OK;
}

void fb_gpu_hold_end(struct fb_gpu_hold *hold)
{
	if (hold->held)
		__atomic_store_n(&hold->gate->open, hold->number, __ATOMIC_RELEASE);
	hold->held = false;
}

int fb_gpu_hold_check(const struct fb_gpu_hold *hold)
{
	if (!hold->number || __atomic_load_n(&hold->gate->gave_up, __ATOMIC_ACQUIRE) !=
				     hold->number)
		return FB_OK;
	return fb_error(FB_ETIMEOUT, "the blocking kernel waited for more than 10 s: either this "
			"rank's launches filled the queue, or other ranks were late");
}
