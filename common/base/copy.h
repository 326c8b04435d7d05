/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving and combining bytes between several sources and destinations in one pass.
 *
 * The work goes block by block of 16 KiB, so that what is read once serves all destinations
 * from the first-level cache. Large destinations that nobody reads soon are written with
 * streaming stores: these do not first fetch the line they overwrite, which saves a third of
 * the memory traffic of a copy.
 */
#ifndef FB_COMMON_BASE_COPY_H
#define FB_COMMON_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/datatype.h"

enum { FB_COPY_BLOCK = 16384 };

struct fb_move {
	fb_combine_fn combine; /* NULL: one source only */
	fb_finish_fn finish;   /* NULL: nothing follows the reduction */
	int nranks;            /* for finish */
	size_t element_bytes;
	char *block;           /* FB_COPY_BLOCK bytes, 64-byte aligned, for the result */
};

/*
 * Reduces src[0..nsrc) into dst[0..ndst), `bytes` each (whole elements). A destination may be
 * equal to a source. stream[i]: destination i is written with streaming stores, which the caller
 * ends with fb_stream_fence() before telling anyone. `finish` applies the move's finish.
 */
void fb_move_bytes(const struct fb_move *move, char *const *dst, const bool *stream, int ndst,
		   const char *const *src, int nsrc, size_t bytes, bool finish);

/* Copies with streaming stores; any alignment. Ranges must not overlap. */
void fb_stream_copy(void *dst, const void *src, size_t bytes);

/* Orders streaming stores before the stores that follow. */
static inline void fb_stream_fence(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Bytes of the last-level cache; 32 MiB where unknown. */
size_t fb_last_level_cache(void);

#endif
