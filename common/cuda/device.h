/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The primitives of device code on GPUs: threads, barriers, and the memory accesses whose width and
 * order protocols depend on. tests/cuda/emulator.h is the same for processors, so that the logic of
 * all protocols is tested without a GPU; device code uses nothing that is not here.
 *
 * Accesses to lines with flags are volatile, which the PTX memory model calls relaxed at system
 * scope; an aligned access of up to 8 bytes is atomic, and one of 16 bytes is atomic per 8 bytes.
 * Counters are loaded with acquire, and stored after a fence.
 */
#ifndef FB_COMMON_CUDA_DEVICE_H
#define FB_COMMON_CUDA_DEVICE_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "common/base/float8.h"

#define FB_DEVICE static __device__ __forceinline__
#define FB_OUTLINE static __device__ __noinline__
#define FB_ROLLED _Pragma("unroll 1")
#define FB_UNROLL _Pragma("unroll")

enum { FB_WARP = 32 };

struct fb_words4 {
	uint32_t w[4];
};

FB_DEVICE uint32_t fb_thread(void)
{
	return threadIdx.x;
}

FB_DEVICE uint32_t fb_threads(void)
{
	return blockDim.x;
}

FB_DEVICE uint32_t fb_block(void)
{
	return blockIdx.x;
}

FB_DEVICE uint32_t fb_blocks(void)
{
	return gridDim.x;
}

FB_DEVICE void fb_sync_block(void)
{
	__syncthreads();
}

/* Whether any thread of the warp votes true; all of its threads call it. */
FB_DEVICE bool fb_any(bool vote)
{
	return __any_sync(0xffffffffu, vote);
}

/* Called after each poll that found a counter or flag unchanged; for the emulator. */
FB_DEVICE void fb_again(void)
{
}

/* The comparisons by which kernels wait; tests can make the emulator's return true too early. */
FB_DEVICE bool fb_is_flag(uint64_t seen, uint64_t wanted)
{
	return seen == wanted;
}

FB_DEVICE bool fb_is_reached(uint64_t seen, uint64_t wanted)
{
	return (int64_t)(seen - wanted) >= 0;
}

/*
 * For overlapping launches (programmatic dependent launch): fb_let_next() lets the next call's
 * kernel begin as soon as all blocks of this one have called it; fb_await_last() waits until the
 * kernel before has ended and its writes are visible. Before that a kernel may only read memory
 * that no kernel writes. Without overlap both do nothing.
 */
FB_DEVICE void fb_let_next(void)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

FB_DEVICE void fb_await_last(void)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

FB_DEVICE uint64_t fb_device_time(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/* Private memory that no other thread touches during the call. */
FB_DEVICE uint64_t fb_load_private(uint64_t address)
{
	return *(const uint64_t *)address;
}

FB_DEVICE void fb_store_private(uint64_t address, uint64_t value)
{
	*(uint64_t *)address = value;
}

#define FB_WIDEN_F16(e) __half2float(__ushort_as_half(e))
#define FB_NARROW_F16(c) __half_as_ushort(__float2half_rn(c))
#define FB_WIDEN_BF16(e) __uint_as_float((uint32_t)(e) << 16)
#define FB_NARROW_BF16(c) __bfloat16_as_ushort(__float2bfloat16_rn(c))

/* From 8.9 on the device's instructions convert 8-bit floats; earlier ones use the host's code. */
#if __CUDA_ARCH__ >= 890
#define FB_WIDEN_F8(e, format) __half2float(__nv_cvt_fp8_to_halfraw(e, format))
#define FB_NARROW_F8(c, format) __nv_cvt_float_to_fp8(c, __NV_SATFINITE, format)
#define FB_WIDEN_E4M3(e) FB_WIDEN_F8(e, __NV_E4M3)
#define FB_NARROW_E4M3(c) FB_NARROW_F8(c, __NV_E4M3)
#define FB_WIDEN_E5M2(e) FB_WIDEN_F8(e, __NV_E5M2)
#define FB_NARROW_E5M2(c) FB_NARROW_F8(c, __NV_E5M2)
#else
#define FB_WIDEN_E4M3(e) fb_widen_e4m3(e)
#define FB_NARROW_E4M3(c) fb_narrow_e4m3(c)
#define FB_WIDEN_E5M2(e) fb_widen_e5m2(e)
#define FB_NARROW_E5M2(c) fb_narrow_e5m2(c)
#endif

/* --- counters -------------------------------------------------------------------------------- */

/*
 * Writes from before the value was posted are visible to this thread, and to threads that it meets
 * at a later barrier. It is an acquiring load and no fence, because a fence also waits until the
 * block's own stores have arrived, which takes microseconds if they go to another GPU.
 */
FB_DEVICE uint64_t fb_load_counter(uint64_t address)
{
	uint64_t value;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
	return value;
}

/* Stores a counter after all accesses of this thread, and of threads that it met at a barrier. */
FB_DEVICE void fb_post(uint64_t address, uint64_t value)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

/* --- data ------------------------------------------------------------------------------------ */

/*
 * Not volatile: memory that others write is read only after a counter was acquired, by this thread
 * or by one that it has met since. It is read once, so the L1 cache need not keep it.
 */
FB_DEVICE struct fb_words4 fb_load16(uint64_t address)
{
	struct fb_words4 v;

	asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
		     : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
		     : "l"(address));
	return v;
}

FB_DEVICE void fb_store16(uint64_t address, struct fb_words4 v)
{
	asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(address), "r"(v.w[0]),
		     "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3])
		     : "memory");
}

