/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs before the first byte moves: to make memory usable, to connect ranks. A cost is
 * an action that begins and ends with nothing and is repeated; the harness times it like an
 * operation.
 *
 * The programs are lists of costs. In the rows `operation` is the cost's name and `engine` whose
 * it is; `bytes` is the size of the memory, 0 where there is none.
 */
#ifndef FB_P2P_COST_COST_H
#define FB_P2P_COST_COST_H

#include "common/program.h"

/* What actions work with. */
struct fb_cost_context {
	struct fb_run *run;
	const struct fb_world *world;
	const struct fb_settings *settings;
	const char *no_rdma; /* why there are no RDMA devices; empty: all ranks have one */
	uint64_t bytes;
	void *own; /* the action's, from begin to end; NULL at first */
};

struct fb_cost {
	const char *engine, *operation;
	const char *transport; /* for the column; "-" where it has none */
	bool sized;	       /* has a size: a row for each of --bytes */

	/* Pure and equal on all ranks; NULL: always. Writes the reason otherwise. */
	bool (*can)(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);

	/* Collective, not timed. NULL: nothing to do. */
	int (*begin)(struct fb_cost_context *context);
	void (*end)(struct fb_cost_context *context);

	/*
	 * Collective: the action and its reverse, once, and whatever shows that it worked. 0 or
	 * an error, which ends the job.
	 */
	int (*act)(struct fb_cost_context *context);
};

struct fb_cost_program {
	const char *name, *summary, *description;
	const struct fb_cost *costs; /* ending in one without a name */
	const struct fb_default *defaults;
};

/* The whole of main(). */
int fb_cost_main(const struct fb_cost_program *program, int argc, char **argv);

/* --- the costs, in files of their own -------------------------------------------------------- */

extern const struct fb_cost fb_memory_costs[];     /* memory.c */
extern const struct fb_cost fb_connection_costs[]; /* connect.c */

/* --- what those have of RDMA (rdma.c) -------------------------------------------------------- */

/*
 * Collective. Fills no_rdma[n], which is empty where all ranks have a device. An error only where
 * options are wrong or a device fails (printed).
 */
int fb_cost_survey(const struct fb_world *world, const struct fb_settings *settings, char *no_rdma,
		   size_t n);

/* fb_cost.can, begin, end and act; see fb_cost. */
bool fb_cost_can_rdma(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);
int fb_cost_begin_register(struct fb_cost_context *context);
int fb_cost_begin_cached(struct fb_cost_context *context);
int fb_cost_begin_queues(struct fb_cost_context *context);
int fb_cost_register(struct fb_cost_context *context);
int fb_cost_look_up(struct fb_cost_context *context);
int fb_cost_connect_queues(struct fb_cost_context *context);
void fb_cost_end_rdma(struct fb_cost_context *context);

#endif
