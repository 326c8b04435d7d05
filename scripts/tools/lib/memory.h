/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the analysis tools. A tool reads its input, prints and ends, so what it allocates
 * lives until fb_memory_end(). If memory runs out, these functions print that and end the process
 * with the exit code of FB_ENOMEM, since a tool can do nothing else. So callers neither check for
 * NULL nor free anything, except in functions that are called often.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_MEMORY_H
#define FB_SCRIPTS_TOOLS_LIB_MEMORY_H

#include <stddef.h>

/* n elements of `size` bytes, all zero. n may be 0. */
void *fb_new(size_t n, size_t size) __attribute__((alloc_size(1, 2), malloc, returns_nonnull));

/* Resizes `memory` (NULL: empty) to n elements. It keeps its contents; new elements are not set. */
void *fb_resize(void *memory, size_t n, size_t size) __attribute__((returns_nonnull));

/* A copy of a text; a text as printf makes it. */
char *fb_new_copy(const char *text) __attribute__((returns_nonnull));
char *fb_new_text(const char *format, ...)
	__attribute__((format(printf, 1, 2), returns_nonnull));

/* Copies of texts[0 .. n) in one block: the pointers, then what they point to. */
char **fb_texts_copy(char *const *texts, size_t n) __attribute__((returns_nonnull));

/*
 * Appends a zeroed element to list[0 .. count), and evaluates to a pointer to it. The room of the
 * list follows from count, so nothing else may append to it. Both arguments are used several times.
 */
#define FB_ADD(list, count)                                                                        \
	((list) = fb_room((list), (count), sizeof(*(list))), &(list)[(count)++])
void *fb_room(void *list, size_t count, size_t size) __attribute__((returns_nonnull));

/*
 * Free memory early. The first frees one block, or does nothing for NULL. The second frees a block
 * and all blocks that were allocated after it, even if they have been resized.
 */
void fb_drop(void *memory);
void fb_drop_since(const void *first);

/* Frees all memory. fb_tool_main calls it; tests that call a tool's functions often may, too. */
void fb_memory_end(void);

#endif
