/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the schedules of tensor_parallel; see tensor_parallel.c. */
#ifndef FB_OVERLAP_SCHEDULE_TENSOR_H
#define FB_OVERLAP_SCHEDULE_TENSOR_H

#include "overlap/schedule/schedule.h"

enum fb_tensor_schedule {
	FB_TENSOR_ALL_REDUCE,
	FB_TENSOR_SEQUENCE,
	FB_TENSOR_GATHER_GEMM,
	FB_TENSOR_GEMM_SCATTER,
	FB_TENSOR_TRAIN,
	FB_TENSOR_TRAIN_SEQUENCE,
};
enum fb_tensor_axis { FB_TENSOR_CHUNKS, FB_TENSOR_DEGREE, FB_TENSOR_BACKGROUND };
enum { FB_TENSOR_PLACES = 2 }; /* places in a buffer, which blocks use in turn */

/* The step that is built: numbers of its buffers, partitions and data sets, sizes in elements. */
struct fb_tensor_plan {
	const struct fb_build *b;
	struct fb_dag *dag;
	int ranks, chunks, group, data; /* ranks: number of ranks that share a layer */
	int blocks, forward; /* all blocks; the first `forward` ones are those of forward */
	int pieces; /* contiguous pieces of a block in its place */
	uint64_t part, chunk; /* elements of a rank's share of a chunk, of a chunk */
	int found, sums, shares, seen, arrived;
	/* train */
	int replicas, gradient, gradients; /* partition, data, buffer */
};

/* A block's chunk, of `count` elements, in its place. */
static inline struct fb_span fb_tensor_span(const struct fb_tensor_plan *p, int buffer, int block,
					    int chunk, uint64_t count)
{
	uint64_t at = (uint64_t)(block % FB_TENSOR_PLACES * p->pieces + chunk) * count;

	return (struct fb_span){buffer, at, count};
}

/* gather_gemm and gemm_scatter: one product and its collective for each layer, block by block. */
void fb_tensor_products(const struct fb_tensor_plan *plan);

#endif
