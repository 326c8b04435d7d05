/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See kernels.h. A team of threads makes one call for a chunk of at most FB_MOVE_CHUNK bytes. After
 * its calls each thread executes nvshmem_quiet. Blocks then count themselves by an atomic between
 * two fences, and the last one sends the signal. If one block moves one piece, the call carries the
 * signal itself.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include "common/mover/nvshmem/kernels.h"

#define FB_NVSHMEM_HEADERS                                                                         \
	(NVSHMEM_VENDOR_MAJOR_VERSION * 1000 + NVSHMEM_VENDOR_MINOR_VERSION)
/* Since 3.7 blocks may give it shared memory. */
#define FB_NVSHMEM_HAS_BULK (FB_NVSHMEM_HEADERS >= 3007)

template <enum fb_nvshmem_team TEAM>
__device__ static void carry(const struct fb_nvshmem_launch *l, uint64_t to, uint64_t from,
			     uint64_t bytes)
{
	void *there = (void *)to;
	const void *here = (const void *)from;

	if (TEAM == FB_NVSHMEM_THREAD && l->gets)
		nvshmem_getmem_nbi(there, here, bytes, l->pe);
	else if (TEAM == FB_NVSHMEM_THREAD)
		nvshmem_putmem_nbi(there, here, bytes, l->pe);
	else if (TEAM == FB_NVSHMEM_WARP && l->gets)
		nvshmemx_getmem_nbi_warp(there, here, bytes, l->pe);
	else if (TEAM == FB_NVSHMEM_WARP)
		nvshmemx_putmem_nbi_warp(there, here, bytes, l->pe);
	else if (l->gets)
		nvshmemx_getmem_nbi_block(there, here, bytes, l->pe);
	else
		nvshmemx_putmem_nbi_block(there, here, bytes, l->pe);
}

/* By the first team of the only block. */
template <enum fb_nvshmem_team TEAM>
__device__ static void carry_with_signal(const struct fb_nvshmem_launch *l)
{
	void *there = (void *)l->way.to;
	const void *here = (const void *)l->way.from;
	size_t bytes = l->way.bytes;

	if (TEAM == FB_NVSHMEM_BLOCK)
		nvshmemx_putmem_signal_block(there, here, bytes, l->word, l->value,
					     NVSHMEM_SIGNAL_SET, l->pe);
	else if (TEAM == FB_NVSHMEM_WARP && threadIdx.x < warpSize)
		nvshmemx_putmem_signal_warp(there, here, bytes, l->word, l->value,
					    NVSHMEM_SIGNAL_SET, l->pe);
	else if (TEAM == FB_NVSHMEM_THREAD && threadIdx.x == 0)
		nvshmem_putmem_signal(there, here, bytes, l->word, l->value, NVSHMEM_SIGNAL_SET,
				      l->pe);
}

/* Chunk `i` of a repeat. */
template <enum fb_nvshmem_team TEAM>
__device__ static void carry_chunk(const struct fb_nvshmem_launch *l, uint64_t repeat, uint64_t i)
{
	const struct fb_move_way *way = &l->way;
	const struct fb_move_chunk *chunk = (const struct fb_move_chunk *)way->chunk;
	uint64_t from = way->from + repeat * way->from_step;
	uint64_t to = way->to + repeat * way->to_step;
	uint64_t offset = i * FB_MOVE_CHUNK;

	if (chunk) {
		carry<TEAM>(l, to + chunk[i].to, from + chunk[i].from, chunk[i].bytes);
	} else {
		uint64_t rest = way->bytes - offset;

		carry<TEAM>(l, to + offset, from + offset,
			    rest < FB_MOVE_CHUNK ? rest : FB_MOVE_CHUNK);
	}
}

