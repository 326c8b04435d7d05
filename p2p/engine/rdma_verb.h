/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw verbs, and how messages are distributed over queue pairs. This part of the rdma engine needs
 * no device, so it is in a file of its own and can be tested on any machine.
 *
 * A lane is one queue pair's share of a flow. Small messages go to the lanes in turn. Messages of
 * --rdma-stripe bytes or more are cut, and each rail carries a part of every message. Both ends
 * compute the same lanes, so nothing about them has to be exchanged.
 */
#ifndef FB_P2P_ENGINE_RDMA_VERB_H
#define FB_P2P_ENGINE_RDMA_VERB_H

#include "common/transport/rdma_choice.h"
#include "p2p/job.h"

/* What is asked of the device; the column `protocol`. */
enum fb_raw_verb {
	FB_RAW_SEND,	     /* SEND into a posted receive */
	FB_RAW_WRITE,	     /* WRITE, which the receiver's processor does not notice */
	FB_RAW_WRITE_IMM,    /* WRITE, and a completion at the receiver */
	FB_RAW_READ,
	FB_RAW_FETCH_ADD,    /* atomic, 8 bytes, adds 0, so that the memory keeps its value */
	FB_RAW_COMPARE_SWAP, /* atomic, 8 bytes, replaces the value that is there by itself */
	FB_RAW_VERBS,
};

enum { FB_RAW_ATOMIC_BYTES = 8, FB_RAW_LANES = FB_RDMA_RAILS * 64 };

/* "send", "write", "write_imm", "read", "fetch_add", "compare_swap", NULL. */
extern const char *const fb_raw_verbs[];

/* The verb of that name; FB_RAW_VERBS: there is none. */
enum fb_raw_verb fb_raw_verb_of(const char *name);

static inline bool fb_raw_is_atomic(enum fb_raw_verb verb)
{
	return verb == FB_RAW_FETCH_ADD || verb == FB_RAW_COMPARE_SWAP;
}

/*
 * Whether the verb carries out this `algorithm`. send: SEND, WRITE_IMM, and in ping-pong also a
 * plain WRITE, because there the receiver polls its memory. put: WRITE. get: READ and the atomics.
 */
bool fb_raw_verb_fits(enum fb_raw_verb verb, enum fb_verb algorithm, enum fb_pattern pattern);

struct fb_raw_deal {
	size_t bytes;	 /* of a message */
	int window;	 /* messages under way at once, over all lanes */
	int rails, qps;	 /* qps: of each rail */
	uint64_t stripe; /* bytes from which on messages are cut */
	uint32_t depth;	 /* most requests of a lane */
};

/* What a lane carries of a flow: messages `first`, first + step, first + 2 step and so on. */
struct fb_raw_share {
	int rail, queue;
	uint64_t first, step;
	size_t offset, bytes; /* of its part in each of these messages; bytes >= 1 */
	uint32_t window;      /* parts under way at once, at least 1 */
};

/* Fills shares; returns how many there are, 1 to FB_RAW_LANES. */
int fb_raw_share_out(const struct fb_raw_deal *deal, struct fb_raw_share *shares);

/* How many of the first `messages` messages the lane has a part of. */
static inline uint64_t fb_raw_parts(const struct fb_raw_share *share, uint64_t messages)
{
	return messages > share->first ? (messages - share->first - 1) / share->step + 1 : 0;
}

/* The first message that the lane has a part of beyond its first `parts` ones. */
static inline uint64_t fb_raw_message(const struct fb_raw_share *share, uint64_t parts)
{
	return share->first + parts * share->step;
}

#endif
