/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the analysis tools. A tool reads its input, prints and ends, so what it allocates
 * lives until fb_memory_end(). Where memory is out, these functions say so and end the process with
 * the exit code of FB_ENOMEM, since a tool can do nothing else. Hence callers neither look for NULL
 * nor free anything, except functions that are called often.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_MEMORY_H
#define FB_SCRIPTS_TOOLS_LIB_MEMORY_H

#include <stddef.h>

/* n elements of `size` bytes, all zero. n may be 0. */
void *fb_new(size_t n, size_t size) __attribute__((alloc_size(1, 2), malloc, returns_nonnull));

/* The same with the elements that `memory` (NULL: none) has; what is new behind them is not set. */
void *fb_resize(void *memory, size_t n, size_t size) __attribute__((returns_nonnull));

/* A copy of a text; a text as printf makes it. */
char *fb_new_copy(const char *text) __attribute__((returns_nonnull));
char *fb_new_text(const char *format, ...)
	__attribute__((format(printf, 1, 2), returns_nonnull));

/* Copies of texts[0 .. n) in one block: the pointers, then what they point to. */
char **fb_texts_copy(char *const *texts, size_t n) __attribute__((returns_nonnull));

/*
 * Adds a zeroed element to list[0 .. count), which nothing but this macro may have made longer, and
 * is a pointer to it. Both arguments are variables or members: they are used several times.
 */
#define FB_ADD(list, count)                                                                        \
	((list) = fb_room((list), (count), sizeof(*(list))), &(list)[(count)++])
void *fb_room(void *list, size_t count, size_t size) __attribute__((returns_nonnull));

/*
 * Gives memory back early. The first takes one block, or NULL. The second takes a block and with it
 * all blocks that were new after it, however often they were resized.
 */
void fb_drop(void *memory);
void fb_drop_since(const void *first);

/* Gives all of it back. fb_tool_main does so; tests that call a tool's functions often may. */
void fb_memory_end(void);

#endif
