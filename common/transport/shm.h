/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory between the ranks of one host: the ports of its four protocols.
 *
 * Each end of a link owns a block in its own part of the segment, written by the other end only,
 * so polling stays in the poller's cache until something happens:
 *   receiver's block: `available` (messages sent, written by the sender) and the slots;
 *   sender's block:   `freed` (messages released) and `credits`, written by the receiver.
 *
 * simple  the slot is filled, then `available` is stored with release; the receiver loads it
 *         with acquire, so it sees the slot's content. x86-64: plain stores and loads keep that
 *         order; AArch64: stlr and ldar.
 * ll      every 8-byte word of a slot holds 4 bytes of data and a 4-byte flag, written by one
 *         8-byte store. An aligned 8-byte access is single-copy atomic on both processors, so
 *         whoever sees the flag has the data: no fence, one cache line less to wait for.
 * ll128   120 bytes of data and an 8-byte flag per 128 bytes. The flag is stored with release
 *         after the data of its line and loaded with acquire before it.
 * direct  no slots. The sender announces with `available` that its push into the peer's buffer
 *         is complete, or that its own chunk may be pulled; the receiver answers with `credits`
 *         (you may push) or `freed` (I have pulled). All with release and acquire.
 *
 * A slot is overwritten only after the receiver has stored `freed` with release, having read the
 * slot before, and the sender has loaded it with acquire; so the flags in it are at least
 * `slots` messages old and never equal the one awaited. Flags of ll have 32 bits: for the first
 * messages after they wrapped, the slot is cleared before use (see ll_commit).
 */
#ifndef FB_COMMON_TRANSPORT_SHM_H
#define FB_COMMON_TRANSPORT_SHM_H

#include <stdatomic.h>

#include "common/transport/transport.h"

/* Locks would lie in the process's own memory: useless between processes. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics need locks here");

enum { FB_LINE = 128 }; /* two cache lines: processors prefetch them in pairs */

struct fb_shm_receiver_block {
	_Alignas(FB_LINE) _Atomic uint64_t available;
};

struct fb_shm_sender_block {
	_Alignas(FB_LINE) _Atomic uint64_t freed;
	_Alignas(FB_LINE) _Atomic uint64_t credits;
};

struct fb_shm_port {
	struct fb_port port;
	struct fb_shm_receiver_block *receiver; /* in the receiver's part */
	struct fb_shm_sender_block *sender;     /* in the sender's part */
	char *slots;         /* in the receiver's part: [nslots][slot_stride] */
	char *stage;         /* ll, ll128: private copy of one message */
	size_t slot_stride;
	uint32_t nslots, slot; /* slot: of the next message */
	uint32_t flag;         /* ll: of the next message, never 0 */
	uint64_t messages;     /* sent (sender) or released (receiver) */
	uint64_t seen;         /* last value read of freed (sender) or available (receiver) */
	uint64_t credits, pulls; /* direct: given or used so far; pulls announced or done */
	size_t unpacked;       /* ll, ll128: bytes of the next message already in the stage */
};

extern const struct fb_port_ops fb_shm_simple_ops, fb_shm_ll_ops, fb_shm_ll128_ops;

/* Bytes of a slot for messages of up to `bytes` bytes. */
size_t fb_shm_ll_stride(size_t bytes);
size_t fb_shm_ll128_stride(size_t bytes);

static inline struct fb_shm_port *fb_shm_port(struct fb_port *port)
{
	return (struct fb_shm_port *)port;
}

/* Direct, sender: may the next push be made? */
static inline bool fb_direct_may_push(struct fb_shm_port *p)
{
	return atomic_load_explicit(&p->sender->credits, memory_order_acquire) > p->credits;
}

/* Direct, sender: the push (`push`) is complete, or own memory may be pulled. */
static inline void fb_direct_announce(struct fb_shm_port *p, bool push)
{
	p->credits += push;
	p->pulls += !push;
	atomic_store_explicit(&p->receiver->available, ++p->messages, memory_order_release);
}

/* Direct, receiver: has the next message been announced? */
static inline bool fb_direct_announced(struct fb_shm_port *p)
{
	return atomic_load_explicit(&p->receiver->available, memory_order_acquire) > p->messages;
}

/* Direct, receiver: the announced message was used; `pulled`: the peer may reuse its memory. */
static inline void fb_direct_done(struct fb_shm_port *p, bool pulled)
{
	p->messages++;
	if (pulled)
		atomic_store_explicit(&p->sender->freed, ++p->pulls, memory_order_release);
}

/* Direct, receiver: the peer may make one more push. */
static inline void fb_direct_credit(struct fb_shm_port *p)
{
	atomic_store_explicit(&p->sender->credits, ++p->credits, memory_order_release);
}

/* Direct, sender: have all pulls up to the total `pulls` been made? */
static inline bool fb_direct_drained(struct fb_shm_port *p, uint64_t pulls)
{
	return atomic_load_explicit(&p->sender->freed, memory_order_acquire) >= pulls;
}

#endif
