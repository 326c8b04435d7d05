/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversions between f32 and the 8-bit floats of the OCP format, as float16.h has them for 16
 * bits: e4m3 (bias 7, largest 448, no infinity, one NaN) and e5m2 (the upper half of an f16).
 *
 * Results are bit for bit those of the GPU's cvt.rn.satfinite: round to nearest even, what is
 * beyond the largest number becomes that number, infinity too; every NaN becomes 0x7f.
 */
#ifndef FB_COMMON_BASE_FLOAT8_H
#define FB_COMMON_BASE_FLOAT8_H

#include "common/base/float16.h"

FB_FLOAT16 float fb_widen_e4m3(uint8_t bits)
{
	uint32_t sign = (bits & 0x80u) << 24;
	uint32_t wide = (bits & 0x7fu) << 20; /* exponent and fraction at their f32 places */
	/* The exponent bias grows by 127 - 7. */
	uint32_t normal = wide + (120u << 23);
	uint32_t subnormal = fb_float_bits(fb_bits_float(wide + (121u << 23)) - 0x1p-6f);
	uint32_t finite = fb_select_below(wide, 1u << 23, subnormal, normal);

	return fb_bits_float(sign | fb_select_below(0x7eu << 20, wide, 0x7fc00000u, finite));
}

FB_FLOAT16 float fb_widen_e5m2(uint8_t bits)
{
	return fb_widen_f16((uint16_t)(bits << 8));
}

/*
 * What both formats share. shift: fraction bits of f32 that are cut off; least: bits of the
 * smallest normal number as f32; half: those of the f32 whose last place is the format's smallest
 * number; most: the format's largest number.
 */
FB_FLOAT16 uint8_t fb_narrow_f8(float value, uint32_t shift, uint32_t least, uint32_t half,
				uint32_t most)
{
	uint32_t bits = fb_float_bits(value);
	uint32_t sign = (bits >> 24) & 0x80u, mag = bits & 0x7fffffffu;
	/* Adding just under half of the last kept place, or half if that place is odd. */
	uint32_t round = (1u << (shift - 1)) - 1 + ((mag >> shift) & 1);
	uint32_t normal = (mag - (least - (1u << 23)) + round) >> shift;
	uint32_t subnormal = fb_float_bits(fb_bits_float(mag) + fb_bits_float(half)) - half;
	uint32_t finite = fb_select_below(mag, least, subnormal, normal);

	finite = fb_select_below(finite, most, finite, most);
	return (uint8_t)fb_select_below(0x7f800000u, mag, 0x7fu, sign | finite);
}

FB_FLOAT16 uint8_t fb_narrow_e4m3(float value)
{
	return fb_narrow_f8(value, 20, 121u << 23, 141u << 23, 0x7e);
}

FB_FLOAT16 uint8_t fb_narrow_e5m2(float value)
{
	return fb_narrow_f8(value, 21, 113u << 23, 134u << 23, 0x7b);
}

#endif
