/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element types: all patterns of the 16- and 8-bit floats, rounding of what lies between them, and
 * every reduction kernel of every instruction set here against a scalar reference.
 */

#include "common/base/combine.h"
#include "common/base/float16.h"
#include "common/base/float8.h"
#include "common/base/rng.h"
#include "tests/unit/check.h"

enum { LONGEST = 600, ELEMENT = 8, GUARD = 64 };

static void test_names(void)
{
	static const char *const names[] = {"i8",  "u8",   "i32", "u32", "i64",	   "u64",
					    "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"};
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1};
	static const char *const ops[] = {"sum", "prod", "min", "max", "avg"};

	for (int i = 0; i < FB_DATATYPES; i++) {
		CHECK_STR(fb_datatype_name((enum fb_datatype)i), names[i]);
		CHECK_INT(fb_datatype_parse(names[i]), i);
		CHECK_INT(fb_datatype_size((enum fb_datatype)i), sizes[i]);
		for (int op = 0; op < FB_REDOPS; op++) {
			bool can = fb_can_reduce((enum fb_datatype)i, (enum fb_redop)op);

			CHECK(can);
			CHECK_INT(fb_combine((enum fb_datatype)i, (enum fb_redop)op) != NULL, can);
			CHECK_INT(fb_finish((enum fb_datatype)i, (enum fb_redop)op) != NULL,
				  can && op == FB_AVG);
		}
	}
	for (int op = 0; op < FB_REDOPS; op++) {
		CHECK_STR(fb_redop_name((enum fb_redop)op), ops[op]);
		CHECK_INT(fb_redop_parse(ops[op]), op);
	}
	CHECK_INT(fb_datatype_parse("f31"), -1);
	CHECK_INT(fb_datatype_parse(""), -1);
	CHECK_INT(fb_redop_parse("SUM"), -1);
}

/* The value of a pattern by the definition of the format. */
static double value_of(uint16_t bits, int exponent_bits, int fraction_bits)
{
	int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
	int bias = (1 << (exponent_bits - 1)) - 1;
	double fraction = bits & ((1 << fraction_bits) - 1), value;

	if (exponent == (1 << exponent_bits) - 1)
		value = fraction > 0 ? (double)NAN : (double)INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, 1 - bias - fraction_bits);
	else
		value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
	return bits & 0x8000 ? -value : value;
}

/* All patterns there and back, and the midpoint to the next one with its two neighbours. */
static int format_errors(int exponent_bits, int fraction_bits, float (*widen)(uint16_t),
			 uint16_t (*narrow)(float))
{
	int infinity = ((1 << exponent_bits) - 1) << fraction_bits, wrong = 0;

	for (int i = 0; i < 0x10000; i++) {
		uint16_t bits = (uint16_t)i, magnitude = bits & 0x7fff;
		double value = value_of(bits, exponent_bits, fraction_bits);
		float wide = widen(bits);

		if (magnitude > infinity) {
			wrong += !isnan(wide) || (narrow(wide) & 0x7fff) <= infinity;
			wrong += (narrow(wide) ^ bits) & 0x8000 ? 1 : 0;
			continue;
		}
		wrong += (double)wide != value || !signbit(wide) != !(bits & 0x8000);
		wrong += narrow(wide) != bits;
		if (magnitude == infinity)
			continue;
		/* Past the largest number the next step would be the infinity's. */
		double next = value_of((uint16_t)(bits + 1), exponent_bits, fraction_bits);
		double middle = isinf(next)
					? value + (value - (double)widen((uint16_t)(bits - 1))) / 2
					: value + (next - value) / 2;
		float half = (float)middle;
		uint16_t even = bits & 1 ? (uint16_t)(bits + 1) : bits;

		wrong += (double)half != middle || narrow(half) != even;
		wrong += narrow(nextafterf(half, 0)) != bits;
		wrong += narrow(nextafterf(half, half * 4)) != bits + 1;
	}
	return wrong;
}

static void test_formats(void)
{
	CHECK_INT(format_errors(5, 10, fb_widen_f16, fb_narrow_f16), 0);
	CHECK_INT(format_errors(8, 7, fb_widen_bf16, fb_narrow_bf16), 0);
	CHECK_INT(fb_narrow_f16(1e30f), 0x7c00);
	CHECK_INT(fb_narrow_f16(-(float)INFINITY), 0xfc00);
	CHECK_INT(fb_narrow_f16(1e-30f), 0);
	CHECK_INT(fb_narrow_f16(-1e-30f), 0x8000);
	CHECK_INT(fb_narrow_bf16(3.4e38f), 0x7f80);
	CHECK(isnan(fb_widen_bf16(fb_narrow_bf16((float)NAN))));
	/* A NaN whose kept bits are all 0 must not become infinity. */
	CHECK(isnan(fb_widen_bf16(fb_narrow_bf16(fb_bits_float(0x7f800001)))));
	CHECK(isnan(fb_widen_f16(fb_narrow_f16(fb_bits_float(0xff800001)))));
}

