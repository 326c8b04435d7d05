/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the tables that GPUs execute (table.h) from plans. It needs only addresses of the machine,
 * so the CPU emulation in the tests builds exactly what the engine builds.
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_BUILD_H
#define FB_COLLECTIVES_ENGINE_CUDA_BUILD_H

#include "collectives/engine/cuda/table.h"
#include "common/plan/geometry.h"
#include "common/plan/plan.h"

/* What is the same for all ranks of an operation. */
struct fb_gpu_shape {
	enum fb_gpu_protocol protocol;
	struct fb_geometry geometry;
	int nranks, nchannels, nlanes; /* nlanes: the most of any rank and channel */
	uint64_t slices;               /* per channel */
	uint32_t slots;                /* most per link; a power of two */
	uint32_t stride;               /* bytes of a slot */
	bool all_depend;               /* every rank's output depends on every rank's input */
	bool deep;                     /* striped: FB_GPU_DEEP */
};

/* Which memory the links with a peer are in. */
enum fb_gpu_via {
	FB_GPU_NEAR,    /* the usual memory */
	FB_GPU_FAR,     /* another memory that both reach, see fb_gpu_layout.far_bytes */
	FB_GPU_PROXIED, /* each has its own; the hosts' proxies carry messages and counters over */
};

/*
 * Where the operation's counters and slots are in the memory of its links, a part of which each
 * rank has in its GPU: epochs and progress of blocks, counters by (channel, lane, peer), slots of
 * own in-links. Peers need to know where those slots are: in_slots, by [peer][channel][lane], is
 * exchanged so that out_slots has what the peers have for this rank. The far memory, if there is
 * one, has the same offsets, but only its own links' slots. Behind them, at `proxied`, is this
 * rank's stand-in for the parts of all peers that it reaches through the proxy. The rank writes
 * there what would go into the peer's part. Counters are by the peer's number, and slots of
 * out-links are at proxied_slots.
 */
struct fb_gpu_layout {
	uint64_t progress, counters, slots, bytes; /* offsets, and the part's size */
	uint64_t far_bytes, proxied;               /* of the part in far memory */
	uint64_t *in_slots, *out_slots, *proxied_slots;
};

struct fb_gpu_proxy_links; /* proxy_links.h */
struct fb_gpu_view;

/* Address of the slots of the links between the two, one of which is view->rank. */
uint64_t fb_gpu_slots_address(const struct fb_gpu_view *view, int rank, int peer);

/* This rank's point of view. */
struct fb_gpu_view {
	const struct fb_gpu_shape *shape;
	struct fb_plan *const *plans; /* [nchannels] */
	int rank;
	int threads;  /* of a block */
	bool wide;    /* sums of a step stay f32; of types that are narrower only */
	bool average; /* complete reductions are divided by the number of ranks */
	const struct fb_gpu_layout *layout;
	/*
	 * Address of a rank's buffer, and of its part of the memory of its links with `peer`, as
	 * seen here. One of the two is this rank; both: the usual memory. Where the proxy
	 * carries the links, the peer's part is its stand-in.
	 */
	uint64_t (*buffer)(const void *arg, int rank, uint8_t buffer);
	uint64_t (*links)(const void *arg, int rank, int peer);
	/* The same for slots; NULL: they lie with the counters. */
	uint64_t (*slots)(const void *arg, int rank, int peer);
	const void *arg;
	const uint8_t *via;       /* as for fb_gpu_lay_out */
	struct fb_gpu_proxy_links *proxied; /* gets the lengths of messages; may be NULL */
};

/* Kinds of counters that a peer raises in this rank's part. */
enum fb_gpu_counter_kind { FB_GPU_AVAILABLE = 0, FB_GPU_FREED = 32, FB_GPU_CREDITS = 64 };

/* The counter's offset in the part of the rank that waits for it. */
uint64_t fb_gpu_counter_offset(const struct fb_gpu_shape *shape, const struct fb_gpu_layout *layout,
			       int channel, int lane, int peer, enum fb_gpu_counter_kind kind);

/* The records of all blocks; block b is lane b % nlanes of channel b / nlanes. */
struct fb_gpu_table {
	struct fb_gpu_block *blocks; /* records: offset in `bytes` */
	int nblocks;
	unsigned char *bytes;
	size_t size, room;
	uint32_t longest; /* message of all, in bytes */
	bool odd;         /* some record needs the kernels for any address and length */
};

/* Facts of one rank's plans that all ranks must agree on, by their maximum. */
struct fb_gpu_facts {
	uint64_t units, pipelined, relays, scratch, lanes;
	uint64_t messages; /* of a link, per slice */
};

void fb_gpu_plan_facts(struct fb_plan *const *plans, int nchannels, struct fb_gpu_facts *facts);

/* Tuning parameters that the user has set; 0: the functions below choose the value. */
struct fb_gpu_tuning {
	uint32_t slots, slot_bytes, ll_line;
	int channels, threads;
	bool striped; /* if plans and blocks allow it; slot_bytes: of a stripe; slots: loads */
};

/*
 * How many channels and threads, before plans are made: `multiple` as fb_algorithm.channels,
 * `most`: multiprocessors there are for each lane.
 */
int fb_gpu_choose_channels(const struct fb_gpu_tuning *tuning, enum fb_gpu_protocol protocol,
			   int multiple, uint64_t bytes, int most);
int fb_gpu_choose_threads(const struct fb_gpu_tuning *tuning, enum fb_gpu_protocol protocol,
			  uint64_t channel_bytes);

/*
 * Slices, slots and their size, from the maximum of all ranks' facts. Reads the collective,
 * counts, sizes and nchannels already in *shape.
 */
void fb_gpu_choose_slices(const struct fb_gpu_tuning *tuning, const struct fb_gpu_facts *facts,
			  bool direct, struct fb_gpu_shape *shape);

/*
 * Whether a link need not tell its sender that slots are free. Where all ranks depend on all, who
 * ends a call knows that every rank has begun it, and so has ended the call before. Slots for the
 * messages of two calls are enough then. The second function: how many slots the link has.
 */
bool fb_gpu_link_is_free(const struct fb_gpu_shape *shape, const struct fb_link *link);
uint32_t fb_gpu_link_slots(const struct fb_gpu_shape *shape, const struct fb_link *link);

/*
 * Lays out this rank's part. via: enum fb_gpu_via [nranks]; NULL: all near. 0 or FB_ENOMEM. Free
 * with fb_gpu_layout_free, also after an error.
 */
int fb_gpu_lay_out(const struct fb_gpu_shape *shape, struct fb_plan *const *plans,
		   const uint8_t *via, struct fb_gpu_layout *layout);
void fb_gpu_layout_free(struct fb_gpu_layout *layout);

/* Builds the records. 0, FB_ENOMEM, or FB_EPLAN (printed) where a record does not fit. */
int fb_gpu_build(const struct fb_gpu_view *view, struct fb_gpu_table *table);
void fb_gpu_table_free(struct fb_gpu_table *table);

/*
 * Whether a fused kernel can do what the rank's table says: exchange blocks with all of few peers,
 * in one slice and one channel (direct all_gather, all_to_all and reduce_scatter, one-shot
 * all_reduce; in ll128 two-shot as well). ll128 needs all memory aligned to 8 bytes, and ll blocks
 * of one size. If so, sets *exchange except for epochs and times.
 */
bool fb_gpu_is_exchange(const struct fb_gpu_view *view, const struct fb_gpu_table *table,
			struct fb_gpu_exchange *exchange);

#endif
