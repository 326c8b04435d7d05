/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of copies that a rank enqueues for one call of engine copy, and the flags that order
 * them across ranks. It has no CUDA, so that tests can run lists on host memory in random
 * interleavings.
 *
 * A transfer has an initiator, which enqueues the copy, and a target. With push the initiator is
 * the source and writes into the target's output; with pull it is the destination and reads the
 * target's input. Either way two flags of one bit order the two, both in GPU memory that both
 * ranks reach:
 *
 *	target:     write READY := 1 (at the initiator) ... wait DONE == 1, DONE := 0
 *	initiator:  wait READY == 1, READY := 0, copy, write DONE := 1 (at the target)
 *
 * Begin: the copy waits for READY, which the target's stream writes when it has reached the call.
 * So all that was enqueued there before is over: kernels that produced the input that the copy
 * reads, or that read the output that it overwrites.
 * End: the target's stream goes on only after DONE, which follows the copy in the initiator's
 * stream (a stream write is a system-wide release of what is before it, a stream wait an
 * acquire). The initiator's own stream goes on after its copies. So behind the call every rank's
 * output is whole and its input may be changed.
 *
 * Why one bit is enough, for any number of calls and without a barrier between them: only the
 * other side sets a flag and only the owner clears it, and they take turns. The target sets READY
 * for call k+1 only after it saw DONE of call k, which the initiator wrote after it cleared READY
 * of call k. The initiator sets DONE of call k+1 only after it saw READY of call k+1, which the
 * target wrote after it cleared DONE of call k. No write can meet a flag that is still set, so
 * none is lost, and a wait can only be satisfied by the write of its own call. All values are
 * constants, which is what a captured graph can hold: replays, graphs of several calls and plain
 * launches mix freely. Behind a call all flags it used are 0.
 *
 * Why it cannot deadlock: all READYs of a rank are before its first wait, in every order that
 * keeps to its streams, forks and joins, and its waits for DONE behind all its copies. A READY
 * waits for nothing but the call before, a copy for a READY (and, relayed, for a copy from the
 * root), a DONE for a copy. So everything comes to pass in any such order, even one after the
 * other; more is promised neither by a graph nor by streams that share a queue of the hardware.
 *
 * Rotation: in its k-th copy rank r serves r+k (push) or reads r-k (pull): at each step every
 * rank is sent to, or read from, by one other.
 *
 * Turns: several large copies at once into one GPU, or out of it, get in each other's way. So
 * where blocks are large, a rank's copies follow each other on one stream, in the order of the
 * rotation. Ranks do not synchronise between two steps, and need not: all copies of a step take
 * equally long. The copy of a late rank meets another copy in a GPU for as long as the rank is
 * late, and two copies at once lose 15%. Flags between steps would cost more.
 *
 * A broadcast of medium size by push is relayed: the root sends each piece to one other rank
 * only, which passes it on to the rest, so that no rank sends the data more than once nor receives
 * it twice. There DONE of the piece at the relaying rank is its permission to pass it on.
 *
 * Reductions are in sums.h, the largest broadcasts and those to a root in chain.h.
 */
#ifndef FB_COLLECTIVES_ENGINE_COPY_PLAN_H
#define FB_COLLECTIVES_ENGINE_COPY_PLAN_H

#include "collectives/engine/engine.h"

enum { FB_COPY_MOST_STREAMS = 16, FB_COPY_MOST_PIECES = 16 };

enum fb_copy_kind {
	FB_COPY_MOVE,   /* copy */
	FB_COPY_SIGNAL, /* flag of rank `peer` := 1 */
	FB_COPY_AWAIT,  /* wait until own flag is 1, then := 0 */
	FB_COPY_AFTER,  /* `stream` goes on after what stream `after` holds now */
	FB_COPY_SUM,    /* combine what all ranks have for this one */
};

/* Where a move or a sum reads and writes. */
enum fb_copy_area {
	FB_COPY_IN,
	FB_COPY_OUT,
	FB_COPY_SCRATCH, /* memory of the engine's, fb_copy_scratch_bytes in each rank's part */
};

/* One entry of a rank's list. Stream 0 is the caller's. */
struct fb_copy_op {
	enum fb_copy_kind kind;
	int stream;
	int after;               /* FB_COPY_AFTER */
	int peer;                /* of a signal; of a move, the rank that is not this one */
	uint32_t flag;           /* index in the flags of its owner */
	int from, to;            /* move and sum: ranks */
	enum fb_copy_area from_area, to_area;
	uint64_t from_byte, to_byte, bytes; /* in these */
	uint64_t slot_byte, slot_stride;    /* sum: in scratch, of the first other rank's part */
	bool chained;                       /* sum: of what the slot holds and the own part only */
};

struct fb_copy_list {
	struct fb_copy_op *op; /* [count], malloced */
	size_t count, capacity;
	int streams;           /* beside the caller's */
	const char *way;       /* the form, for the row; NULL for the plainest */
};

/* Tuning parameters of a list of copies, the same on all ranks. */
struct fb_copy_tuning {
	bool pull;
	int streams;           /* 0: everything on the caller's stream */
	uint64_t relay_bytes;  /* broadcasts of as much and more are relayed */
	uint64_t piece_bytes;  /* pieces that are passed on have about as much */
	uint64_t chain_bytes;  /* as much and more is passed on in a row (chain.h); 0: never */
	uint64_t round_bytes;  /* blocks of as much and more go by turns, pieces of sums in rounds
				  (sums.h), if there are streams */
	uint64_t tail_bytes;   /* of a piece of a sum in rounds, about; 0: none has a tail */
	uint64_t sum_bytes;    /* most bytes of a piece that is summed; 0: any */
	uint64_t last_bytes;   /* such pieces get shorter down to about it; 0: they are equal */
};

/* Flags that each rank owns. */
uint32_t fb_copy_flags(int nranks);

/* Whether the engine does the operation; equal on all ranks. Writes the reason otherwise. */
bool fb_copy_can(const struct fb_operation *op, bool pull, char *reason, size_t n);

/*
 * Makes the list of `rank`, without communication; all ranks pass the same tuning. Returns 0, or
 * FB_ENOMEM (printed) with an empty *list. fb_copy_list_free frees it.
 */
int fb_copy_plan(const struct fb_operation *op, const struct fb_copy_tuning *tuning, int rank,
		 int nranks, struct fb_copy_list *list);
void fb_copy_list_free(struct fb_copy_list *list);

/* Bytes of scratch that each rank needs for the list; 0 for what is no reduction. */
uint64_t fb_copy_scratch_bytes(const struct fb_operation *op, const struct fb_copy_tuning *tuning,
			       int nranks);

/*
 * Addresses of a move, and the destination of a sum; NULL where the rank is out of reach.
 * scratch[rank]: the begin of each rank's scratch, NULL where there is none.
 */
const void *fb_copy_source(const struct fb_operation *op, char *const *scratch,
			   const struct fb_copy_op *move);
void *fb_copy_destination(const struct fb_operation *op, char *const *scratch,
			  const struct fb_copy_op *move);

/*
 * The number of summands of a sum, and the k-th. Unless chained, this is rank k's contribution: the
 * order of ranks gives all ranks the same bits.
 */
int fb_copy_summands(const struct fb_copy_op *sum, int nranks);
const void *fb_copy_summand(const struct fb_operation *op, char *const *scratch,
			    const struct fb_copy_op *sum, int nranks, int k);

#endif
