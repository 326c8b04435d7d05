/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction kernels by instruction set. Engines use fb_combine() of datatype.h, which
 * takes the best level; tests go through all that this machine has.
 */
#ifndef FB_COMMON_BASE_COMBINE_H
#define FB_COMMON_BASE_COMBINE_H

#include "common/base/datatype.h"

enum fb_simd {
	FB_SIMD_BASE, /* the instruction set that the compiler was told to build for */
	FB_SIMD_AVX2, /* with F16C; x86-64 only */
	FB_SIMD_AVX512,
	FB_SIMDS,
};

/* The best level that this processor and operating system support. */
enum fb_simd fb_simd_best(void);

/*
 * The kernel of one level; NULL where the type cannot be reduced or the level was not built.
 * Calling a kernel above fb_simd_best() is an illegal instruction. All levels give the same
 * bits, except for the payload of a NaN.
 */
fb_combine_fn fb_combine_with(enum fb_simd simd, enum fb_datatype type, enum fb_redop op);

#endif
