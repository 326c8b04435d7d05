/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code that makes messages of pages, and pages of messages (kvtransfer/wire.h), above
 * common/cuda/device.h or its emulation. A team of threads goes through a part, 8 bytes of pages a
 * thread at a time: four bf16 elements, which are four bytes of a quantised message.
 */
#ifndef FB_KVTRANSFER_WIRE_DEVICE_H
#define FB_KVTRANSFER_WIRE_DEVICE_H

#include "kvtransfer/wire.h"

typedef uint64_t __attribute__((may_alias)) fb_kv_word8;
typedef uint32_t __attribute__((may_alias)) fb_kv_word4;

FB_DEVICE uint32_t fb_kv_quantise4(uint64_t elements)
{
	uint32_t bytes = 0;

	for (int k = 0; k < 4; k++) {
		uint16_t element = (uint16_t)(elements >> 16 * k);

		bytes |= (uint32_t)(uint8_t)FB_NARROW_E4M3(FB_WIDEN_BF16(element)) << 8 * k;
	}
	return bytes;
}

FB_DEVICE uint64_t fb_kv_restore4(uint32_t bytes)
{
	uint64_t elements = 0;

	for (int k = 0; k < 4; k++) {
		uint8_t byte = (uint8_t)(bytes >> 8 * k);

		elements |= (uint64_t)(uint16_t)FB_NARROW_BF16(FB_WIDEN_E4M3(byte)) << 16 * k;
	}
	return elements;
}

/* The same of one element, or of one byte where nothing is quantised. */
FB_DEVICE void fb_kv_packing_single(const struct fb_kv_packing *p, uint64_t pages, uint64_t wire,
				    uint64_t i)
{
	uint16_t *element = (uint16_t *)pages + i;
	uint8_t *byte = (uint8_t *)wire + i, *plain = (uint8_t *)pages + i;

	if (p->fp8 && p->out)
		*byte = (uint8_t)FB_NARROW_E4M3(FB_WIDEN_BF16(*element));
	else if (p->fp8)
		*element = (uint16_t)FB_NARROW_BF16(FB_WIDEN_E4M3(*byte));
	else if (p->out)
		*byte = *plain;
	else
		*plain = *byte;
}

FB_DEVICE void fb_kv_packing_word(const struct fb_kv_packing *p, uint64_t pages, uint64_t wire,
				  uint64_t i)
{
	fb_kv_word8 *page = (fb_kv_word8 *)pages + i, *plain = (fb_kv_word8 *)wire + i;
	fb_kv_word4 *small = (fb_kv_word4 *)wire + i;

	if (p->fp8 && p->out)
		*small = fb_kv_quantise4(*page);
	else if (p->fp8)
		*page = fb_kv_restore4(*small);
	else if (p->out)
		*plain = *page;
	else
		*page = *plain;
}

/* Part number `index` of parts * repeats, by thread `lane` of `team`. */
FB_DEVICE void fb_kv_packing_part(const struct fb_kv_packing *p, uint64_t index, uint32_t lane,
				  uint32_t team)
{
	const struct fb_kv_part *part = (const struct fb_kv_part *)p->part + index % p->parts;
	uint64_t repeat = index / p->parts;
	uint64_t pages = p->pages + repeat * p->pages_step + part->pages;
	uint64_t wire = p->wire + repeat * p->wire_step + part->wire;
	uint64_t items = part->bytes / (p->any ? (p->fp8 ? 2 : 1) : 8);

	for (uint64_t i = lane; i < items; i += team)
		if (p->any)
			fb_kv_packing_single(p, pages, wire, i);
		else
			fb_kv_packing_word(p, pages, wire, i);
}

#endif
