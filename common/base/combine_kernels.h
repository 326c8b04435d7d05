/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction kernels for one instruction set: a template without include guard, which
 * combine.c includes once per level. The includer defines
 *	LEVEL(name)  the name of a function or table of this level
 *	TARGET       the function attribute that selects the instruction set, or nothing
 *	USE_F16C     1 where the level has F16C's conversions, else 0
 * and finds the table LEVEL(kernels). Function pointers in a table, not ifunc clones: the choice
 * is made once per plan anyway, and this works with every compiler, libc and sanitizer.
 */

/*
 * INDEPENDENT promises that no element depends on another one's result. That holds when dst is a
 * or b, so one loop serves in-place calls too, without a run-time overlap test.
 */
#define KERNEL(name, type, expression)                                                             \
	TARGET static void LEVEL(name)(void *dst, const void *a, const void *b, size_t count)      \
	{                                                                                          \
		type *out = dst;                                                                   \
		const type *as = a, *bs = b;                                                       \
                                                                                                   \
		INDEPENDENT                                                                        \
		for (size_t i = 0; i < count; i++) {                                               \
			const type x = as[i], y = bs[i];                                           \
                                                                                                   \
			out[i] = (type)(expression);                                               \
		}                                                                                  \
	}

/* In a macro's argument `x * y` would be laid out like a declaration. */
/* clang-format off */

/* Signed sums and products are the unsigned ones, bit for bit, and wrap without overflow. */
KERNEL(sum_u8, uint8_t, x + y)
KERNEL(sum_u32, uint32_t, x + y)
KERNEL(sum_u64, uint64_t, x + y)
KERNEL(sum_f32, float, x + y)
KERNEL(sum_f64, double, x + y)

KERNEL(prod_u8, uint8_t, x * y)
KERNEL(prod_u32, uint32_t, x * y)
KERNEL(prod_u64, uint64_t, x * y)
KERNEL(prod_f32, float, x * y)
KERNEL(prod_f64, double, x * y)

KERNEL(min_i8, int8_t, x < y ? x : y)
KERNEL(min_u8, uint8_t, x < y ? x : y)
KERNEL(min_i32, int32_t, x < y ? x : y)
KERNEL(min_u32, uint32_t, x < y ? x : y)
KERNEL(min_i64, int64_t, x < y ? x : y)
KERNEL(min_u64, uint64_t, x < y ? x : y)
KERNEL(min_f32, float, x < y ? x : y)
KERNEL(min_f64, double, x < y ? x : y)

KERNEL(max_i8, int8_t, x > y ? x : y)
KERNEL(max_u8, uint8_t, x > y ? x : y)
KERNEL(max_i32, int32_t, x > y ? x : y)
KERNEL(max_u32, uint32_t, x > y ? x : y)
KERNEL(max_i64, int64_t, x > y ? x : y)
KERNEL(max_u64, uint64_t, x > y ? x : y)
KERNEL(max_f32, float, x > y ? x : y)
KERNEL(max_f64, double, x > y ? x : y)

KERNEL(sum_bf16, uint16_t, fb_narrow_bf16(fb_widen_bf16(x) + fb_widen_bf16(y)))
KERNEL(prod_bf16, uint16_t, fb_narrow_bf16(fb_widen_bf16(x) * fb_widen_bf16(y)))
KERNEL(min_bf16, uint16_t, fb_widen_bf16(x) < fb_widen_bf16(y) ? x : y)
KERNEL(max_bf16, uint16_t, fb_widen_bf16(x) > fb_widen_bf16(y) ? x : y)

/* Results are narrowed in all cases, so that an infinity saturates in all of them. */
#define KERNEL_F8(format, name, expression)                                                        \
	TARGET static void LEVEL(name##_##format)(void *dst, const void *a, const void *b,         \
						  size_t count)                                    \
	{                                                                                          \
		uint8_t *out = dst;                                                                \
		const uint8_t *as = a, *bs = b;                                                    \
                                                                                                   \
		INDEPENDENT                                                                        \
		for (size_t i = 0; i < count; i++) {                                               \
			const float x = fb_widen_##format(as[i]), y = fb_widen_##format(bs[i]);    \
                                                                                                   \
			out[i] = fb_narrow_##format(expression);                                   \
		}                                                                                  \
	}