/*
 * The 8-bit formats: every pattern there and back, midpoints with their neighbours, and what lies
 * beyond the largest number. e4m3 has numbers where others have infinities, and NaN at 0x7f only.
 */
static int small_errors(int exponent_bits, int fraction_bits, uint8_t most,
			float (*widen)(uint8_t), uint8_t (*narrow)(float))
{
	int infinity = ((1 << exponent_bits) - 1) << fraction_bits, wrong = 0;
	int bias = (1 << (exponent_bits - 1)) - 1;

	for (int i = 0; i < 0x80; i++) {
		uint8_t bits = (uint8_t)i, minus = (uint8_t)(bits | 0x80);
		int exponent = i >> fraction_bits, fraction = i & ((1 << fraction_bits) - 1);
		double value = exponent ? ldexp(fraction + (1 << fraction_bits),
						exponent - bias - fraction_bits)
					: ldexp(fraction, 1 - bias - fraction_bits);

		if (i > most && !(i == infinity && most < infinity)) {
			wrong += !isnan(widen(bits)) || !isnan(widen(minus));
			wrong += narrow(widen(bits)) != 0x7f || narrow(widen(minus)) != 0x7f;
			continue;
		}
		if (i > most) {
			wrong += !isinf(widen(bits)) || narrow(widen(bits)) != most;
			continue;
		}
		wrong += (double)widen(bits) != value || (double)widen(minus) != -value;
		wrong += narrow(widen(bits)) != bits || narrow(widen(minus)) != minus;
		if (i == most)
			continue;
		float half = (widen(bits) + widen((uint8_t)(bits + 1))) / 2;

		wrong += narrow(half) != (bits & 1 ? bits + 1 : bits);
		wrong += narrow(nextafterf(half, 0)) != bits;
		wrong += narrow(nextafterf(half, half * 4)) != bits + 1;
	}
	wrong += narrow(1e30f) != most || narrow((float)-INFINITY) != (most | 0x80);
	wrong += narrow(widen(most) * 1.001f) != most || narrow(fb_bits_float(0xff800001)) != 0x7f;
	wrong += narrow(1e-30f) != 0 || narrow(-1e-30f) != 0x80;
	return wrong;
}

static void test_small_formats(void)
{
	CHECK_INT(small_errors(4, 3, 0x7e, fb_widen_e4m3, fb_narrow_e4m3), 0);
	CHECK_INT(small_errors(5, 2, 0x7b, fb_widen_e5m2, fb_narrow_e5m2), 0);
	CHECK(fb_widen_e4m3(0x7e) == 448.0f && fb_widen_e5m2(0x7b) == 57344.0f);
	/* 17 lies between 16 and 18, 19 between 18 and 20: to even. */
	CHECK_INT(fb_narrow_e4m3(17), fb_narrow_e4m3(16));
	CHECK_INT(fb_narrow_e4m3(19), fb_narrow_e4m3(20));
}

/* a op b of one element by the plainest means. */
#define REFERENCE_INT(name, type, wide)                                                            \
	static void name(enum fb_redop op, const void *a, const void *b, void *out)                \
	{                                                                                          \
		type x, y, r;                                                                      \
                                                                                                   \
		memcpy(&x, a, sizeof(x));                                                          \
		memcpy(&y, b, sizeof(y));                                                          \
		if (op == FB_PROD)                                                                 \
			r = (type)((wide)x * (wide)y);                                             \
		else if (op == FB_MIN)                                                             \
			r = y < x ? y : x;                                                         \
		else if (op == FB_MAX)                                                             \
			r = y > x ? y : x;                                                         \
		else                                                                               \
			r = (type)((wide)x + (wide)y);                                             \
		memcpy(out, &r, sizeof(r));                                                        \
	}

REFERENCE_INT(ref_i8, int8_t, uint64_t)
REFERENCE_INT(ref_u8, uint8_t, uint64_t)
REFERENCE_INT(ref_i32, int32_t, uint64_t)
REFERENCE_INT(ref_u32, uint32_t, uint64_t)
REFERENCE_INT(ref_i64, int64_t, uint64_t)
REFERENCE_INT(ref_u64, uint64_t, uint64_t)
REFERENCE_INT(ref_f32, float, float)
REFERENCE_INT(ref_f64, double, double)

