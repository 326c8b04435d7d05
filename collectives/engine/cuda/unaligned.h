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

#if ODD

/* 16 bytes of three words, from byte `skipped` on, 0 to 7. */
FB_DEVICE void NAME(shift_words)(uint64_t low, uint64_t middle, uint64_t high, uint32_t skipped,
				 union NAME(pack) *to)
{
	const uint64_t halves[3] = {low, middle, high};
	uint32_t w[6];

	FB_UNROLL
	for (int i = 0; i < 6; i++)
		w[i] = (uint32_t)(halves[i / 2] >> 32 * (i % 2));
	FB_UNROLL
	for (int i = 0; i < 5; i++)
		w[i] = skipped & 4 ? w[i + 1] : w[i];
	FB_UNROLL
	for (int i = 0; i < 4; i++)
		to->words.w[i] = fb_funnel(w[i], w[i + 1], 8 * (skipped & 3));
}

/*
 * Up to 16 bytes, `left` > 0 of which are wanted; what follows them is anything. Loads without a
 * condition, which keep threads together; those that are not needed are of the first word again.
 */
FB_DEVICE void NAME(load_piece)(uint64_t address, uint64_t left, union NAME(pack) *to)
{
	uint64_t word = address & ~(uint64_t)7, low, middle, high;
	uint32_t skipped = (uint32_t)(address & 7);

	low = fb_load8(word);
	middle = fb_load8(word + (left + skipped > 8 ? 8 : 0));
	high = fb_load8(word + (left + skipped > 16 ? 16 : 0));
	NAME(shift_words)(low, middle, high, skipped, to);
}

/* Up to 8 bytes, as load_piece; 0 of none. */
FB_DEVICE uint64_t NAME(load_half)(uint64_t address, uint64_t left)
{
	uint64_t word = address & ~(uint64_t)7, low, high;
	uint32_t skipped = (uint32_t)(address & 7);
	union NAME(pack) to;

	if (!left)
		return 0;
	low = fb_load8(word);
	high = fb_load8(word + (left + skipped > 8 ? 8 : 0));
	NAME(shift_words)(low, high, 0, skipped, &to);
	return to.halves[0];
}

/*
 * Up to three bytes in front of the first multiple of 4, words of 4 bytes, and up to three bytes
 * behind them: the first `left` of a pack, `most` at most, a constant of the caller's, 8 or 16.
 * Each store has a condition of its own and waits for no other. This is no loop over widths: one
 * took a small call half a microsecond for each block, as its every pass waited for the one before.
 */
FB_DEVICE void NAME(store_rows)(uint64_t address, const union NAME(pack) *from, uint32_t left,
				const uint32_t most)
{
	uint32_t one = sizeof(ELEMENT) < 2 && address & 1 && left >= 1;
	uint32_t two = sizeof(ELEMENT) < 4 && (0 - (uint32_t)address) & 2 && left >= one + 2;
	uint32_t front, w[5] = {0}, at, value;

	FB_UNROLL
	for (uint32_t i = 0; i < most / 4; i++)
		w[i] = from->words.w[i];
	if (one)
		fb_store1(address, (uint8_t)w[0]);
	if (two)
		fb_store2(address + one, (uint16_t)(w[0] >> 8 * one));
	front = one + 2 * two;
	address += front;
	left -= front;
	FB_UNROLL
	for (uint32_t i = 0; i < most / 4; i++)
		w[i] = fb_funnel(w[i], w[i + 1], 8 * front);
	FB_UNROLL
	for (uint32_t i = 0; i < most / 4; i++)
		if (left >= 4 * i + 4)
			fb_store4(address + (uint64_t)i * 4, w[i]);
	at = left / 4;
	value = w[0];
	FB_UNROLL
	for (uint32_t i = 1; i < most / 4; i++)
		value = at == i ? w[i] : value;
	if (sizeof(ELEMENT) < 4 && left & 2)
		fb_store2(address + (left & ~3u), (uint16_t)value);
	if (sizeof(ELEMENT) < 2 && left & 1)
		fb_store1(address + (left & ~1u), (uint8_t)(value >> 8 * (left & 2)));
}

/* Its code is there once for all blocks of a call, which the kernels of ll need to be small. */
FB_OUTLINE void NAME(store_odd_half)(uint64_t address, uint64_t half, uint32_t left)
{
	union NAME(pack) from;

	from.halves[0] = half;
	NAME(store_rows)(address, &from, left, 8);
}

/*
 * The first `bytes` of a pack, `most` of them at most, a constant of the caller's. Blocks of words
 * of 4 bytes, which are frequent in ll, have a short way.
 */
FB_DEVICE void NAME(store_bytes)(uint64_t address, const union NAME(pack) *from, uint64_t bytes,
				 const uint32_t most)
{
	uint32_t left = bytes < most ? (uint32_t)bytes : most;

	if (most > 8) {
		NAME(store_rows)(address, from, left, most);
	} else if (sizeof(ELEMENT) < 4 && ((uint32_t)address | left) & 3) {
		NAME(store_odd_half)(address, from->halves[0], left);
	} else {
		if (left)
			fb_store4(address, from->words.w[0]);
		if (left > 4)
			fb_store4(address + 4, from->words.w[1]);
	}
}

#else

/* Addresses are multiples of 8, and of each 8 bytes all are wanted or none. */
FB_DEVICE void NAME(load_piece)(uint64_t address, uint64_t left, union NAME(pack) *to)
{
	to->halves[0] = fb_load8(address);
	to->halves[1] = left > 8 ? fb_load8(address + 8) : 0;
}

FB_DEVICE uint64_t NAME(load_half)(uint64_t address, uint64_t left)
{
	return left ? fb_load8(address) : 0;
}

FB_DEVICE void NAME(store_bytes)(uint64_t address, const union NAME(pack) *from, uint64_t left,
				 const uint32_t most)
{
	if (left)
		fb_store8(address, from->halves[0]);
	if (most > 8 && left > 8)
		fb_store8(address + 8, from->halves[1]);
}

#endif

enum { NAME(ODD_UNROLL) = 4 };

#if ODD

/* `n` packs, `step` bytes apart, of a source at any address. */
FB_DEVICE void NAME(load_odd)(uint64_t address, uint64_t step, int n, union NAME(pack) *to)
{
	uint64_t word = address & ~(uint64_t)7, high[NAME(ODD_UNROLL)];
	uint32_t skipped = (uint32_t)(address & 7);

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
	for (int u = 0; u < n; u++)
		NAME(shift_words)(to[u].halves[0], to[u].halves[1], high[u], skipped, &to[u]);
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
