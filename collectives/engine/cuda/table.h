/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans as GPUs execute them: each lane of each channel is one thread block, and has a list of
 * records that can be executed without plans and geometry. Plain data, for C and for CUDA.
 *
 * A record says: wait for these counters, then move these bytes, then raise those counters.
 * Credits, drains, announcements and dependencies between lanes are all counters; what a plan
 * calls a step is one record for each contiguous piece of it, and what only waits or only posts
 * is joined with its neighbours (table.c).
 *
 * Counters and messages are numbered through all calls: the i-th of a call in which there are n
 * is number epoch * n + i, the epoch being how many calls the block has made. It is kept in
 * device memory, so that a launch depends on nothing that the host knows: launches can be
 * captured and replayed. Nothing is ever reset.
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_TABLE_H
#define FB_COLLECTIVES_ENGINE_CUDA_TABLE_H

#include <stdint.h>

enum {
	FB_GPU_WINDOW = 8192,  /* bytes of records a block keeps in shared memory at a time */
	FB_GPU_INLINE = 3072,  /* bytes of records that a launch carries in its parameters */
	FB_GPU_MOST_PEERS = 7, /* of the fused exchange kernels */
	FB_GPU_FEW_PEERS = 3,
	FB_GPU_FUSED_BLOCKS = 128, /* which that of ll has at most */
	FB_GPU_FUSED_THREADS = 512,
	FB_GPU_MOST_FUSED_BLOCKS = 512, /* and that of ll128 */
	FB_GPU_MOST_ENDS = FB_GPU_WINDOW / 32, /* of a record: that many fit a window */
	FB_GPU_SHARED = FB_GPU_WINDOW + 8 * FB_GPU_MOST_ENDS, /* shared memory of a block */
	FB_GPU_POOL = 208 << 10, /* and of one of protocol tma in addition, for its pipes */
	FB_GPU_MOST_THREADS = 640,
	FB_GPU_LEAST_STRIPE = 4096, /* the most that a warp has under way: see striped.h */
	FB_GPU_LINE = 128,     /* bytes that counters are apart, and slots are aligned to */
};

enum fb_gpu_protocol {
	FB_GPU_SIMPLE, /* also direct */
	FB_GPU_LL8,    /* words of 4 bytes of data and a 4-byte flag, stored one by one */
	FB_GPU_LL16,   /* the same words, stored by two: 16-byte lines */
	FB_GPU_LL128,  /* lines of 120 bytes of data and an 8-byte flag */
	FB_GPU_PROTOCOLS,
};

/*
 * Memory an end of a record reads or writes: `address` + ((epoch * per_call + index) & mask) *
 * stride. Own and peers' buffers have mask 0; slots have that of their number, which is a power
 * of two. In the line protocols slots hold lines, whose flag is the message's number + 1.
 */
struct fb_gpu_end {
	uint64_t address;
	uint32_t index, per_call;
	uint32_t stride, mask;
	uint32_t is_slot, pad;
};

/*
 * A counter, and the number epoch * per_call + index to wait for or to store. A sender waits for
 * the release of a message that is `slots` older, which may be one of an earlier call.
 */
struct fb_gpu_counter {
	uint64_t address;
	int32_t index;
	uint32_t per_call;
};

enum fb_gpu_flags {
	FB_GPU_SYNC = 1,    /* line protocols: the block's threads meet before it, or its batch */
	FB_GPU_FINISH = 2,  /* the reduction is complete: divide for averages */
	FB_GPU_ALIGNED = 4, /* all memory is aligned as the protocol likes it: 16, else 8 bytes */
	FB_GPU_REFILL = 8,  /* the next record is at the begin of the next window */
	FB_GPU_WIDE = 16,   /* sums stay f32 until all sources are in, see accumulate.h */
	FB_GPU_SAME = 32,   /* fused: all peers get the own block */
	FB_GPU_DEEP = 64,   /* striped: twice as many loads under way */
	FB_GPU_EARLY = 128, /* striped: it waits for its destinations only */
};

