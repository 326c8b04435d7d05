/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a task computes: a kind and sizes. Only the time that it takes matters, so its results are
 * not used. Elements are f32; products on GPUs use bf16.
 */
#ifndef FB_OVERLAP_COMPUTE_WORK_H
#define FB_OVERLAP_COMPUTE_WORK_H

#include <stdint.h>

enum fb_work_kind {
	FB_WORK_NONE,
	FB_WORK_GEMM,      /* [m][k] times [k][n] */
	FB_WORK_BACKWARD,  /* of a linear layer: m tokens, n rows, k columns; two products */
	FB_WORK_ATTENTION, /* m queries, n keys, k values of each: two products, a pass over m n */
	FB_WORK_MEMORY,    /* reads and writes `elements`: 8 bytes each */
	FB_WORK_ADAM,      /* updates `elements` parameters in f32: 28 bytes each */
	FB_WORK_CAST,      /* f32 to floats of k bytes, or back: 4 + k bytes each */
	FB_WORK_SELECT,    /* looks for the largest of `elements` in f32: 4 bytes each */
	FB_WORK_SPIN,      /* `elements` multiply-adds that touch no memory */
	FB_WORK_COPY_IN,   /* `elements` of f32 from pinned memory of the host to the GPU */
	FB_WORK_COPY_OUT,  /* back */
	FB_WORK_COPY_PAGEABLE, /* in, from memory that is not pinned */
	FB_WORK_KINDS,
};

struct fb_work {
	enum fb_work_kind kind;
	uint64_t m, n, k, elements;
	uint32_t times;
	double seconds; /* of FB_HOST_NAP */
};

static inline struct fb_work fb_work_product(enum fb_work_kind kind, uint64_t m, uint64_t n,
					     uint64_t k)
{
	return (struct fb_work){.kind = kind, .m = m, .n = n, .k = k, .times = 1};
}

static inline struct fb_work fb_work_pass(enum fb_work_kind kind, uint64_t elements)
{
	return (struct fb_work){.kind = kind, .elements = elements, .times = 1};
}

/* Floating-point operations of products; 0 where memory is what counts. */
double fb_work_flop(const struct fb_work *work);

#endif
