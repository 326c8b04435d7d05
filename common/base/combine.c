/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels for all instruction set levels, and the choice among them; see combine.h.
 *
 * Build with -O3: at -O2 gcc 12 vectorises no loop whose length it does not know.
 */
#include "common/base/combine.h"

#include "common/base/float16.h"
#include "common/base/float8.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
/* Without optimisation, or with sanitizers, loops stay scalar: slow, not wrong. */
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* AArch64 converts in hardware at its base level; elsewhere the base level has no f16 at all. */
#if defined(__aarch64__)
static inline float widen_f16(uint16_t bits)
{
	__fp16 half;

	memcpy(&half, &bits, sizeof(half));
	return (float)half;
}

static inline uint16_t narrow_f16(float value)
{
	__fp16 half = (__fp16)value;
	uint16_t bits;

	memcpy(&bits, &half, sizeof(bits));
	return bits;
}

#define WIDEN_F16  widen_f16
#define NARROW_F16 narrow_f16
#else
#define WIDEN_F16  fb_widen_f16
#define NARROW_F16 fb_narrow_f16
#endif

#define LEVEL(name) base_##name
#define TARGET
#define USE_F16C 0
#include "common/base/combine_kernels.h"

#if defined(__x86_64__)

#define LEVEL(name) avx2_##name
#define TARGET	    __attribute__((target("avx2,f16c")))
#define USE_F16C    1
#include "common/base/combine_kernels.h"

#define LEVEL(name) avx512_##name
#define TARGET	    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c")))
#define USE_F16C    1
#include "common/base/combine_kernels.h"

#endif

/* NULL: the level was not built. */
static const fb_combine_fn (*const levels[FB_SIMDS])[FB_REDOPS] = {
	[FB_SIMD_BASE] = base_kernels,
#if defined(__x86_64__)
	[FB_SIMD_AVX2] = avx2_kernels,
	[FB_SIMD_AVX512] = avx512_kernels,
#endif
};

#if defined(__x86_64__)
static bool has_f16c(void)
{
	/* The cpuid instruction costs microseconds in a virtual machine; gcc keeps its answers. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
	return __builtin_cpu_supports("f16c");
#else
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
#endif
}

enum fb_simd fb_simd_best(void)
{
	/* The compiler's answers include whether the system saves the wide registers. */
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !has_f16c())
		return FB_SIMD_BASE;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return FB_SIMD_AVX512;
	return FB_SIMD_AVX2;
}
#else
enum fb_simd fb_simd_best(void)
{
	return FB_SIMD_BASE;
}
#endif

fb_combine_fn fb_combine_with(enum fb_simd simd, enum fb_datatype type, enum fb_redop op)
{
	if (!levels[simd] || type >= FB_DATATYPES || op >= FB_REDOPS)
		return NULL;
	return levels[simd][type][op];
}

fb_combine_fn fb_combine(enum fb_datatype type, enum fb_redop op)
{
	return fb_combine_with(fb_simd_best(), type, op);
}

/* Division is written once for all levels: it runs once per result, not once per rank. */
#define FINISH(name, type, expression)                                                             \
	static void name(void *data, size_t count, int nranks)                                     \
	{                                                                                          \
		type *values = data;                                                               \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			const type x = values[i];                                                  \
                                                                                                   \
			values[i] = (type)(expression);                                            \
		}                                                                                  \
	}

FINISH(finish_i8, int8_t, x / nranks)
FINISH(finish_u8, uint8_t, x / nranks)
FINISH(finish_i32, int32_t, x / nranks)
FINISH(finish_u32, uint32_t, x / (uint32_t)nranks)
FINISH(finish_i64, int64_t, x / nranks)
FINISH(finish_u64, uint64_t, x / (uint64_t)nranks)
FINISH(finish_f16, uint16_t, NARROW_F16(WIDEN_F16(x) / (float)nranks))
FINISH(finish_bf16, uint16_t, fb_narrow_bf16(fb_widen_bf16(x) / (float)nranks))
FINISH(finish_e4m3, uint8_t, fb_narrow_e4m3(fb_widen_e4m3(x) / (float)nranks))
FINISH(finish_e5m2, uint8_t, fb_narrow_e5m2(fb_widen_e5m2(x) / (float)nranks))
FINISH(finish_f32, float, x / (float)nranks)
FINISH(finish_f64, double, x / nranks)

fb_finish_fn fb_finish(enum fb_datatype type, enum fb_redop op)
{
	static const fb_finish_fn finish[FB_DATATYPES] = {
		[FB_I8] = finish_i8,   [FB_U8] = finish_u8,	[FB_I32] = finish_i32,
		[FB_U32] = finish_u32, [FB_I64] = finish_i64,	[FB_U64] = finish_u64,
		[FB_F16] = finish_f16, [FB_BF16] = finish_bf16, [FB_F32] = finish_f32,
		[FB_F64] = finish_f64, [FB_F8E4M3] = finish_e4m3, [FB_F8E5M2] = finish_e5m2,
	};

	return op == FB_AVG && type < FB_DATATYPES ? finish[type] : NULL;
}
