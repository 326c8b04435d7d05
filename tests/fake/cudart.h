/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the CUDA runtime that is none share. */
#ifndef FB_TESTS_FAKE_CUDART_H
#define FB_TESTS_FAKE_CUDART_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cuda/fresh_kernels.h"

/* One of the driver's functions for virtual memory, or NULL (cudart_memory.c). */
void *fake_memory_function(const char *symbol);
/* Returns a function of green contexts where FAKE_GREEN is set, else NULL. */
void *fake_green_function(const char *symbol);


/*
 * --- cudart_multicast.c ----------------------------------------------------------------------
 *
 * A function of multicast objects, or else as fake_green_function. Whether a step is to work on
 * this rank. Handles that come and go, if they are an object's. Mappings of all memory, where
 * false: of an object, or *code. Where each rank has what an object's address stands for; how many
 * there are.
 */
void *fake_multicast_function(const char *symbol);
bool fake_multicast_works(const char *step);
CUresult fake_multicast_import(CUmemGenericAllocationHandle handle);
CUresult fake_multicast_release(CUmemGenericAllocationHandle handle);
bool fake_multicast_map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle,
			CUresult *code);
CUresult fake_multicast_unmap(CUdeviceptr at, size_t bytes);
CUresult fake_multicast_unreserve(CUdeviceptr at, size_t bytes);
int fake_multicast_replicas(uint64_t address, char **replica);

/*
 * Memory of GPUs that work, which other processes can map (cudart_memory.c). fake_free says whether
 * it was such memory.
 */
cudaError_t fake_malloc(void **memory, size_t bytes);
bool fake_free(void *memory);
cudaError_t fake_export(void *handle, void *memory);
cudaError_t fake_import(void **memory, const void *handle);

/* --- cudart_works.c: what streams do where FB_FAKE_GPU_WORKS is in the environment ------------ */

struct fake_box {
	char *to;
	const char *from;
	size_t width, height, depth; /* bytes, lines, slices */
	size_t to_pitch, from_pitch, to_slice, from_slice;
};

bool fake_works(void);
void fake_go_on(void); /* each queue, as far as it can */

void *fake_stream_open(void);
void fake_stream_close(void *stream);
bool fake_stream_idle(const void *stream);

void *fake_event_open(void);
/* The host gives the event up. Operations in queues keep it until they have run. */
void fake_event_close(void *event);
bool fake_event_over(const void *event);
cudaError_t fake_record(void *event, cudaStream_t stream);
cudaError_t fake_wait_event(void *event, cudaStream_t stream);

cudaError_t fake_box_copy(const struct fake_box *box); /* at once */
cudaError_t fake_copy(const struct fake_box *box, cudaStream_t stream);
void fake_operate(cudaStream_t stream, unsigned n, const CUstreamBatchMemOpParams *ops);
cudaError_t fake_launch(const char *name, void **args, unsigned blocks, unsigned threads,
			cudaStream_t stream);

/*
 * --- cudart_kernel.c: the movers' kernels ----------------------------------------------------
 *
 * A launch with its arguments; a copy of one that has not begun, NULL of NULL; whether it is over,
 * which goes on with it; its end. fake_is_wrong: whether FB_FAKE_GPU_WORKS is that mistake.
 */
void *fake_kernel_of(const char *name, void **args, unsigned blocks, unsigned threads);
void *fake_kernel_copy(const void *kernel);
bool fake_kernel_run(void *kernel);
void fake_kernel_free(void *kernel);
void fake_kernels_go_on(void);
bool fake_is_wrong(const char *how);
unsigned fake_random(void);
void *fake_at(uint64_t address);

/* Whether a stream is being captured: drivers take no batch of copies then. */
bool fake_is_capturing(void);

void fake_capture_begin(void *stream);
void *fake_capture_end(void *stream); /* a graph */
void *fake_graph_copy(const void *graph);
void fake_graph_launch(const void *graph, cudaStream_t stream);
void fake_graph_free(void *graph);

/* --- cudart_data.c: kernels that fill and check data ------------------------------------- */

/* A kernel of fresh.cu with its arguments. */
struct fake_fresh {
	enum { FAKE_BEGIN, FAKE_PRODUCE, FAKE_CONSUME } what;
	struct fb_fresh_state *state;
	struct fb_element_recipe recipe;
	struct fb_element_source from;
	uint64_t first, count;
	char *data;
	bool early;
	bool overtaken; /* what follows has gone on already */
};

/* The arguments as the kernels of that name have them; and carries them out. */
struct fake_fresh fake_fresh_of(const char *name, void **args);
void fake_fresh_run(const struct fake_fresh *fresh);

/* Kernels of common/cuda/data.cu, at once, by their names; nothing for others. */
void fake_data(const char *name, void **args);

/* Kernels of kvtransfer/pages.cu, at once: checks where there is a result, else fills. */
void fake_pages(void **args, struct fb_check_result *result, unsigned *worst);
/* The kernel of kvtransfer/wire.cu. */
void fake_packing(void **args);

#endif
