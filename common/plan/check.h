/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker: executes the plans of all ranks on symbols instead of data and proves, before a
 * byte moves, that the algorithm is right.
 *
 * A unit's symbol is which input piece it is and the set of ranks that contributed. Memory
 * accesses carry vector clocks, so two accesses are judged by whether messages, credits or
 * dependencies order them, not by the order in which this simulation happened to run them. The
 * operation is executed `runs` times without a barrier in between, on `slices` slices each, so
 * what one run leaves behind must not disturb the next.
 *
 * Proved: every output unit holds exactly the contributions it should, each once; nothing is
 * read before it is written; conflicting accesses are ordered; the i-th message sent on a link is
 * the i-th received, of equal extent; no deadlock with the given number of slots; chunks are
 * inside their buffers; user input is not written; no step overwrites a part of a chunk that it
 * reads or uses a link twice, which this machine could do but engines cannot; every rank may touch
 * its buffers again once its own part has returned.
 */
#ifndef FB_COMMON_PLAN_CHECK_H
#define FB_COMMON_PLAN_CHECK_H

#include "common/plan/builder.h"

enum { FB_WHY_CHARS = 256 };

struct fb_check_options {
	int slots;  /* FIFO slots per link */
	int slices, runs;
	bool no_clocks; /* leave out the ordering proof: for the cost model on many ranks */
	/* Cost model: time for one message to become visible, and to move one unit once. */
	double alpha_us, unit_us;
};

struct fb_check_report {
	char why[FB_WHY_CHARS]; /* what was disproved, with rank, lane and step; "" if nothing */
	uint32_t depth;         /* messages on the longest chain of one slice */
	uint64_t messages;      /* all ranks, one slice */
	uint64_t max_rank_units, max_link_units, total_units; /* sent, one slice */
	uint32_t max_scratch_blocks;
	double time_us; /* by the cost model, for one run */
};

/*
 * Checks plans[0..nranks) together. Returns FB_OK, FB_EPLAN with report->why, or FB_ENOMEM. The
 * report's figures are valid on FB_OK.
 */
int fb_plans_check(struct fb_plan *const *plans, int nranks,
		   const struct fb_check_options *options, struct fb_check_report *report);

/* Which links of a job are direct. */
enum fb_direct_links {
	FB_NO_DIRECT_LINKS,
	FB_ALL_DIRECT_LINKS,
	FB_NODE_DIRECT_LINKS, /* those between ranks of one node of shape->topology */
};

/* Builds all ranks' plans and checks them. */
int fb_check(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
	     enum fb_direct_links direct, const struct fb_check_options *options,
	     struct fb_check_report *report);

/* Builds all ranks' plans into plans[nranks]; frees what it made on error. */
int fb_build_all(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
		 enum fb_direct_links direct, int slots, struct fb_plan **plans);

#endif
