/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads and stores at any address: a template without include guard, after combine.h. Blocks begin
 * where the counts of the user put them, which need not be a multiple of what a thread moves.
 *
 * What is not aligned is read by the aligned 8-byte words that hold it, whose bytes are shifted
 * into place. Such a word never reaches into another page, and the bytes beside the wanted ones
 * are dropped, whoever is writing them meanwhile. Neighbouring threads read the same words; where
 * there are many, the first-level cache keeps them, so that memory and links carry them once.
 * Stores are as wide as the address allows and never touch a byte beside the wanted ones.
 */

/* The element at an address, in the first place of a pack. */
FB_DEVICE void NAME(load_one)(uint64_t address, union NAME(pack) *to)
{
	to->halves[0] = 0;
	if (sizeof(ELEMENT) == 8)
		to->halves[0] = fb_load8(address);
	else if (sizeof(ELEMENT) == 4)
		to->words.w[0] = fb_load4(address);
	else if (sizeof(ELEMENT) == 2)
		to->words.w[0] = fb_load2(address);
	else
		to->words.w[0] = fb_load1(address);
}

FB_DEVICE void NAME(store_one)(uint64_t address, const union NAME(pack) *from)
{
	if (sizeof(ELEMENT) == 8)
		fb_store8(address, from->halves[0]);
	else if (sizeof(ELEMENT) == 4)
		fb_store4(address, from->words.w[0]);
	else if (sizeof(ELEMENT) == 2)
		fb_store2(address, (uint16_t)from->words.w[0]);
	else
		fb_store1(address, (uint8_t)from->words.w[0]);
}

/* The widest aligned store of up to 8 bytes at an address of which `left` > 0 bytes are wanted. */
FB_DEVICE uint32_t NAME(store_width)(uint64_t address, uint64_t left)
{
	if (address & 1 || left < 2)
		return 1;
	if (address & 2 || left < 4)
		return 2;
	return address & 4 || left < 8 ? 4 : 8;
}

/*
 * Up to 8 bytes of own memory; the rest is 0. `aligned`: the address is a multiple of 8. Kernels
 * that are not ODD have no other addresses, and there all of the 8 bytes are wanted, or none.
 */
FB_DEVICE uint64_t NAME(load_half)(uint64_t address, uint64_t left, bool aligned)
{
#if ODD
	uint64_t word = address & ~(uint64_t)7, value;
	uint32_t skipped = (uint32_t)(address & 7);

	if (aligned && left >= 8)
		return fb_load8(address);
	if (left == 4 && !(address & 3)) /* one element of many types: the shortest call there is */
		return fb_load4(address);
	if (!left)
		return 0;
	value = fb_load8(word) >> (8 * skipped);
	if (left + skipped > 8 && skipped)
		value |= fb_load8(word + 8) << (64 - 8 * skipped);
	return left < 8 ? value & (((uint64_t)1 << (8 * left)) - 1) : value;
#else
	(void)aligned;
	return left ? fb_load8(address) : 0;
#endif
}

/*
 * Up to 8 bytes to any address, by up to four stores: bytes beside them are not touched. The loop
 * stays one, because this function stands in many places and a kernel's first call waits for its
 * instructions.
 */
FB_DEVICE void NAME(store_half)(uint64_t address, uint64_t value, uint64_t left, bool aligned)
{
#if ODD
	if (aligned && left >= 8) {
		fb_store8(address, value);
		return;
	}
	if (left == 4 && !(address & 3)) {
		fb_store4(address, (uint32_t)value);
		return;
	}
	left = left < 8 ? left : 8;
	FB_ROLLED
	while (left) {
		uint32_t width = NAME(store_width)(address, left);

		if (width == 1)
			fb_store1(address, (uint8_t)value);
		else if (width == 2)
			fb_store2(address, (uint16_t)value);
		else if (width == 4)
			fb_store4(address, (uint32_t)value);
		else
			fb_store8(address, value);
		value = width < 8 ? value >> (8 * width) : 0;
		address += width;
		left -= width;
	}
#else
	(void)aligned;
	if (left)
		fb_store8(address, value);
#endif
}

/* 16 bytes of own memory, or 8 where `last` says so: no condition differs between neighbours. */
FB_DEVICE void NAME(load_whole)(uint64_t address, bool last, bool aligned, union NAME(pack) *to)
{
	uint64_t word = address & ~(uint64_t)7, low, middle, high = 0;
	uint32_t skipped = 8 * (uint32_t)(address & 7);

	if (!ODD || aligned || !skipped) {
		to->halves[0] = fb_load8(address);
		to->halves[1] = last ? 0 : fb_load8(address + 8);
		return;
	}
	low = fb_load8(word);
	middle = fb_load8(word + 8);
	if (!last)
		high = fb_load8(word + 16);
	to->halves[0] = low >> skipped | middle << (64 - skipped);
	to->halves[1] = middle >> skipped | high << (64 - skipped);
}

enum { NAME(ODD_UNROLL) = 4 };

#if ODD

/* `n` packs, `step` bytes apart, of a source at any address. */
FB_DEVICE void NAME(load_odd)(uint64_t address, uint64_t step, int n, union NAME(pack) *to)
{
	uint64_t word = address & ~(uint64_t)7, high[NAME(ODD_UNROLL)];
	uint32_t skipped = 8 * (uint32_t)(address & 7);

	if (!(address & 15)) {
		FB_UNROLL
		for (int u = 0; u < n; u++)
			to[u].words = fb_load16(address + (uint64_t)u * step);
		return;
	}
	FB_UNROLL
	for (int u = 0; u < n; u++) {
		to[u].halves[0] = fb_load_word(word + (uint64_t)u * step);
		to[u].halves[1] = fb_load_word(word + (uint64_t)u * step + 8);
		if (skipped)
			high[u] = fb_load_word(word + (uint64_t)u * step + 16);
	}
	if (!skipped)
		return;
	FB_UNROLL
	for (int u = 0; u < n; u++) {
		uint64_t middle = to[u].halves[1];

		to[u].halves[0] = to[u].halves[0] >> skipped | middle << (64 - skipped);
		to[u].halves[1] = middle >> skipped | high[u] << (64 - skipped);
	}
}

/* 16 bytes to any address of an element: by as wide stores as it allows. */
FB_DEVICE void NAME(store_odd)(uint64_t address, const union NAME(pack) *from)
{
	uint64_t low = from->halves[0], high = from->halves[1];
	uint32_t left = 16;

	if (!(address & 15)) {
		fb_store16(address, from->words);
		return;
	}
	FB_ROLLED
	while (left) {
		uint32_t width = NAME(store_width)(address, left);

		if (width == 8) {
			fb_store8(address, low);
			low = high;
		} else {
			if (width == 4)
				fb_store4(address, (uint32_t)low);
			else if (width == 2)
				fb_store2(address, (uint16_t)low);
			else
				fb_store1(address, (uint8_t)low);
			low = low >> (8 * width) | high << (64 - 8 * width);
			high >>= 8 * width;
		}
		address += width;
		left -= width;
	}
}

#else

FB_DEVICE void NAME(load_odd)(uint64_t address, uint64_t step, int n, union NAME(pack) *to)
{
	FB_UNROLL
	for (int u = 0; u < n; u++)
		to[u].words = fb_load16(address + (uint64_t)u * step);
}

FB_DEVICE void NAME(store_odd)(uint64_t address, const union NAME(pack) *from)
{
	fb_store16(address, from->words);
}

#endif