static void ref_f16(enum fb_redop op, const void *a, const void *b, void *out)
{
	uint16_t x, y, r;
	float fx, fy, fr;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	fx = fb_widen_f16(x);
	fy = fb_widen_f16(y);
	ref_f32(op, &fx, &fy, &fr);
	r = fb_narrow_f16(fr);
	memcpy(out, &r, sizeof(r));
}

static void ref_bf16(enum fb_redop op, const void *a, const void *b, void *out)
{
	uint16_t x, y, r;
	float fx, fy, fr;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	fx = fb_widen_bf16(x);
	fy = fb_widen_bf16(y);
	ref_f32(op, &fx, &fy, &fr);
	r = fb_narrow_bf16(fr);
	memcpy(out, &r, sizeof(r));
}

static void ref_e4m3(enum fb_redop op, const void *a, const void *b, void *out)
{
	float x = fb_widen_e4m3(*(const uint8_t *)a), y = fb_widen_e4m3(*(const uint8_t *)b);
	float r;

	ref_f32(op, &x, &y, &r);
	*(uint8_t *)out = fb_narrow_e4m3(r);
}

static void ref_e5m2(enum fb_redop op, const void *a, const void *b, void *out)
{
	float x = fb_widen_e5m2(*(const uint8_t *)a), y = fb_widen_e5m2(*(const uint8_t *)b);
	float r;

	ref_f32(op, &x, &y, &r);
	*(uint8_t *)out = fb_narrow_e5m2(r);
}

static void (*const references[])(enum fb_redop op, const void *a, const void *b, void *out) = {
	[FB_I8] = ref_i8,   [FB_U8] = ref_u8,	[FB_I32] = ref_i32, [FB_U32] = ref_u32,
	[FB_I64] = ref_i64, [FB_U64] = ref_u64, [FB_F16] = ref_f16, [FB_BF16] = ref_bf16,
	[FB_F32] = ref_f32, [FB_F64] = ref_f64, [FB_F8E4M3] = ref_e4m3, [FB_F8E5M2] = ref_e5m2,
};

/* Random bits without NaN, whose payload may differ between levels. */
static void random_elements(enum fb_datatype type, struct fb_rng *rng, unsigned char *out)
{
	uint64_t special = type == FB_F16    ? 0x7c00
			   : type == FB_BF16 ? 0x7f80
			   : type == FB_F32  ? 0x7f800000
			   : type == FB_F64  ? UINT64_C(0x7ff) << 52
			   : type == FB_F8E4M3 ? 0x7f
			   : type == FB_F8E5M2 ? 0x7c
					     : 0;
	size_t bytes = fb_datatype_size(type);

	for (size_t i = 0; i < LONGEST; i++) {
		uint64_t bits = fb_rng_u64(rng);

		if (special && (bits & special) == special)
			bits &= ~(special & (special >> 1));
		memcpy(out + i * bytes, &bits, bytes);
	}
}

/* Lengths around the vector lengths, at odd addresses; mode 0: apart, 1: dst = a, 2: dst = b. */
static void test_kernel(fb_combine_fn combine, enum fb_datatype type, enum fb_redop op,
			struct fb_rng *rng)
{
	static const size_t counts[] = {0,  1,	2,   3,	  4,   5,   7,	 8,
					9,  15, 16,  17,  31,  33,  63,	 64,
					65, 96, 255, 256, 257, 300, 511, LONGEST - 1};
	unsigned char x[LONGEST * ELEMENT], y[LONGEST * ELEMENT], want[LONGEST * ELEMENT];
	unsigned char out[LONGEST * ELEMENT + GUARD], a[LONGEST * ELEMENT], b[LONGEST * ELEMENT];
	size_t bytes = fb_datatype_size(type), skip = bytes;
	int wrong = 0;

	random_elements(type, rng, x);
	random_elements(type, rng, y);
	for (size_t i = 1; i < LONGEST; i++)
		references[type](op, x + i * bytes, y + i * bytes, want + i * bytes);
	for (size_t k = 0; k < 3 * sizeof(counts) / sizeof(counts[0]); k++) {
		size_t count = counts[k / 3], n = count * bytes;
		unsigned char *dst = (k % 3 == 0 ? out : k % 3 == 1 ? a : b) + skip;

		memcpy(a, x, sizeof(a));
		memcpy(b, y, sizeof(b));
		memset(out, 0xa5, sizeof(out));
		combine(dst, a + skip, b + skip, count);
		wrong += memcmp(dst, want + skip, n) != 0;
		if (k % 3 == 0)
			wrong += out[skip - 1] != 0xa5 || out[skip + n] != 0xa5;
		else
			wrong += memcmp(dst + n, (k % 3 == 1 ? x : y) + skip + n,
					sizeof(a) - skip - n) != 0;
	}
	if (!CHECK_INT(wrong, 0))
		printf("\t%s %s\n", fb_datatype_name(type), fb_redop_name(op));
}

