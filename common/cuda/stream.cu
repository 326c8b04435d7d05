/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels around those that are timed; see stream_kernels.h. */
#include "common/cuda/stream_kernels.h"

enum { CLEAR_THREADS = 512 };

/* Ordinary stores, which allocate lines in the L2 cache. */
__global__ void __launch_bounds__(CLEAR_THREADS)
	clear_cache(uint4 *memory, size_t count, uint32_t value)
{
	for (size_t i = blockIdx.x * (size_t)CLEAR_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (size_t)CLEAR_THREADS)
		memory[i] = make_uint4(value, value, value, value);
}

static __device__ uint64_t now_ns()
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/* Numbers wrap, so they are compared by their difference. */
__global__ void hold_stream(struct fb_hold_gate *gate, uint32_t number, uint64_t limit_ns)
{
	const volatile uint32_t *open = &gate->open;
	uint64_t start = now_ns();

	while ((int32_t)(*open - number) < 0) {
		if (now_ns() - start < limit_ns)
			continue;
		*(volatile uint32_t *)&gate->gave_up = number;
		__threadfence_system();
		return;
	}
}

extern "C" int fb_stream_kernel_clear(void *memory, size_t bytes, uint32_t value, unsigned blocks)
{
	clear_cache<<<blocks, CLEAR_THREADS>>>((uint4 *)memory, bytes / sizeof(uint4), value);
	return (int)cudaGetLastError();
}

extern "C" int fb_stream_kernel_hold(struct fb_hold_gate *gate, uint32_t number, uint64_t limit_ns,
				     void *stream)
{
	hold_stream<<<1, 1, 0, (cudaStream_t)stream>>>(gate, number, limit_ns);
	return (int)cudaGetLastError();
}

extern "C" int fb_stream_kernels_load(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t code = cudaFuncGetAttributes(&attributes, clear_cache);

	if (code == cudaSuccess)
		code = cudaFuncGetAttributes(&attributes, hold_stream);
	return (int)code;
}