FB_DEVICE uint64_t fb_load8(uint64_t address)
{
	uint64_t v;

	asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(v) : "l"(address));
	return v;
}

FB_DEVICE void fb_store8(uint64_t address, uint64_t v)
{
	asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}

/*
 * As fb_load16, for words whose neighbours this thread and others read as well: the L1 cache keeps
 * them, so that memory is read once.
 */
FB_DEVICE uint64_t fb_load_word(uint64_t address)
{
	uint64_t v;

	asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(address));
	return v;
}

FB_DEVICE uint32_t fb_load4(uint64_t address)
{
	return *(const volatile uint32_t *)address;
}

FB_DEVICE void fb_store4(uint64_t address, uint32_t v)
{
	asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

FB_DEVICE uint16_t fb_load2(uint64_t address)
{
	return *(const volatile uint16_t *)address;
}

FB_DEVICE void fb_store2(uint64_t address, uint16_t v)
{
	asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(v) : "memory");
}

FB_DEVICE uint8_t fb_load1(uint64_t address)
{
	return *(const volatile uint8_t *)address;
}

FB_DEVICE void fb_store1(uint64_t address, uint8_t v)
{
	asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"((uint32_t)v) : "memory");
}

/* The 32 bits from bit `skipped` on, 0 to 31, of two words. */
FB_DEVICE uint32_t fb_funnel(uint32_t low, uint32_t high, uint32_t skipped)
{
	return __funnelshift_r(low, high, skipped);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Two words {data, flag}: each is stored and loaded atomically. */
FB_DEVICE struct fb_words4 fb_load_line(uint64_t address, bool by_word)
{
	struct fb_words4 v;

	if (by_word) {
		asm volatile("ld.volatile.global.v2.u32 {%0,%1}, [%2];"
			     : "=r"(v.w[0]), "=r"(v.w[1])
			     : "l"(address));
		asm volatile("ld.volatile.global.v2.u32 {%0,%1}, [%2];"
			     : "=r"(v.w[2]), "=r"(v.w[3])
			     : "l"(address + 8));
		return v;
	}
	asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
		     : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
		     : "l"(address));
	return v;
}

FB_DEVICE void fb_store_line(uint64_t address, struct fb_words4 v, bool by_word)
{
	if (by_word) {
		asm volatile("st.volatile.global.v2.u32 [%0], {%1,%2};" ::"l"(address),
			     "r"(v.w[0]), "r"(v.w[1])
			     : "memory");
		asm volatile("st.volatile.global.v2.u32 [%0], {%1,%2};" ::"l"(address + 8),
			     "r"(v.w[2]), "r"(v.w[3])
			     : "memory");
		return;
	}
	asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(address), "r"(v.w[0]),
		     "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3])
		     : "memory");
}

/* Makes the compiler keep the value in a register from here on. */
FB_DEVICE void fb_hold(uint64_t *value)
{
	asm volatile("" : "+l"(*value));
}

/* A barrier of the warp's threads. */
FB_DEVICE void fb_sync_warp(void)
{
	__syncwarp();
}

/*
 * 16 of the 128 bytes of a line that 8 neighbouring threads of a warp load or store by one
 * instruction of the warp; the last thread's upper half is the flag. All threads of the warp call
 * it after fb_sync_warp(); threads that are not active access nothing.
 *
 * Threads need not stay converged after fb_sync_warp(): if they had diverged, each part may go on
 * by itself, and then a line is not one access. So both functions read next to the access which
 * threads make it (activemask). A load returns whether the 8 were converged; if not, the thread
 * must not trust a flag that it sees for the first time. A store returns whether it was made; if
 * the threads have diverged, it is not, and data and then flags are stored (fb_store_apart). See
 * docs/gpu-engine.md.
 */
FB_DEVICE bool fb_load_part(uint64_t address, uint32_t lane, bool active, struct fb_words4 *v)
{
	uint32_t now;

	(void)lane;
	*v = (struct fb_words4){{0, 0, 0, 0}};
	asm volatile("{\n\t"
		     ".reg .pred p;\n\t"
		     "setp.ne.u32 p, %6, 0;\n\t"
		     "activemask.b32 %4;\n\t"
		     "@p ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%5];\n\t"
		     "}"
		     : "+r"(v->w[0]), "+r"(v->w[1]), "+r"(v->w[2]), "+r"(v->w[3]), "=&r"(now)
		     : "l"(address), "r"((uint32_t)active)
		     : "memory");
	return (now >> (fb_thread() & 24) & 0xff) == 0xff;
}

FB_DEVICE bool fb_store_part(uint64_t address, struct fb_words4 v, uint32_t lane, bool active)
{
	uint32_t together;

	(void)lane;
	asm volatile("{\n\t"
		     ".reg .pred p, q;\n\t"
		     ".reg .b32 m;\n\t"
		     "setp.ne.u32 q, %7, 0;\n\t"
		     "activemask.b32 m;\n\t"
		     "shr.u32 m, m, %6;\n\t"
		     "and.b32 m, m, 255;\n\t"
		     "setp.eq.u32 p, m, 255;\n\t"
		     "selp.u32 %0, 1, 0, p;\n\t"
		     "and.pred p, p, q;\n\t"
		     "@p st.volatile.global.v4.u32 [%1], {%2,%3,%4,%5};\n\t"
		     "}"
		     : "=&r"(together)
		     : "l"(address), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]),
		       "r"(fb_thread() & 24), "r"((uint32_t)active)
		     : "memory");
	return together;
}

/* Orders earlier stores of the warp's threads before all later stores of any of them. */
FB_DEVICE void fb_order_warp(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
	__syncwarp();
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

#endif
