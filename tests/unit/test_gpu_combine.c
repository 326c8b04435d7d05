/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the results of the GPU engine's device code with those of the host's kernels, bit by
 * bit: every type and operation on random bits, where most sums are rounded, and all pairs of 8-bit
 * floats, with infinities and NaNs.
 */
#include "common/base/combine.h"
#include "common/base/rng.h"
#include "tests/cuda/kernels.h"
#include "tests/unit/check.h"

enum { RANDOM_PACKS = 2000, PACK = 16 };

typedef void (*combine_fn)(uint32_t op, void *a, const void *b);
typedef void (*finish_fn)(void *a, uint32_t n);

#define DEVICE(type)                                                                         \
	static void device_combine_##type(uint32_t op, void *a, const void *b)               \
	{                                                                                    \
		combine_##type(op, a, b);                                                    \
	}                                                                                    \
	static void device_finish_##type(void *a, uint32_t n)                                \
	{                                                                                    \
		finish_##type(a, n);                                                         \
	}

DEVICE(i8)
DEVICE(u8)
DEVICE(i32)
DEVICE(u32)
DEVICE(i64)
DEVICE(u64)
DEVICE(f16)
DEVICE(bf16)
DEVICE(f32)
DEVICE(f64)
DEVICE(f8e4m3)
DEVICE(f8e5m2)

#define ROW(type) {device_combine_##type, device_finish_##type}

static const struct {
	combine_fn combine;
	finish_fn finish;
} device[FB_DATATYPES] = {
	[FB_I8] = ROW(i8),   [FB_U8] = ROW(u8),	    [FB_I32] = ROW(i32),
	[FB_U32] = ROW(u32), [FB_I64] = ROW(i64),   [FB_U64] = ROW(u64),
	[FB_F16] = ROW(f16), [FB_BF16] = ROW(bf16), [FB_F32] = ROW(f32),
	[FB_F64] = ROW(f64), [FB_F8E4M3] = ROW(f8e4m3), [FB_F8E5M2] = ROW(f8e5m2),
};

/* Whether both give the same for 16 bytes; signed integers divide alike on both sides. */
static bool same(enum fb_datatype type, enum fb_redop op, const void *x, const void *y)
{
	_Alignas(PACK) unsigned char a[PACK], b[PACK], host[PACK];
	size_t count = PACK / fb_datatype_size(type);

	memcpy(a, x, PACK);
	memcpy(b, y, PACK);
	fb_combine_with(FB_SIMD_BASE, type, op)(host, a, b, count);
	device[type].combine((uint32_t)op, a, b);
	if (op == FB_AVG) {
		fb_finish(type, op)(host, count, 3);
		device[type].finish(a, 3);
	}
	return !memcmp(a, host, PACK);
}

/* Random bits; floats without NaN and infinity, whose payloads may differ. */
static void random_pack(enum fb_datatype type, struct fb_rng *rng, unsigned char *out)
{
	static const uint64_t special[FB_DATATYPES] = {
		[FB_F16] = 0x7c00, [FB_BF16] = 0x7f80, [FB_F32] = 0x7f800000,
		[FB_F64] = UINT64_C(0x7ff) << 52};
	size_t bytes = fb_datatype_size(type);

	for (size_t at = 0; at < PACK; at += bytes) {
		uint64_t bits = fb_rng_u64(rng);

		if (special[type] && (bits & special[type]) == special[type])
			bits &= ~(special[type] & (special[type] >> 1));
		memcpy(out + at, &bits, bytes);
	}
}

static void test_random(void)
{
	struct fb_rng rng;

	fb_rng_seed(&rng, 11);
	for (int type = 0; type < FB_DATATYPES; type++)
		for (int op = 0; op < FB_REDOPS; op++) {
			int wrong = 0;

			for (int i = 0; i < RANDOM_PACKS; i++) {
				unsigned char x[PACK], y[PACK];

				random_pack((enum fb_datatype)type, &rng, x);
				random_pack((enum fb_datatype)type, &rng, y);
				wrong += !same((enum fb_datatype)type, (enum fb_redop)op, x, y);
			}
			if (!CHECK_INT(wrong, 0))
				printf("\t%s %s\n", fb_datatype_name((enum fb_datatype)type),
				       fb_redop_name((enum fb_redop)op));
		}
}

/* All 65536 pairs. */
static void test_small_floats(void)
{
	for (int op = 0; op < FB_REDOPS; op++) {
		int wrong = 0;

		for (unsigned x = 0; x < 256; x++)
			for (unsigned y = 0; y < 256; y += PACK) {
				unsigned char xs[PACK], ys[PACK];

				for (unsigned i = 0; i < PACK; i++) {
					xs[i] = (unsigned char)x;
					ys[i] = (unsigned char)(y + i);
				}
				wrong += !same(FB_F8E4M3, (enum fb_redop)op, xs, ys);
				wrong += !same(FB_F8E5M2, (enum fb_redop)op, xs, ys);
			}
		CHECK_INT(wrong, 0);
	}
}

int main(void)
{
	test_random();
	test_small_floats();
	return check_done("gpu_combine");
}
