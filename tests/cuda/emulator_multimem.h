/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multimem addresses on the processor: what collectives/engine/multimem/device_multimem.h is on a
 * GPU. The includer knows which memory an address stands for. Ranks' loads and stores are made one
 * by one, and other threads may come between them. What instructions do in no order that is
 * promised is done here in that of the ranks.
 */
#ifndef FB_TESTS_CUDA_EMULATOR_MULTIMEM_H
#define FB_TESTS_CUDA_EMULATOR_MULTIMEM_H

#include "collectives/engine/multimem/launch.h"
#include "tests/cuda/emulator.h"

/* Where each rank has what the address stands for. How many ranks there are; 0: it is none. */
static int emu_replicas(uint64_t address, char *replica[EMU_MOST_RANKS]);

static inline int emu_multimem(uint64_t address, char *replica[EMU_MOST_RANKS])
{
	int n = emu_replicas(address, replica);

	/* A GPU ends the kernel with an error. */
	if (!n || address % 16) {
		fprintf(stderr, "%#llx is no multimem address of 16 bytes\n",
			(unsigned long long)address);
		abort();
	}
	return n;
}

FB_DEVICE void fb_fence_alias(void)
{
}

static inline float emu_half(enum fb_multimem_kind kind, float x, uint16_t bits, bool first)
{
	bool bf16 = kind >= FB_MULTIMEM_BF16_SUM;
	float y = bf16 ? fb_widen_bf16(bits) : fb_widen_f16(bits);

	if (first)
		return y;
	if (kind == FB_MULTIMEM_F16_SUM || kind == FB_MULTIMEM_BF16_SUM)
		return x + y;
	if (kind == FB_MULTIMEM_F16_MIN || kind == FB_MULTIMEM_BF16_MIN)
		return y < x ? y : x;
	return y > x ? y : x;
}

FB_DEVICE struct fb_words4 fb_multimem_load16(uint64_t address, enum fb_multimem_kind kind)
{
	char *replica[EMU_MOST_RANKS] = {NULL};
	int n = emu_multimem(address, replica), elements = kind == FB_MULTIMEM_F32_SUM ? 4 : 8;
	float sum[8] = {0};
	struct fb_words4 v = {{0}};
	uint16_t half[8] = {0};

	for (int r = 0; r < n; r++) {
		emu_seldom_switch();
		memcpy(v.w, replica[r], 16);
		memcpy(half, v.w, 16);
		for (int i = 0; i < elements; i++) {
			float x;

			memcpy(&x, &v.w[i % 4], sizeof(x));
			sum[i] = kind != FB_MULTIMEM_F32_SUM
					 ? emu_half(kind, sum[i], half[i], r == 0)
				 : r ? sum[i] + x
				     : x;
		}
	}
	for (int i = 0; i < elements; i++)
		half[i] = kind >= FB_MULTIMEM_BF16_SUM ? fb_narrow_bf16(sum[i])
						       : fb_narrow_f16(sum[i]);
	memcpy(v.w, kind == FB_MULTIMEM_F32_SUM ? (const void *)sum : half, 16);
	return v;
}

FB_DEVICE void fb_multimem_store16(uint64_t address, struct fb_words4 v)
{
	char *replica[EMU_MOST_RANKS] = {NULL};
	int n = emu_multimem(address, replica);

	for (int r = 0; r < n; r++) {
		memcpy(replica[r], v.w, 16);
		emu.changes++;
		emu_seldom_switch();
	}
}

#endif
