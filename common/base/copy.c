/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving and combining bytes; see copy.h. */
#include "common/base/copy.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* 64 bytes per round: a whole line is written before the next, so lines leave the processor's
 * write-combining buffers complete. */
void fb_stream_copy(void *dst, const void *src, size_t bytes)
{
	char *to = dst;
	const char *from = src;
	size_t head = (64 - (uintptr_t)to % 64) % 64;

	if (head > bytes)
		head = bytes;
	memcpy(to, from, head);
	to += head;
	from += head;
	bytes -= head;
	for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
		__m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
		__m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));

		_mm_stream_si128((__m128i *)(void *)to, a);
		_mm_stream_si128((__m128i *)(void *)(to + 16), b);
		_mm_stream_si128((__m128i *)(void *)(to + 32), c);
		_mm_stream_si128((__m128i *)(void *)(to + 48), d);
	}
	memcpy(to, from, bytes);
}
#else
void fb_stream_copy(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
}
#endif

static void put(char *dst, bool stream, const char *src, size_t bytes)
{
	if (dst == src)
		return;
	if (stream)
		fb_stream_copy(dst, src, bytes);
	else
		memcpy(dst, src, bytes);
}

/* One block of a reduction: combined in `result`, then written to every other destination. */
static void reduce_block(const struct fb_move *m, char *result, char *const *dst,
			 const bool *stream, int ndst, const char *const *src, int nsrc,
			 size_t at, size_t bytes, bool finish)
{
	size_t count = bytes / m->element_bytes;

	m->combine(result, src[0] + at, src[1] + at, count);
	for (int i = 2; i < nsrc; i++)
		m->combine(result, result, src[i] + at, count);
	if (finish && m->finish)
		m->finish(result, count, m->nranks);
	for (int i = 0; i < ndst; i++)
		put(dst[i] + at, stream[i], result, bytes);
}

/*
 * Whether the result can be formed in the only destination. Not if that is streamed to, and not
 * if it is also a source after the second: that would be read after the first write.
 */
static bool in_destination(char *const *dst, const bool *stream, int ndst,
			   const char *const *src, int nsrc)
{
	if (ndst != 1 || stream[0])
		return false;
	for (int i = 2; i < nsrc; i++)
		if (dst[0] == src[i])
			return false;
	return true;
}

void fb_move_bytes(const struct fb_move *m, char *const *dst, const bool *stream, int ndst,
		   const char *const *src, int nsrc, size_t bytes, bool finish)
{
	bool direct = nsrc > 1 && in_destination(dst, stream, ndst, src, nsrc);

	if (nsrc == 1 && ndst == 1) {
		put(dst[0], stream[0], src[0], bytes);
		return;
	}
	for (size_t at = 0; at < bytes && ndst; at += FB_COPY_BLOCK) {
		size_t n = bytes - at < FB_COPY_BLOCK ? bytes - at : FB_COPY_BLOCK;

		for (int i = 0; i < ndst && nsrc == 1; i++)
			put(dst[i] + at, stream[i], src[0] + at, n);
		if (nsrc > 1)
			reduce_block(m, direct ? dst[0] + at : m->block, dst, stream, ndst, src,
				     nsrc, at, n, finish);
	}
}

size_t fb_last_level_cache(void)
{
	long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);

	return bytes > 0 ? (size_t)bytes : (size_t)32 << 20;
}
