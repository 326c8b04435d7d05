/* SPDX-License-Identifier: BSD-3-Clause */
/* All memory in one ring of blocks; see memory.h. */
#include "scripts/tools/lib/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* In front of what the caller gets. */
struct block {
	_Alignas(max_align_t) struct block *newer;
	struct block *older;
};

/* Older than all blocks, and behind the newest one. */
static struct block ring = {&ring, &ring};

/* Puts a block between two; has what the caller gets of it. */
static void *link_block(struct block *block, struct block *older, struct block *newer)
{
	if (!block)
		exit(fb_exit_code(fb_error(FB_ENOMEM, "out of memory")));
	*block = (struct block){.newer = newer, .older = older};
	older->newer = newer->older = block;
	return block + 1;
}

/* The bytes of a block for so many elements; SIZE_MAX, which malloc refuses, for too many. */
static size_t bytes_of(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(struct block), &bytes))
		return SIZE_MAX;
	return bytes;
}

void *fb_new(size_t n, size_t size)
{
	return link_block(calloc(1, bytes_of(n, size)), ring.older, &ring);
}

void *fb_resize(void *memory, size_t n, size_t size)
{
	struct block *block = memory ? (struct block *)memory - 1 : NULL;
	struct block *older = block ? block->older : ring.older;
	struct block *newer = block ? block->newer : &ring;

	return link_block(realloc(block, bytes_of(n, size)), older, newer);
}

char *fb_new_copy(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(fb_new(n, 1), text, n);
}

char *fb_new_text(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = fb_new((size_t)n + 1, 1);
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

char **fb_texts_copy(char *const *texts, size_t n)
{
	size_t bytes = n * sizeof(char *);
	char **copy, *to;

	for (size_t i = 0; i < n; i++)
		bytes += strlen(texts[i]) + 1;
	copy = fb_new(bytes, 1);
	to = (char *)(copy + n);
	for (size_t i = 0; i < n; i++) {
		copy[i] = to;
		to = stpcpy(to, texts[i]) + 1;
	}
	return copy;
}

void *fb_room(void *list, size_t count, size_t size)
{
	if ((count & (count - 1)) == 0) /* 0 or a power of two: the list is full */
		list = fb_resize(list, count ? 2 * count : 1, size);
	memset((char *)list + count * size, 0, size);
	return list;
}

void fb_drop(void *memory)
{
	struct block *block = memory ? (struct block *)memory - 1 : NULL;

	if (!block)
		return;
	block->older->newer = block->newer;
	block->newer->older = block->older;
	free(block);
}

/* The newest blocks up to `last` and with it; NULL: all. */
static void drop_newest(const struct block *last)
{
	struct block *at = ring.older;
	bool more = true;

	while (more && at != &ring) {
		struct block *older = at->older;

		more = at != last;
		free(at);
		at = older;
	}
	at->newer = &ring;
	ring.older = at;
}

void fb_drop_since(const void *first)
{
	drop_newest((const struct block *)first - 1);
}

void fb_memory_end(void)
{
	drop_newest(NULL);
}
