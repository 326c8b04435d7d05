/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective operations: what each rank holds before, what it must hold after.
 *
 * A buffer is a row of blocks of `count` elements each. An operation is described by how many
 * blocks the input and output of a rank have, and by the rule for operating in place. Everything
 * that knows collectives (builder, checker, oracle, programs, engines) reads this one table.
 */
#ifndef FB_COMMON_PLAN_COLLECTIVE_H
#define FB_COMMON_PLAN_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

enum fb_collective {
	FB_ALL_REDUCE,
	FB_ALL_GATHER,
	FB_REDUCE_SCATTER,
	FB_BROADCAST,
	FB_REDUCE,
	FB_ALL_TO_ALL,
	FB_ALL_TO_ALL_V, /* block b of rank r has its own size: see fb_counts in geometry.h */
	FB_ALL_GATHER_V,     /* the block of each rank has its own size */
	FB_REDUCE_SCATTER_V, /* the same */
	FB_GATHER,
	FB_SCATTER,
	FB_SEND_RECV, /* ring shift: rank r's output is rank r-1's input */
	FB_BARRIER,   /* one block of no elements, combined from all ranks */
	FB_COLLECTIVES,
};

/* How many blocks a rank's buffer has. */
enum fb_blocks {
	FB_ONE_BLOCK,
	FB_BLOCK_PER_RANK,
	FB_ONE_AT_ROOT,      /* one block at the root, no buffer elsewhere */
	FB_PER_RANK_AT_ROOT, /* nranks blocks at the root, no buffer elsewhere */
};

struct fb_collective_info {
	const char *name;
	const char *summary;
	enum fb_blocks in, out;
	bool reduces;  /* the output combines contributions with a reduction */
	bool has_root;
	bool in_place; /* an in-place form exists */
	bool unequal;  /* blocks may differ in size: operations have counts */
	enum fb_collective equal; /* of an unequal one: the same with equal blocks */
	/* busbw = algbw * (bus_n * n + bus_1) / (over_n ? n : 1): bus_n and bus_1 are small. */
	int bus_n, bus_1;
	bool bus_over_n;
};

const struct fb_collective_info *fb_collective_info(enum fb_collective collective);

/* The collective of that name, or -1. */
int fb_collective_parse(const char *name);

/* Blocks of the input (out == false) or output of `rank`: 0, 1 or nranks. */
int fb_collective_blocks(enum fb_collective collective, bool out, int rank, int nranks, int root);

/* Factor from algbw to busbw, as nccl-tests documents it (2(n-1)/n for all_reduce, ...). */
double fb_collective_bus_factor(enum fb_collective collective, int nranks);

#endif
