/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk copies (cp.async.bulk, by the tensor memory accelerator, TMA) between global memory, own or
 * a peer's, and the shared memory of a block: what common/cuda/device.h is for ordinary accesses.
 * tests/cuda/emulator_tma.h is the same for processors.
 *
 * One thread asks for a copy of kilobytes, and no register holds its data. So a block has as many
 * bytes under way as its shared memory takes, several times what its threads' loads have. From
 * compute capability 9.0 on (FB_HAS_TMA); addresses and lengths are multiples of 16.
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
/* The host's pass, too. Nothing calls these functions, whose bodies are empty. */
#define FB_HAS_TMA 0
#define FB_TMA_ASM(...) ((void)0)
#endif

enum {
	FB_TMA_ALIGN = 128,   /* of places in shared memory; copies are quickest so */
	FB_TMA_LEAST = 4096,  /* bytes of a move below which threads load and store themselves */
	FB_TMA_USUAL = 512,   /* bytes of a copy, where there are bytes for all warps */
};

FB_DEVICE uint32_t fb_tma_shared(const void *shared)
{
	return (uint32_t)__cvta_generic_to_shared(shared);
}

/* By one thread: a barrier that counts bytes of loads; all fb_tma_begin, then fb_tma_fence. */
FB_DEVICE void fb_tma_begin(uint64_t *barrier)
{
	(void)barrier;
	FB_TMA_ASM("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(fb_tma_shared(barrier))
		   : "memory");
	FB_TMA_ASM("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Accesses by instructions before it come before copies behind it, and the other way round. */
FB_DEVICE void fb_tma_fence(void)
{
	FB_TMA_ASM("fence.proxy.async;" ::: "memory");
}

/* The same of shared memory only. */
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

/* Until the barrier's phase of that parity has ended; the thread may then read what was loaded. */
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

/* Until all groups of the thread's but the last one have read shared memory. */
FB_DEVICE void fb_tma_await_read(void)
{
	FB_TMA_ASM("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

/* Until all that the thread stored is in its place. */
FB_DEVICE void fb_tma_end(void)
{
	FB_TMA_ASM("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Shared memory, by instructions. */
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