/* Followed by nsrc + ndst ends, nwait and npost counters. A multiple of 16 bytes. */
struct fb_gpu_record {
	uint64_t bytes;  /* moved per end; 0: nothing but what a zero-length message needs */
	uint32_t size;   /* of the record */
	uint32_t flags;
	uint16_t nsrc, ndst, nwait, npost;
	uint32_t batch; /* line protocols: so many records from here on are done side by side */
	/*
	 * Striped: the bytes lie in stripes of 2 to the power of `stripe`, each `stripes` of them
	 * behind the one before, in all ends alike. stripe 0: they are contiguous.
	 */
	uint16_t stripe, stripes;
};

/* What a block is given. */
struct fb_gpu_block {
	uint64_t records;  /* address; in a launch that carries them: offset in `inlined` */
	uint32_t bytes;    /* of all its records and the gaps at ends of windows */
	uint32_t nrecords;
};

enum { FB_GPU_INLINE_BLOCKS = 32 };

/* The parameters of the interpreter; at most 4 KiB. */
struct fb_gpu_launch {
	uint64_t epochs;  /* address of each block's epoch, FB_GPU_LINE bytes apart */
	uint64_t times;   /* address of the ring of start times, or 0 */
	uint64_t blocks;  /* address of struct fb_gpu_block[], or 0: inline_blocks */
	uint32_t op;      /* enum fb_redop */
	uint32_t nranks;
	struct fb_gpu_block inline_blocks[FB_GPU_INLINE_BLOCKS];
	uint64_t inlined[FB_GPU_INLINE / 8];
};

enum { FB_GPU_TIMES = 4096 }; /* entries of the ring, a power of two */

/*
 * One peer of the fused exchange kernel; `to` and `in` may belong to another peer than the rest.
 * What one launch needs lies close together, because it has to be fetched first.
 */
struct fb_gpu_exchange_peer {
	uint64_t to;   /* at the peer, this rank's slots */
	uint64_t from; /* own memory: a peer's slots, in order of rank */
	uint64_t in;   /* block for the peer, unless FB_GPU_SAME */
	uint64_t out;  /* where its block goes, unless it is combined; or its sum */
	uint32_t in_bytes, out_bytes;
};

/*
 * The parameters of the fused exchange kernels: every rank stores a block into a slot of every
 * other, and stores what it gets, or combines all of it in order of rank. The same block for all
 * is all_gather, combined all_reduce; a block for each is all_to_all, combined reduce_scatter; and
 * all_reduce if a second message takes the sums to all (ll128 only), whose places are then `out`.
 * Slots: two sets, by epoch.
 */
struct fb_gpu_exchange {
	uint64_t epochs, times;
	uint64_t own_in, own_out; /* own block and its place, 0: stays; or the result's */
	uint64_t bytes;           /* of the own block; of ll all have as many */
	uint32_t stride;          /* bytes of a slot */
	uint32_t per_call;        /* messages to a peer, which are a set of slots: 1 or 2 */
	uint32_t npeers, rank, nranks;
	uint32_t op, flags;       /* FINISH, ALIGNED, SAME */
	struct fb_gpu_exchange_peer peer[FB_GPU_MOST_PEERS];
};

enum { FB_GPU_MOST_SUMMANDS = 200 };

/*
 * The parameters of the kernel that combines what lies in own memory already (engine copy):
 * to = from[0] op from[1] op ... in this order. No overlaps but from[i] == to.
 */
struct fb_gpu_sum {
	uint64_t from[FB_GPU_MOST_SUMMANDS], to;
	uint64_t bytes;
	uint32_t nsrc, nranks;
	uint32_t op, flags; /* FB_GPU_FINISH, FB_GPU_ALIGNED, FB_GPU_WIDE */
};

#endif
