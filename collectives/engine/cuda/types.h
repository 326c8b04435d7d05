/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The datatypes of combine.h: the includer defines TYPE_<name> to choose one. A file of its own,
 * so that kernels and the tests' emulation have the same. Signed sums and products are computed
 * as unsigned, where they wrap. ACCUMULATES: computing keeps more bits than storing.
 *
 * The includer defines ODD, too. 0: code for records whose memory and lengths are all multiples of
 * what a thread moves. 1: code for any. Two sets of kernels, because the code for any address made
 * calls of aligned data take 3 to 10 percent longer when both were in one kernel (two H100).
 */
#if ODD
#define FB_KERNEL_NAME(name, type) name##_odd_##type
#else
#define FB_KERNEL_NAME(name, type) name##_##type
#endif

#if defined(TYPE_i8)
#define NAME(name) FB_KERNEL_NAME(name, i8)
#define ELEMENT int8_t
#define COMPUTE int32_t
#define WIDEN(e) ((int32_t)(e))
#define NARROW(c) ((int8_t)(c))
#define DIVIDE(c, n) ((c) / (int32_t)(n))
#elif defined(TYPE_u8)
#define NAME(name) FB_KERNEL_NAME(name, u8)
#define ELEMENT uint8_t
#define COMPUTE uint32_t
#define WIDEN(e) ((uint32_t)(e))
#define NARROW(c) ((uint8_t)(c))
#define DIVIDE(c, n) ((c) / (n))
#elif defined(TYPE_i32)
#define NAME(name) FB_KERNEL_NAME(name, i32)
#define ELEMENT int32_t
#define COMPUTE int64_t
#define WIDEN(e) ((int64_t)(e))
#define NARROW(c) ((int32_t)(uint32_t)(uint64_t)(c))
#define DIVIDE(c, n) ((int64_t)((int32_t)(c) / (int32_t)(n)))
#elif defined(TYPE_u32)
#define NAME(name) FB_KERNEL_NAME(name, u32)
#define ELEMENT uint32_t
#define COMPUTE uint32_t
#define WIDEN(e) (e)
#define NARROW(c) (c)
#define DIVIDE(c, n) ((c) / (n))
#elif defined(TYPE_i64)
#define NAME(name) FB_KERNEL_NAME(name, i64)
#define ELEMENT int64_t
#define COMPUTE int64_t
#define ADD(x, y) ((int64_t)((uint64_t)(x) + (uint64_t)(y)))
#define MULTIPLY(x, y) ((int64_t)((uint64_t)(x) * (uint64_t)(y)))
#define WIDEN(e) (e)
#define NARROW(c) (c)
#define DIVIDE(c, n) ((c) / (int64_t)(n))
#elif defined(TYPE_u64)
#define NAME(name) FB_KERNEL_NAME(name, u64)
#define ELEMENT uint64_t
#define COMPUTE uint64_t
#define WIDEN(e) (e)
#define NARROW(c) (c)
#define DIVIDE(c, n) ((c) / (uint64_t)(n))
#elif defined(TYPE_f16)
#define NAME(name) FB_KERNEL_NAME(name, f16)
#define ELEMENT uint16_t
#define COMPUTE float
#define ACCUMULATES 1
#define WIDEN(e) FB_WIDEN_F16(e)
#define NARROW(c) FB_NARROW_F16(c)
#define DIVIDE(c, n) ((c) / (float)(n))
#elif defined(TYPE_bf16)
#define NAME(name) FB_KERNEL_NAME(name, bf16)
#define ELEMENT uint16_t
#define COMPUTE float
#define ACCUMULATES 1
#define WIDEN(e) FB_WIDEN_BF16(e)
#define NARROW(c) FB_NARROW_BF16(c)
#define DIVIDE(c, n) ((c) / (float)(n))
#elif defined(TYPE_f8e4m3)
#define NAME(name) FB_KERNEL_NAME(name, f8e4m3)
#define ELEMENT uint8_t
#define COMPUTE float
#define ACCUMULATES 1
#define WIDEN(e) FB_WIDEN_E4M3(e)
#define NARROW(c) FB_NARROW_E4M3(c)
#define DIVIDE(c, n) ((c) / (float)(n))
#elif defined(TYPE_f8e5m2)
#define NAME(name) FB_KERNEL_NAME(name, f8e5m2)
#define ELEMENT uint8_t
#define COMPUTE float
#define ACCUMULATES 1
#define WIDEN(e) FB_WIDEN_E5M2(e)
#define NARROW(c) FB_NARROW_E5M2(c)
#define DIVIDE(c, n) ((c) / (float)(n))
#elif defined(TYPE_f32)
#define NAME(name) FB_KERNEL_NAME(name, f32)
#define ELEMENT float
#define COMPUTE float
#define WIDEN(e) (e)
#define NARROW(c) (c)
#define DIVIDE(c, n) ((c) / (float)(n))
#elif defined(TYPE_f64)
#define NAME(name) FB_KERNEL_NAME(name, f64)
#define ELEMENT double
#define COMPUTE double
#define WIDEN(e) (e)
#define NARROW(c) (c)
#define DIVIDE(c, n) ((c) / (double)(n))
#else
#define NAME(name) FB_KERNEL_NAME(name, move)
#define ELEMENT uint8_t
#define MOVE_ONLY 1
#endif

#ifndef ADD
#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#endif
