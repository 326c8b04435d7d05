/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk copies (cp.async.bulk, by the tensor memory accelerator, TMA) between global memory, own or
 * a peer's, and the shared memory of a block: what common/cuda/device.h is for ordinary accesses.
 * tests/cuda/emulator_tma.h is the same for processors.
 *
 * One thread issues a copy of kilobytes, and no register holds its data. So a block can have as
 * many bytes in flight as its shared memory holds, several times as many as by its threads' loads.
 * From compute capability 9.0 on (FB_HAS_TMA); addresses and lengths are multiples of 16.
 *
 * Bulk copies access memory by another proxy than instructions do (PTX ISA, "async proxy"), and
 * accesses of the two are ordered by fences alone: behind an acquired counter, before copies read
 * what it guards; behind stores to shared memory, before a copy reads them (fb_tma_fence_shared);
 * and behind the end of copies, before their results are announced.
 */
#ifndef FB_COMMON_CUDA_DEVICE_TMA_H
#define FB_COMMON_CUDA_DEVICE_TMA_H

/* Above common/cuda/device.h, which the includer has included. */

#if __CUDA_ARCH__ >= 900
#define FB_HAS_TMA 1
#define FB_TMA_ASM(...) asm volatile(__VA_ARGS__)
#else
/* Also in the compiler's host pass. These functions are empty then, and nothing calls them. */
#define FB_HAS_TMA 0
#define FB_TMA_ASM(...) ((void)0)
#endif

enum {
	FB_TMA_ALIGN = 128,   /* of addresses in shared memory, where copies are fastest */
	FB_TMA_LEAST = 4096,  /* bytes of a move below which threads load and store themselves */
	FB_TMA_USUAL = 512,   /* least bytes of a copy, if there are bytes for all warps */
};

FB_DEVICE uint32_t fb_tma_shared(const void *shared)
{
	return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Called by one thread: initialises a barrier that counts loaded bytes. fb_tma_fence follows. */
FB_DEVICE void fb_tma_begin(uint64_t *barrier)
{
	(void)barrier;
	FB_TMA_ASM("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(fb_tma_shared(barrier))
		   : "memory");
	FB_TMA_ASM("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Orders earlier accesses by instructions before later copies, and the other way round. */
FB_DEVICE void fb_tma_fence(void)
{
	FB_TMA_ASM("fence.proxy.async;" ::: "memory");
}

/* The same for shared memory only. */
FB_DEVICE void fb_tma_fence_shared(void)
{
	FB_TMA_ASM("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The barrier's phase ends when this many more bytes have been loaded. */
FB_DEVICE void fb_tma_expect(uint64_t *barrier, uint32_t bytes)
{
	(void)barrier;
	(void)bytes;
	FB_TMA_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
			   fb_tma_shared(barrier)),
		   "r"(bytes)
		   : "memory");
}

FB_DEVICE void fb_tma_load(unsigned char *to, uint64_t from, uint32_t bytes, uint64_t *barrier)
{
	(void)to;
	(void)from;
	(void)bytes;
	(void)barrier;
	FB_TMA_ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		   "[%0], [%1], %2, [%3];" ::"r"(fb_tma_shared(to)),
		   "l"(from), "r"(bytes), "r"(fb_tma_shared(barrier))
		   : "memory");
}

/* Waits until the barrier's phase of that parity has ended; then the loaded bytes can be read. */
FB_DEVICE void fb_tma_await(uint64_t *barrier, uint32_t parity)
{
	uint32_t done = 1;

	(void)barrier;
	(void)parity;
	do {
		FB_TMA_ASM("{\n\t"
			   ".reg .pred p;\n\t"
			   "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
			   "selp.u32 %0, 1, 0, p;\n\t"
			   "}"
			   : "=r"(done)
			   : "r"(fb_tma_shared(barrier)), "r"(parity)
			   : "memory");
	} while (!done);
}

/* Stores belong to the group that the thread's next fb_tma_commit ends. */
FB_DEVICE void fb_tma_store(uint64_t to, const unsigned char *from, uint32_t bytes)
{
	(void)to;
	(void)from;
	(void)bytes;
	FB_TMA_ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
		   "r"(fb_tma_shared(from)), "r"(bytes)
		   : "memory");
}

FB_DEVICE void fb_tma_commit(void)
{
	FB_TMA_ASM("cp.async.bulk.commit_group;" ::: "memory");
}

/* Waits until all groups of this thread except the last one have read shared memory. */
FB_DEVICE void fb_tma_await_read(void)
{
	FB_TMA_ASM("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

/* Waits until all stores of this thread are complete. */
FB_DEVICE void fb_tma_end(void)
{
	FB_TMA_ASM("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Access to shared memory by instructions. */
FB_DEVICE struct fb_words4 fb_load_shared(const unsigned char *shared)
{
	const uint4 v = *(const uint4 *)shared;

	return (struct fb_words4){{v.x, v.y, v.z, v.w}};
}

FB_DEVICE void fb_store_shared(unsigned char *shared, struct fb_words4 v)
{
	*(uint4 *)shared = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}

#endif
