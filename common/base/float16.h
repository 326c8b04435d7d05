/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversions between f32 and the 16-bit floats, as straight-line selects on bit patterns.
 *
 * Compilers turn loops over these into vector code on any instruction set, which they do not do
 * for _Float16 without hardware support. Results are bit for bit those of F16C and of AArch64's
 * fcvt: round to nearest even, subnormals kept, NaNs made quiet with their payload's upper bits.
 * No step has a subnormal f32 operand, so the results do not depend on flush-to-zero modes.
 */
#ifndef FB_COMMON_BASE_FLOAT16_H
#define FB_COMMON_BASE_FLOAT16_H

#include <stdint.h>
#include <string.h>

/* Device code uses the same functions. */
#ifdef __CUDACC__
#define FB_FLOAT16 static inline __host__ __device__
#else
#define FB_FLOAT16 static inline
#endif

FB_FLOAT16 uint32_t fb_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

FB_FLOAT16 float fb_bits_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * a < b ? yes : no, for a and b below 2^31. With a conditional expression gcc moves the
 * floating-point operations that make `yes` into a branch, which it then does not vectorise
 * (they could trap); so the mask is the sign of a difference.
 */
FB_FLOAT16 uint32_t fb_select_below(uint32_t a, uint32_t b, uint32_t yes, uint32_t no)
{
	uint32_t mask = 0 - ((a - b) >> 31);

	return (yes & mask) | (no & ~mask);
}

FB_FLOAT16 float fb_widen_f16(uint16_t half)
{
	uint32_t sign = (half & 0x8000u) << 16;
	uint32_t wide = (half & 0x7fffu) << 13; /* exponent and fraction at their f32 places */
	/* The exponent bias grows by 127 - 15. */
	uint32_t normal = wide + (112u << 23);
	/* Fraction bits below an implicit one that is then subtracted: exact. */
	uint32_t subnormal = fb_float_bits(fb_bits_float(wide + (113u << 23)) - 0x1p-14f);
	uint32_t special = wide | 0x7f800000u | (wide > (0x1fu << 23) ? 0x400000u : 0);
	uint32_t finite = fb_select_below(wide, 1u << 23, subnormal, normal);

	return fb_bits_float(sign | fb_select_below(wide, 0x1fu << 23, finite, special));
}

FB_FLOAT16 uint16_t fb_narrow_f16(float value)
{
	uint32_t bits = fb_float_bits(value);
	uint32_t sign = (bits >> 16) & 0x8000u, mag = bits & 0x7fffffffu;
	/* Adding just under half of the last kept place, or half if that place is odd. */
	uint32_t normal = (mag - (112u << 23) + 0xfffu + ((mag >> 13) & 1)) >> 13;
	/* The last place of 0.5 is 2^-24, f16's smallest number, so the addition rounds. */
	uint32_t subnormal = fb_float_bits(fb_bits_float(mag) + 0.5f) - 0x3f000000u;
	uint32_t nan = 0x7e00u | ((mag >> 13) & 0x3ffu);
	uint32_t finite = fb_select_below(mag, 0x38800000u, subnormal, normal);

	/* 65520 and above round to infinity. */
	finite = fb_select_below(mag, 0x477ff000u, finite, 0x7c00u);
	return (uint16_t)(sign | fb_select_below(0x7f800000u, mag, nan, finite));
}

FB_FLOAT16 float fb_widen_bf16(uint16_t bits)
{
	return fb_bits_float((uint32_t)bits << 16);
}

FB_FLOAT16 uint16_t fb_narrow_bf16(float value)
{
	uint32_t bits = fb_float_bits(value);
	uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1);
	uint32_t nan = bits | 0x400000u;

	return (uint16_t)(((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded) >> 16);
}

#endif
