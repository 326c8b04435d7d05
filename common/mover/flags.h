/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of notices in memory that all ranks of a host share, for movers whose payload is in
 * place when their call returns (shm, cma).
 *
 * Order. A counter has one writer, the rank that gives the notices, and one reader, its peer. It
 * is stored with release order behind the payload's stores and loaded with acquire before the
 * payload's loads, so a rank that sees the number sees the bytes. x86-64 keeps plain stores in
 * order, which is all that release needs there; AArch64 has stlr and ldar for it. Payload that the
 * kernel stored for this process (process_vm_writev) was stored by this thread in a system call
 * that has returned, so it is ordered like the thread's own stores. For the notice of a GET release
 * also orders the payload's loads before the counter's store, so that the owner does not overwrite
 * bytes that are still read. tests/mpi/test_mover.c has a mutant that gives the notice first.
 */
#ifndef FB_COMMON_MOVER_FLAGS_H
#define FB_COMMON_MOVER_FLAGS_H

#include <stdatomic.h>

#include "common/mover/mover.h"

enum { FB_FLAG_LINE = 128 }; /* two cache lines: processors prefetch them in pairs */

static inline size_t fb_flags_bytes(const struct fb_group *group)
{
	return (size_t)group->nranks * FB_NOTICES * FB_FLAG_LINE;
}

/* The counter of notices from `writer`, in the reader's part, so that it polls its own cache. */
static inline _Atomic uint64_t *fb_flag(const struct fb_segment *flags, int reader, int writer,
					int notice)
{
	size_t at = (size_t)writer * FB_NOTICES + (size_t)notice - 1;

	return (_Atomic uint64_t *)(void *)(fb_segment_part(flags, reader) + at * FB_FLAG_LINE);
}

/* Notifies the peer, after all earlier loads and stores of this thread. */
static inline void fb_flag_give(const struct fb_segment *flags, struct fb_mover *mover, int peer,
				int notice)
{
	atomic_store_explicit(fb_flag(flags, peer, mover->group->rank, notice),
			      ++mover->counts[peer][notice], memory_order_release);
}

static inline uint64_t fb_flag_count(const struct fb_segment *flags, const struct fb_mover *mover,
				     int from, int notice)
{
	return atomic_load_explicit(fb_flag(flags, mover->group->rank, from, notice),
				    memory_order_acquire);
}

#endif
