/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instructions of multimem addresses, above common/cuda/device.h; for processors it is
 * tests/cuda/emulator_multimem.h. GPUs before 9.0 have none, and no launch gets there. Not run on
 * hardware.
 */
#ifndef FB_COLLECTIVES_ENGINE_MULTIMEM_DEVICE_MULTIMEM_H
#define FB_COLLECTIVES_ENGINE_MULTIMEM_DEVICE_MULTIMEM_H

#include "collectives/engine/multimem/launch.h"

/* Accesses before it by one address of memory are ordered before those behind it by another. */
FB_DEVICE void fb_fence_alias(void)
{
	asm volatile("fence.proxy.alias;" ::: "memory");
}

#if __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12020

#define FB_LD_REDUCE(what, constraint, value)                                              \
	asm volatile("multimem.ld_reduce.relaxed.sys.global." what " {%0,%1,%2,%3}, [%4];" \
		     : constraint(value[0]), constraint(value[1]), constraint(value[2]),   \
		       constraint(value[3])                                                \
		     : "l"(address)                                                        \
		     : "memory")

/*
 * 16 bytes of all ranks, combined. PTX has vectors for floats only, and of f32 no minimum and no
 * maximum. Without .acc::f32, which is of PTX 8.2 (CUDA 12.2), 16-bit sums are accumulated in their
 * own type. 8-bit floats need a target of one architecture or family (sm_100a, sm_100f), and are
 * accumulated in f16 at best.
 */
FB_DEVICE struct fb_words4 fb_multimem_load16(uint64_t address, const enum fb_multimem_kind kind)
{
	struct fb_words4 v;
	float f[4];

	switch (kind) {
	case FB_MULTIMEM_F32_SUM:
		FB_LD_REDUCE("add.v4.f32", "=f", f);
		for (int i = 0; i < 4; i++)
			v.w[i] = __float_as_uint(f[i]);
		break;
	case FB_MULTIMEM_F16_SUM:
		FB_LD_REDUCE("add.acc::f32.v4.f16x2", "=r", v.w);
		break;
	case FB_MULTIMEM_F16_MIN:
		FB_LD_REDUCE("min.v4.f16x2", "=r", v.w);
		break;
	case FB_MULTIMEM_F16_MAX:
		FB_LD_REDUCE("max.v4.f16x2", "=r", v.w);
		break;
	case FB_MULTIMEM_BF16_SUM:
		FB_LD_REDUCE("add.acc::f32.v4.bf16x2", "=r", v.w);
		break;
	case FB_MULTIMEM_BF16_MIN:
		FB_LD_REDUCE("min.v4.bf16x2", "=r", v.w);
		break;
	default:
		FB_LD_REDUCE("max.v4.bf16x2", "=r", v.w);
	}
	return v;
}

/* To all ranks. The type only says how many bits there are. */
FB_DEVICE void fb_multimem_store16(uint64_t address, struct fb_words4 v)
{
	asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(address),
		     "f"(__uint_as_float(v.w[0])), "f"(__uint_as_float(v.w[1])),
		     "f"(__uint_as_float(v.w[2])), "f"(__uint_as_float(v.w[3]))
		     : "memory");
}

#else

FB_DEVICE struct fb_words4 fb_multimem_load16(uint64_t address, const enum fb_multimem_kind kind)
{
	(void)address;
	(void)kind;
	__trap();
	return fb_words4{{0, 0, 0, 0}};
}

FB_DEVICE void fb_multimem_store16(uint64_t address, struct fb_words4 v)
{
	(void)address;
	(void)v;
	__trap();
}

#endif

#endif