static void test_kernels(void)
{
	struct fb_rng rng;

	fb_rng_seed(&rng, 3);
	for (int simd = 0; simd <= (int)fb_simd_best(); simd++)
		for (int type = 0; type < FB_DATATYPES; type++)
			for (int op = 0; op < FB_REDOPS; op++)
				test_kernel(fb_combine_with((enum fb_simd)simd,
							    (enum fb_datatype)type,
							    (enum fb_redop)op),
					    (enum fb_datatype)type, (enum fb_redop)op, &rng);
}

static void test_finish(void)
{
	int8_t i8[] = {-7, 7, 100};
	uint8_t u8[] = {255, 7};
	int64_t i64[] = {-9, INT64_MIN};
	uint64_t u64[] = {UINT64_MAX};
	uint16_t f16[] = {0x3c00, 0x4000}, bf16[] = {0x3f80};
	uint8_t e4m3[] = {0x38, 0x57}, e5m2[] = {0x3c};
	float f32[] = {1, -10};
	double f64[] = {1};

	fb_finish(FB_I8, FB_AVG)(i8, 3, 2);
	CHECK_INT(i8[0], -3);
	CHECK_INT(i8[1], 3);
	CHECK_INT(i8[2], 50);
	fb_finish(FB_I8, FB_AVG)(i8, 3, 1000);
	CHECK_INT(i8[2], 0);
	fb_finish(FB_U8, FB_AVG)(u8, 1, 2);
	CHECK_INT(u8[0], 127);
	CHECK_INT(u8[1], 7);
	fb_finish(FB_I64, FB_AVG)(i64, 2, 4);
	CHECK_INT(i64[0], -2);
	CHECK_INT(i64[1], INT64_MIN / 4);
	fb_finish(FB_U64, FB_AVG)(u64, 1, 3);
	CHECK(u64[0] == UINT64_MAX / 3);
	fb_finish(FB_F16, FB_AVG)(f16, 2, 3);
	CHECK_INT(f16[0], 0x3555);
	CHECK_INT(f16[1], 0x3955);
	fb_finish(FB_BF16, FB_AVG)(bf16, 1, 3);
	CHECK_INT(bf16[0], 0x3eab);
	fb_finish(FB_F8E4M3, FB_AVG)(e4m3, 2, 3);
	CHECK_INT(e4m3[0], 0x2b); /* 0.34375 */
	CHECK_INT(e4m3[1], 0x4a); /* 15 / 3 */
	fb_finish(FB_F8E5M2, FB_AVG)(e5m2, 1, 3);
	CHECK_INT(e5m2[0], 0x35); /* 0.3125 */
	fb_finish(FB_F32, FB_AVG)(f32, 2, 3);
	CHECK(f32[0] == 1.0f / 3 && f32[1] == -10.0f / 3);
	fb_finish(FB_F64, FB_AVG)(f64, 1, 3);
	CHECK(f64[0] == 1.0 / 3);
}

static void test_text(void)
{
	static const struct {
		enum fb_datatype type;
		uint64_t bits;
		const char *text;
	} known[] = {
		{FB_I8, 0xfd, "-3"},
		{FB_U8, 0xfd, "253"},
		{FB_I32, 0x80000000u, "-2147483648"},
		{FB_U32, 0x80000000u, "2147483648"},
		{FB_I64, UINT64_MAX, "-1"},
		{FB_U64, UINT64_MAX, "18446744073709551615"},
		{FB_F16, 0x3e00, "1.5"},
		{FB_BF16, 0xbfc0, "-1.5"},
		{FB_F32, 0x3fc00000, "1.5"},
		{FB_F64, UINT64_C(0xbff8000000000000), "-1.5"},
		{FB_F8E4M3, 0x7e, "0x7e"},
		{FB_F8E5M2, 0x03, "0x03"},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		unsigned char element[8];

		for (size_t k = 0; k < sizeof(element); k++)
			element[k] = 0xee;
		memcpy(element, &known[i].bits, fb_datatype_size(known[i].type));
		CHECK_STR(fb_element_text(known[i].type, element, buf, sizeof(buf)), known[i].text);
	}
}

int main(void)
{
	test_names();
	test_formats();
	test_small_formats();
	test_kernels();
	test_finish();
	test_text();
	return check_done("datatype");
}