#define KERNELS_F8(format)                                                                         \
	KERNEL_F8(format, sum, x + y)                                                              \
	KERNEL_F8(format, prod, x * y)                                                             \
	KERNEL_F8(format, min, x < y ? x : y)                                                      \
	KERNEL_F8(format, max, x > y ? x : y)

KERNELS_F8(e4m3)
KERNELS_F8(e5m2)

#undef KERNELS_F8
#undef KERNEL_F8

#if USE_F16C

/* Eight at a time by hand: gcc 12 does not vectorise with F16C by itself. */
#define KERNEL_F16(name, vector, expression)                                                       \
	TARGET static void LEVEL(name)(void *dst, const void *a, const void *b, size_t count)      \
	{                                                                                          \
		uint16_t *out = dst;                                                               \
		const uint16_t *as = a, *bs = b;                                                   \
		size_t i = 0;                                                                      \
                                                                                                   \
		for (; i + 8 <= count; i += 8) {                                                   \
			__m128i half_x = _mm_loadu_si128((const void *)(as + i));                  \
			__m128i half_y = _mm_loadu_si128((const void *)(bs + i));                  \
			__m256 wide = vector(_mm256_cvtph_ps(half_x), _mm256_cvtph_ps(half_y));    \
                                                                                                   \
			half_x = _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT);                 \
			_mm_storeu_si128((void *)(out + i), half_x);                               \
		}                                                                                  \
		for (; i < count; i++) {                                                           \
			const float x = _cvtsh_ss(as[i]), y = _cvtsh_ss(bs[i]);                    \
                                                                                                   \
			out[i] = _cvtss_sh(expression, _MM_FROUND_TO_NEAREST_INT);                 \
		}                                                                                  \
	}

KERNEL_F16(sum_f16, _mm256_add_ps, x + y)
KERNEL_F16(prod_f16, _mm256_mul_ps, x * y)
KERNEL_F16(min_f16, _mm256_min_ps, x < y ? x : y)
KERNEL_F16(max_f16, _mm256_max_ps, x > y ? x : y)

#undef KERNEL_F16

#else

KERNEL(sum_f16, uint16_t, NARROW_F16(WIDEN_F16(x) + WIDEN_F16(y)))
KERNEL(prod_f16, uint16_t, NARROW_F16(WIDEN_F16(x) * WIDEN_F16(y)))
KERNEL(min_f16, uint16_t, WIDEN_F16(x) < WIDEN_F16(y) ? x : y)
KERNEL(max_f16, uint16_t, WIDEN_F16(x) > WIDEN_F16(y) ? x : y)

#endif

/* clang-format on */

#undef KERNEL

#define ROW(arithmetic, order)                                                                     \
	{                                                                                          \
		[FB_SUM] = LEVEL(sum_##arithmetic), [FB_PROD] = LEVEL(prod_##arithmetic),          \
		[FB_MIN] = LEVEL(min_##order), [FB_MAX] = LEVEL(max_##order),                      \
		[FB_AVG] = LEVEL(sum_##arithmetic),                                                \
	}

static const fb_combine_fn LEVEL(kernels)[FB_DATATYPES][FB_REDOPS] = {
	[FB_I8] = ROW(u8, i8),	  [FB_U8] = ROW(u8, u8),       [FB_I32] = ROW(u32, i32),
	[FB_U32] = ROW(u32, u32), [FB_I64] = ROW(u64, i64),    [FB_U64] = ROW(u64, u64),
	[FB_F16] = ROW(f16, f16), [FB_BF16] = ROW(bf16, bf16), [FB_F32] = ROW(f32, f32),
	[FB_F64] = ROW(f64, f64), [FB_F8E4M3] = ROW(e4m3, e4m3), [FB_F8E5M2] = ROW(e5m2, e5m2),
};

#undef ROW
#undef LEVEL
#undef TARGET
#undef USE_F16C
