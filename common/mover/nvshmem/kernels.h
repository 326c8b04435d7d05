/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of libfabricbench-nvshmem.so for mover nvshmem: kernels that call NVSHMEM's device
 * functions. It is a separate library, so that programs need neither NVSHMEM's headers to be built
 * nor its libraries to start.
 */
#ifndef FB_COMMON_MOVER_NVSHMEM_KERNELS_H
#define FB_COMMON_MOVER_NVSHMEM_KERNELS_H

#include "common/mover/gpu/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FB_NVSHMEM_THREADS = 256 };

/* Who makes a call: each thread, each warp, or each block. */
enum fb_nvshmem_team { FB_NVSHMEM_THREAD, FB_NVSHMEM_WARP, FB_NVSHMEM_BLOCK };

struct fb_nvshmem_launch {
	struct fb_move_way way; /* both addresses are of own memory, as NVSHMEM names a peer's */
	enum fb_nvshmem_team team;
	int pe;
	uint32_t gets; /* 1: from the peer */
	uint32_t bulk; /* 1: gives NVSHMEM shared memory, so that it may use TMA (3.7) */
	uint64_t *word, value; /* the notice: the value is stored there at the peer; NULL: none */
	uint32_t *blocks_done; /* a counter in device memory, 0 before and after the launch */
};

/* Returns the version of NVSHMEM's headers: 1000 * major + minor. */
int fb_nvshmem_device_version(void);

/* Local, after the host library's start: initialises the device's part. Returns NVSHMEM's code. */
int fb_nvshmem_device_start(void *init_attr);

/* Enqueues it on a cudaStream_t. A cudaError_t, of launching only. */
int fb_nvshmem_device_launch(const struct fb_nvshmem_launch *launch, uint32_t blocks,
			     void *stream);

#ifdef __cplusplus
}
#endif

#endif
