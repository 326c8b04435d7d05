/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan: one rank's part of a collective algorithm, as data.
 *
 * Algorithms build plans (builder.h); engines execute them; the checker proves them; the cost
 * model prices them. There is one working instruction, FB_RUN: reduce a set of sources into a
 * set of destinations, each of which is a local chunk or an end of a link to a peer. Two more,
 * FB_CREDIT and FB_DRAIN, exist only in plans for zero-copy ("direct") links, where they say
 * when a peer may write to, or has finished reading from, this rank's own buffers.
 *
 * Geometry. Every block of a buffer is cut into `split` units; unit u of a buffer is the part
 * u % split of block u / split. All blocks have the same number of elements (except in
 * collectives with unequal blocks), so two units have the same size when their u % split agree,
 * in whatever buffer or rank they lie. A chunk is a run of consecutive units. Sizes appear only at
 * execution: the same plan serves every count, datatype and operation.
 *
 * Slices. An engine may run the plan several times over disjoint slices of every block, on one
 * channel after the other or side by side on several. A slice is to the plan what the whole
 * block is, so chunks within a block stay contiguous in memory.
 *
 * Order. Steps of a lane run in order. Lanes are independent but for the dependencies listed in
 * steps. Links are FIFOs between the same lane of two ranks: the i-th message sent is the i-th
 * received.
 */
#ifndef FB_COMMON_PLAN_PLAN_H
#define FB_COMMON_PLAN_PLAN_H

#include <stdint.h>
#include <stdio.h>

#include "common/plan/collective.h"

enum fb_buffer { FB_IN, FB_OUT, FB_SCRATCH, FB_BUFFERS };

enum { FB_MAX_LANES = 4 };

/* The nodes of the ranks. Owned by the caller of the builder; must outlive the plan. */
struct fb_topology {
	int nranks, nnodes;
	const int *node_of;       /* [nranks] */
	const int *local_rank_of; /* [nranks]: index among the ranks of its node */
};

/* Which plan an algorithm is to build. */
struct fb_shape {
	enum fb_collective collective;
	int nranks;
	int root;     /* 0 where there is none */
	bool in_place;
	int channel, nchannels; /* plans of one operation may differ per channel */
	const struct fb_topology *topology; /* NULL: all ranks on one node */
	const char *stages; /* "ring+tree+ring": parts of a composed algorithm; NULL: its default */
};

/* How bytes cross the links to a peer, as far as the plan's form depends on it. */
enum fb_link_mode {
	FB_LINK_FIFO,   /* through slots: simple, ll, ll128, tcp */
	FB_LINK_DIRECT, /* into or out of the peer's own buffers */
};

enum fb_step_kind {
	FB_RUN,    /* sources -> destinations */
	FB_CREDIT, /* allow the peer of an in-link its next push */
	FB_DRAIN,  /* wait until the peer of an out-link has pulled `upto` messages */
};

enum fb_end_kind {
	FB_LOCAL,  /* chunk of this rank */
	FB_LINK,   /* source: next message of an in-link; destination: message to an out-link */
	FB_PULL,   /* source: the peer's chunk, read in place once it is announced, then released */
	FB_ARRIVE, /* source: own chunk, once the peer's push into it is announced */
	FB_PUSH,   /* destination: the peer's chunk, written in place after its credit */
	FB_EXPOSE, /* destination: announce that the peer may pull own chunk; moves nothing */
};

struct fb_end {
	uint8_t kind;   /* enum fb_end_kind */
	uint8_t buffer; /* enum fb_buffer: own (LOCAL, ARRIVE, EXPOSE) or peer's (PULL, PUSH) */
	uint16_t link;  /* index into in_links (sources) or out_links (destinations) */
	uint32_t index; /* first unit of the chunk in `buffer` */
};

enum fb_step_flags {
	FB_FINISH = 1, /* the reduction is complete here: apply what follows it (average) */
};

struct fb_step {
	uint8_t kind, flags;
	uint16_t nsrc, ndst; /* ends[first_end .. +nsrc) are sources, the next ndst destinations */
	uint16_t ndep;       /* deps[first_dep .. +ndep) */
	uint16_t link;       /* CREDIT: in-link; DRAIN: out-link */
	uint16_t pad;
	uint32_t first_end, first_dep;
	uint32_t unit, count; /* extent: as many elements as units [unit, unit + count) have */
	uint32_t upto;        /* DRAIN: pulls of this link that must be done, counted per slice */
};

/* The step may start when `lane` has finished step `step` of the same slice. */
struct fb_dep {
	uint16_t lane;
	uint32_t step;
};

struct fb_link {
	int peer;
	uint8_t lane;
	uint8_t mode;      /* enum fb_link_mode */
	uint32_t messages; /* per slice */
	uint32_t pushes, pulls; /* of them, in direct mode */
};

struct fb_lane {
	struct fb_step *steps;
	uint32_t nsteps;
};

struct fb_plan {
	struct fb_shape shape;
	int rank;
	uint32_t split;          /* units per block */
	uint32_t scratch_blocks; /* blocks of scratch this rank needs */
	uint32_t max_units;      /* units of the longest message */
	bool pipelined;          /* has a step that forwards, so that smaller slices pay */
	bool relays;             /* has a step that forwards a peer's message, not only bytes that
				    it reads in a peer's memory */
	int nlanes;
	struct fb_lane lanes[FB_MAX_LANES];
	struct fb_end *ends;
	uint32_t nends;
	struct fb_dep *deps;
	uint32_t ndeps;
	struct fb_link *in_links, *out_links;
	uint16_t n_in_links, n_out_links;
};

void fb_plan_free(struct fb_plan *plan);

/*
 * The part [*first, *first + *n) of `count` elements that part `index` of `parts` gets. Parts
 * are equal up to one granule of `granule` elements, which keeps their boundaries aligned.
 */
static inline void fb_share(uint64_t count, uint64_t parts, uint64_t index, uint64_t granule,
			    uint64_t *first, uint64_t *n)
{
	uint64_t granules = (count + granule - 1) / granule;
	uint64_t lo = granules * index / parts * granule;
	uint64_t hi = granules * (index + 1) / parts * granule;

	lo = lo < count ? lo : count;
	hi = hi < count ? hi : count;
	*first = lo;
	*n = hi - lo;
}

/*
 * With `in_place`, two names may mean the same memory. Gives the canonical name of a unit:
 * equal names are equal memory.
 */
void fb_plan_canonical(const struct fb_shape *shape, int rank, uint32_t split, uint8_t *buffer,
		       uint32_t *unit);

#endif