template <enum fb_nvshmem_team TEAM>
__device__ static void carry_all(const struct fb_nvshmem_launch *l)
{
	uint32_t size = TEAM == FB_NVSHMEM_THREAD ? 1
			: TEAM == FB_NVSHMEM_WARP ? warpSize : blockDim.x;
	uint64_t team = (blockIdx.x * blockDim.x + threadIdx.x) / size;
	uint64_t teams = (uint64_t)gridDim.x * blockDim.x / size;
	uint64_t chunks = l->way.chunk ? l->way.chunks
				       : (l->way.bytes + FB_MOVE_CHUNK - 1) / FB_MOVE_CHUNK;

	for (uint64_t i = team; i < chunks * l->way.repeats; i += teams)
		carry_chunk<TEAM>(l, i / chunks, i % chunks);
}

template <enum fb_nvshmem_team TEAM>
__global__ static void __launch_bounds__(FB_NVSHMEM_THREADS)
	fb_nvshmem_move(const __grid_constant__ struct fb_nvshmem_launch launch)
{
	extern __shared__ __align__(128) unsigned char pool[];
	const struct fb_nvshmem_launch *l = &launch;

#if FB_NVSHMEM_HAS_BULK
	if (l->bulk) {
		nvshmemx_give_smem(pool, (size_t)nvshmemx_ask_smem(NVSHMEMX_SMEM_RECOMMENDED));
		__syncthreads();
	}
#endif
	if (l->word && !l->gets && gridDim.x == 1 && !l->way.chunk && l->way.bytes &&
	    l->way.repeats == 1) {
		carry_with_signal<TEAM>(l);
	} else {
		carry_all<TEAM>(l);
		nvshmem_quiet();
		__syncthreads();
		if (threadIdx.x == 0) {
			__threadfence_system();
			if (atomicAdd(l->blocks_done, 1) + 1 == gridDim.x) {
				__threadfence_system();
				*l->blocks_done = 0;
				if (l->word)
					nvshmemx_signal_op(l->word, l->value, NVSHMEM_SIGNAL_SET,
							   l->pe);
			}
		}
	}
#if FB_NVSHMEM_HAS_BULK
	__syncthreads();
	if (l->bulk)
		nvshmemx_release_smem();
#else
	(void)pool;
#endif
}

int fb_nvshmem_device_version(void)
{
	return FB_NVSHMEM_HEADERS;
}

/* As nvshmemx_init_attr, which would end the process where something fails. */
int fb_nvshmem_device_start(void *init_attr)
{
	const nvshmemi_version_t version = {NVSHMEM_VENDOR_MAJOR_VERSION,
					    NVSHMEM_VENDOR_MINOR_VERSION,
					    NVSHMEM_VENDOR_PATCH_VERSION};
	int provided;

	return nvshmemi_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided,
				    NVSHMEMX_INIT_WITH_UNIQUEID,
				    static_cast<nvshmemx_init_attr_t *>(init_attr), version);
}

template <enum fb_nvshmem_team TEAM>
static int launch(const struct fb_nvshmem_launch *l, uint32_t blocks, cudaStream_t stream)
{
	size_t shared = 0;
	cudaError_t code = cudaSuccess;

#if FB_NVSHMEM_HAS_BULK
	if (l->bulk) {
		shared = (size_t)nvshmemx_ask_smem(NVSHMEMX_SMEM_RECOMMENDED);
		code = cudaFuncSetAttribute(fb_nvshmem_move<TEAM>,
					    cudaFuncAttributeMaxDynamicSharedMemorySize,
					    (int)shared);
	}
#endif
	if (code == cudaSuccess) {
		fb_nvshmem_move<TEAM><<<blocks, FB_NVSHMEM_THREADS, shared, stream>>>(*l);
		code = cudaGetLastError();
	}
	return (int)code;
}

int fb_nvshmem_device_launch(const struct fb_nvshmem_launch *l, uint32_t blocks, void *stream)
{
	cudaStream_t on = static_cast<cudaStream_t>(stream);

	if (l->team == FB_NVSHMEM_THREAD)
		return launch<FB_NVSHMEM_THREAD>(l, blocks, on);
	return l->team == FB_NVSHMEM_WARP ? launch<FB_NVSHMEM_WARP>(l, blocks, on)
					  : launch<FB_NVSHMEM_BLOCK>(l, blocks, on);
}
