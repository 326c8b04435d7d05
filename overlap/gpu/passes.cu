/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of a step that memory bounds: a plain pass, the optimizer, attention's pass over scores. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "overlap/gpu/passes.h"

enum { THREADS = 256, MOST_BLOCKS = 1024, VECTOR = 4 };

__global__ void __launch_bounds__(THREADS) scale(float4 *to, const float4 *from, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS) {
		float4 x = from[i];

		to[i] = make_float4(1.5F * x.x, 1.5F * x.y, 1.5F * x.z, 1.5F * x.w);
	}
}

__global__ void __launch_bounds__(THREADS) adam(float *p, float *m, float *v, const float *g,
						uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS) {
		float gradient = g[i];

		m[i] = 0.9F * m[i] + 0.1F * gradient;
		v[i] = 0.999F * v[i] + 0.001F * gradient * gradient;
		p[i] -= 0.001F * m[i] / (sqrtf(fabsf(v[i])) + 1e-8F);
	}
}

__global__ void __launch_bounds__(THREADS) soften(uint16_t *scores, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS) {
		__nv_bfloat16 *at = (__nv_bfloat16 *)&scores[i];
		float x = __bfloat162float(*at) * 0x1p-6F;

		*at = __float2bfloat16((1 + x + x * x / 2) / 2);
	}
}

template <typename TYPE>
__global__ void __launch_bounds__(THREADS) cast(TYPE *to, const float *from, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS)
		to[i] = TYPE(from[i]);
}

template <typename TYPE, typename WIDE>
__global__ void __launch_bounds__(THREADS) add(TYPE *to, const TYPE *from, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS)
		to[i] = TYPE(WIDE(to[i]) + WIDE(from[i]));
}

__global__ void __launch_bounds__(THREADS) spin(float *to, uint64_t each)
{
	float x = (float)threadIdx.x, y = x + 1, z = x + 2, w = x + 3;

	for (uint64_t i = 0; i < each; i += 4) {
		x = 0.5F * x + 1;
		y = 0.5F * y + 1;
		z = 0.5F * z + 1;
		w = 0.5F * w + 1;
	}
	if (x + y + z + w < 0) /* never: so that the compiler keeps the loop */
		*to = x;
}

__global__ void clear(uint32_t *found)
{
	*found = 0;
}

__global__ void __launch_bounds__(THREADS) select(struct fb_pass_select s)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < s.count;
	     i += gridDim.x * (uint64_t)THREADS) {
		float x = s.from[i];
		uint32_t place;

		if (fabsf(x) <= s.least)
			continue;
		place = atomicAdd(s.found, 1U);
		if (place >= s.most)
			continue;
		s.values[place] = x;
		s.places[place] = (uint32_t)i;
	}
}

static unsigned blocks_for(uint64_t count)
{
	uint64_t blocks = (count + THREADS - 1) / THREADS, most = MOST_BLOCKS;

	return (unsigned)(blocks < most ? blocks : most);
}

extern "C" int fb_pass_scale(float *to, const float *from, uint64_t count, void *stream)
{
	scale<<<blocks_for(count / VECTOR), THREADS, 0, (cudaStream_t)stream>>>(
		(float4 *)to, (const float4 *)from, count / VECTOR);
	return (int)cudaGetLastError();
}

extern "C" int fb_pass_adam(float *state, uint64_t count, void *stream)
{
	adam<<<blocks_for(count), THREADS, 0, (cudaStream_t)stream>>>(
		state, state + count, state + 2 * count, state + 3 * count, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_pass_soften(uint16_t *scores, uint64_t count, void *stream)
{
	soften<<<blocks_for(count), THREADS, 0, (cudaStream_t)stream>>>(scores, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_pass_cast(void *to, const float *from, uint64_t count, uint64_t bytes,
			    void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	if (bytes == 1)
		cast<<<blocks_for(count), THREADS, 0, s>>>((__nv_fp8_e4m3 *)to, from, count);
	else if (bytes == 2)
		cast<<<blocks_for(count), THREADS, 0, s>>>((__nv_bfloat16 *)to, from, count);
	else
		cast<<<blocks_for(count), THREADS, 0, s>>>((float *)to, from, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_pass_select(const struct fb_pass_select *select_, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	clear<<<1, 1, 0, s>>>(select_->found);
	select<<<blocks_for(select_->count), THREADS, 0, s>>>(*select_);
	return (int)cudaGetLastError();
}

extern "C" int fb_pass_spin(float *to, uint64_t count, void *stream)
{
	uint64_t threads = (uint64_t)MOST_BLOCKS * THREADS;

	spin<<<MOST_BLOCKS, THREADS, 0, (cudaStream_t)stream>>>(to, (count + threads - 1) /
								    threads);
	return (int)cudaGetLastError();
}

template <typename TYPE, typename WIDE>
static void launch_add(void *to, const void *from, uint64_t count, void *stream)
{
	add<TYPE, WIDE><<<blocks_for(count), THREADS, 0, (cudaStream_t)stream>>>(
		(TYPE *)to, (const TYPE *)from, count);
}

extern "C" int fb_pass_add(void *to, const void *from, uint64_t count, enum fb_datatype type,
			   void *stream)
{
	static void (*const launch[FB_DATATYPES])(void *, const void *, uint64_t, void *) = {
		launch_add<uint8_t, uint8_t>, launch_add<uint8_t, uint8_t>, /* in their order */
		launch_add<uint32_t, uint32_t>, launch_add<uint32_t, uint32_t>,
		launch_add<uint64_t, uint64_t>, launch_add<uint64_t, uint64_t>,
		launch_add<__half, float>, launch_add<__nv_bfloat16, float>,
		launch_add<float, float>, launch_add<double, double>,
		launch_add<__nv_fp8_e4m3, float>, launch_add<__nv_fp8_e5m2, float>,
	};

	launch[type](to, from, count, stream);
	return (int)cudaGetLastError();
}
