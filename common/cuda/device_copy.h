/* SPDX-License-Identifier: BSD-3-Clause */
/* Device code that kernels of several engines and movers share: copying bytes, and counters. */
#ifndef FB_COMMON_CUDA_DEVICE_COPY_H
#define FB_COMMON_CUDA_DEVICE_COPY_H

/* Above common/cuda/device.h or its emulation, which the includer has included. */

enum { FB_COPY_UNROLL = 8 }; /* 16-byte loads that a thread has in flight */

/* Thread number `at` of a team of `team` moves its part. Both addresses are multiples of 16. */
FB_DEVICE void fb_copy_aligned(uint64_t from, uint64_t to, uint64_t bytes, uint64_t at,
			       uint64_t team)
{
	uint64_t whole = bytes / 16, i = at, tail = whole * 16;

	for (; i + (FB_COPY_UNROLL - 1) * team < whole; i += FB_COPY_UNROLL * team) {
		struct fb_words4 v[FB_COPY_UNROLL];

		FB_UNROLL
		for (int u = 0; u < FB_COPY_UNROLL; u++)
			v[u] = fb_load16(from + (i + (uint64_t)u * team) * 16);
		FB_UNROLL
		for (int u = 0; u < FB_COPY_UNROLL; u++)
			fb_store16(to + (i + (uint64_t)u * team) * 16, v[u]);
	}
	for (; i < whole; i += team)
		fb_store16(to + i * 16, fb_load16(from + i * 16));
	if (bytes - tail >= 8) {
		if (at == 0)
			fb_store8(to + tail, fb_load8(from + tail));
		tail += 8;
	}
	for (i = tail + at; i < bytes; i += team)
		fb_store1(to + i, fb_load1(from + i));
}

/*
 * The same between any addresses. The target is written by aligned words of 8 bytes, with single
 * bytes before and after them. If the source is not aligned alike, each word is made of the two
 * aligned words that contain it; these never reach into another page.
 */
FB_DEVICE void fb_copy_any(uint64_t from, uint64_t to, uint64_t bytes, uint64_t at, uint64_t team)
{
	uint64_t head = (0 - to) & 7, whole, skipped, i;

	head = head < bytes ? head : bytes;
	for (i = at; i < head; i += team)
		fb_store1(to + i, fb_load1(from + i));
	from += head;
	to += head;
	bytes -= head;
	whole = bytes / 8;
	skipped = 8 * (from & 7);
	for (i = at; i < whole; i += team) {
		uint64_t word = (from & ~(uint64_t)7) + i * 8, v = fb_load_word(word);

		if (skipped)
			v = v >> skipped | fb_load_word(word + 8) << (64 - skipped);
		fb_store8(to + i * 8, v);
	}
	for (i = whole * 8 + at; i < bytes; i += team)
		fb_store1(to + i, fb_load1(from + i));
}

/* Waits until this rank's counters of `n` blocks of a peer reach the value; a block barrier. */
FB_DEVICE void fb_await_counters(uint64_t counters, uint32_t n, uint64_t value)
{
	for (uint32_t b = fb_thread(); b < n; b += fb_threads())
		while (!fb_is_reached(fb_load_counter(counters + 8 * (uint64_t)b), value))
			fb_again();
	fb_sync_block();
}

#endif
