/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A matrix product on the tensor cores, for where there is no cuBLAS: plain, but it keeps the
 * multiprocessors as busy as a library's does, with tiles in shared memory.
 *
 * A block makes TILE x TILE elements in steps of DEPTH: eight warps, each a part of 32 x 64. Tiles
 * are stored as they lie in memory, by columns, so that 16-byte loads and stores fit.
 */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <type_traits>

#include "overlap/gpu/gemm.h"

using namespace nvcuda;

enum {
	TILE = 128,
	DEPTH = 32,
	WARPS = 8,
	THREADS = 32 * WARPS,
	VECTOR = 8,           /* elements of a 16-byte load */
	LONG = TILE + VECTOR, /* leading dimension of a tile, padded against bank conflicts */
	SHORT = DEPTH + VECTOR,
	FRAGMENT = 16,
	PART_M = 32,          /* of a warp */
	PART_N = 64,
	FRAGMENTS_M = PART_M / FRAGMENT,
	FRAGMENTS_N = PART_N / FRAGMENT,
	MOST_BLOCKS = 1024,
};

using element = __nv_bfloat16;
using sums = wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float>;

/* rows x columns from (row, column) of a matrix of `m` x `n`; what is outside of it is 0. */
template <int rows, int columns, int leading>
__device__ void load(element *tile, const uint16_t *from, uint32_t m, uint32_t n, uint32_t row,
		     uint32_t column)
{
	for (int at = threadIdx.x * VECTOR; at < rows * columns; at += THREADS * VECTOR) {
		uint32_t r = at % rows, c = at / rows;
		uint4 value = make_uint4(0, 0, 0, 0);

		if (row + r < m && column + c < n)
			value = *(const uint4 *)(from + (uint64_t)(column + c) * m + row + r);
		*(uint4 *)(tile + c * leading + r) = value;
	}
}

/* What a warp adds to its part by one step. */
template <bool transposed>
__device__ void multiply(sums part[FRAGMENTS_M][FRAGMENTS_N], const element *a, const element *b,
			 int row, int column)
{
	using b_layout = typename std::conditional<transposed, wmma::row_major,
						   wmma::col_major>::type;

	for (int k = 0; k < DEPTH; k += FRAGMENT) {
		wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, element,
			       wmma::col_major> left[FRAGMENTS_M];
		wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, element,
			       b_layout> right;

#pragma unroll
		for (int i = 0; i < FRAGMENTS_M; i++)
			wmma::load_matrix_sync(left[i], a + k * LONG + row + i * FRAGMENT, LONG);
#pragma unroll
		for (int j = 0; j < FRAGMENTS_N; j++) {
			int at = column + j * FRAGMENT;

			wmma::load_matrix_sync(right, transposed ? b + k * LONG + at
								 : b + at * SHORT + k,
					       transposed ? LONG : SHORT);
#pragma unroll
			for (int i = 0; i < FRAGMENTS_M; i++)
				wmma::mma_sync(part[i][j], left[i], right, part[i][j]);
		}
	}
}

/* Through shared memory, as only there a fragment's place is known. */
__device__ void store(const sums &part, float *scratch, const struct fb_gemm &g, uint32_t row,
		      uint32_t column)
{
	int lane = threadIdx.x % 32;

	wmma::store_matrix_sync(scratch, part, FRAGMENT, wmma::mem_col_major);
	__syncwarp();
	for (int at = lane; at < FRAGMENT * FRAGMENT; at += 32) {
		uint32_t r = row + at % FRAGMENT, c = column + at / FRAGMENT;
		element value = __float2bfloat16(scratch[at]);

		if (r < g.m && c < g.n)
			g.to[(uint64_t)c * g.m + r] = *(uint16_t *)&value;
	}
	__syncwarp();
}

template <bool transposed>
__global__ void __launch_bounds__(THREADS) gemm(const struct fb_gemm g)
{
	__shared__ __align__(16) element a[DEPTH * LONG];
	__shared__ __align__(16) element b[transposed ? DEPTH * LONG : TILE * SHORT];
	__shared__ __align__(16) float scratch[WARPS][FRAGMENT * FRAGMENT];
	int warp = threadIdx.x / 32, row = warp % 4 * PART_M, column = warp / 4 * PART_N;
	uint32_t m0 = blockIdx.x * TILE, n0 = blockIdx.y * TILE;
	sums part[FRAGMENTS_M][FRAGMENTS_N];

	for (int i = 0; i < FRAGMENTS_M; i++)
		for (int j = 0; j < FRAGMENTS_N; j++)
			wmma::fill_fragment(part[i][j], 0.0F);
	for (uint32_t k = 0; k < g.k; k += DEPTH) {
		load<TILE, DEPTH, LONG>(a, g.a, g.m, g.k, m0, k);
		if (transposed)
			load<TILE, DEPTH, LONG>(b, g.b, g.n, g.k, n0, k);
		else
			load<DEPTH, TILE, SHORT>(b, g.b, g.k, g.n, k, n0);
		__syncthreads();
		multiply<transposed>(part, a, b, row, column);
		__syncthreads();
	}
	for (int i = 0; i < FRAGMENTS_M; i++)
		for (int j = 0; j < FRAGMENTS_N; j++)
			store(part[i][j], scratch[warp], g, m0 + row + i * FRAGMENT,
			      n0 + column + j * FRAGMENT);
}

__global__ void __launch_bounds__(THREADS) fill(uint16_t *to, uint64_t count, uint32_t seed)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS) {
		uint32_t x = (uint32_t)i * 2654435761U ^ seed;
		element value;

		x = (x ^ x >> 16) * 0x85ebca6bU;
		x = (x ^ x >> 13) * 0xc2b2ae35U;
		value = __float2bfloat16((float)(int32_t)(x ^ x >> 16) * 0x1p-31F);
		to[i] = *(uint16_t *)&value;
	}
}

extern "C" int fb_gemm_launch(const struct fb_gemm *g, void *stream)
{
	const dim3 grid((g->m + TILE - 1) / TILE, (g->n + TILE - 1) / TILE);

	if (g->transposed)
		gemm<true><<<grid, THREADS, 0, (cudaStream_t)stream>>>(*g);
	else
		gemm<false><<<grid, THREADS, 0, (cudaStream_t)stream>>>(*g);
	return (int)cudaGetLastError();
}

extern "C" int fb_gemm_fill(uint16_t *to, uint64_t count, uint32_t seed, void *stream)
{
	uint64_t blocks = (count + THREADS - 1) / THREADS, most = MOST_BLOCKS;

	fill<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0,
	       (cudaStream_t)stream>>>(to, count, seed);
	return (int)cudaGetLastError();
}
