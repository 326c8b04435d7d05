/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared code of the kernels that fill and check GPU memory: elements of any size as bits, one
 * element per thread, and counting wrong elements. For .cu files only.
 */
#ifndef FB_COMMON_CUDA_DATA_ACCESS_H
#define FB_COMMON_CUDA_DATA_ACCESS_H

#include <cuda_runtime.h>

#include "common/cuda/data_kernels.h"

enum { FB_DATA_THREADS = 256 };

/* Writes and reads element i, as bits, of an array whose elements have this many bytes. */
static __device__ inline void fb_data_put(void *to, uint64_t i, uint32_t bytes, uint64_t value)
{
	if (bytes == 1)
		((uint8_t *)to)[i] = (uint8_t)value;
	else if (bytes == 2)
		((uint16_t *)to)[i] = (uint16_t)value;
	else if (bytes == 4)
		((uint32_t *)to)[i] = (uint32_t)value;
	else
		((uint64_t *)to)[i] = value;
}

static __device__ inline uint64_t fb_data_get(const void *from, uint64_t i, uint32_t bytes)
{
	if (bytes == 1)
		return ((const uint8_t *)from)[i];
	if (bytes == 2)
		return ((const uint16_t *)from)[i];
	if (bytes == 4)
		return ((const uint32_t *)from)[i];
	return ((const uint64_t *)from)[i];
}

/* A mask of the bits that an element of this many bytes has. */
static __device__ inline uint64_t fb_data_mask(uint32_t bytes)
{
	return bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << bytes * 8) - 1;
}

/* Adds a thread's number of wrong elements, of which `least` is the first. */
static __device__ inline void fb_data_report(struct fb_check_result *result,
					     unsigned long long errors, unsigned long long least)
{
	if (!errors)
		return;
	atomicAdd(&result->errors, errors);
	atomicMin(&result->first, least);
}

static inline unsigned fb_data_blocks(uint64_t count)
{
	uint64_t blocks = (count + FB_DATA_THREADS - 1) / FB_DATA_THREADS;

	return blocks < 4096 ? (unsigned)blocks : 4096;
}

#endif
