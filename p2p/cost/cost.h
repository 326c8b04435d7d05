/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs before the first byte moves: to make memory usable, to connect ranks. A cost is
 * an action that begins and ends with nothing and is repeated; the harness times it like an
 * operation.
 *
 * The programs are lists of costs. In the rows `operation` is the cost's name and `engine` whose
 * it is; `bytes` is the size of the memory and `memory` its pages, 0 and "-" where there is none.
 * Options of the network are in `variant`.
 */
#ifndef FB_P2P_COST_COST_H
#define FB_P2P_COST_COST_H

#include "common/pages.h"
#include "common/places.h"
#include "common/program.h"

/* What actions work with. */
struct fb_cost_context {
	struct fb_run *run;
	const struct fb_world *world;
	const struct fb_settings *settings;
	const char *no_rdma; /* why there are no RDMA devices; empty: all ranks have one */
	const struct fb_places *places;
	const struct fb_place *place; /* of the row's --numa; its thread is there */
	uint64_t bytes;
	enum fb_pages pages; /* what its memory is made of, where the cost has `paged` */
	char *memory;	     /* fb_cost_get_memory(); NULL: none */
	char *mapping;	     /* what `memory` lies in, of so many bytes */
	size_t mapped;
	bool looks;	     /* the one call that is not timed: see fb_cost_look() */
	uint64_t nodes;	     /* and what it saw */
	void *own; /* the action's, from begin to end; NULL at first */
	char path[FB_PATH_CHARS]; /* what begin() has found to work with; empty: `transport` */
};

struct fb_cost {
	const char *engine, *operation;
	const char *transport; /* for the column; "-" where it has none */
	bool sized;	       /* has a size: a row for each of --bytes */
	bool foreign;	       /* its memory is a library's, which --numa does not place */
	bool paged;	       /* and a row for each of --memory; else a library gets its memory */

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

	/* Values of the program's columns, NAN before. NULL: none. */
	void (*fill)(const struct fb_cost_context *context, double *extra);
};

struct fb_cost_program {
	const char *name, *summary, *description;
	const struct fb_cost *costs; /* ending in one without a name */
	const struct fb_default *defaults;
	const struct fb_column *columns; /* [ncolumns]; or NULL */
	size_t ncolumns;
};

/* The whole of main(). */
int fb_cost_main(const struct fb_cost_program *program, int argc, char **argv);

/* --- the costs, in files of their own -------------------------------------------------------- */

extern const struct fb_cost fb_memory_costs[];     /* memory.c */
extern const struct fb_cost fb_connection_costs[]; /* connect.c */

/* The columns of the former: what the cache of registrations says of itself. */
enum fb_cost_column {
	FB_COST_HITS,
	FB_COST_MISSES,
	FB_COST_REGISTER_US,
	FB_COST_DEREGISTER_US,
	FB_COST_COLUMNS,
};
extern const struct fb_column fb_memory_columns[FB_COST_COLUMNS];

/*
 * Local: memory of context->bytes, in whole pages of the kind and from the node that are asked for,
 * all of them there. 0, FB_ENOMEM or FB_ESYS (printed). Given back by fb_cost_drop_memory(), which
 * is safe without any.
 */
int fb_cost_get_memory(struct fb_cost_context *context);
void fb_cost_drop_memory(struct fb_cost_context *context);

/*
 * Local: notes on which nodes the memory of an action lies, in a call that is not timed; in all
 * others nothing. For memory that is gone when the row is written.
 */
void fb_cost_look(struct fb_cost_context *context, const void *memory);

/* --- what those have of RDMA (rdma.c) -------------------------------------------------------- */

/*
 * Collective. Fills no_rdma[n], which is empty where all ranks have a device; *rails: how many all
 * have, or 0. An error only where options are wrong or a device fails (printed).
 */
int fb_cost_survey(const struct fb_world *world, const struct fb_settings *settings, char *no_rdma,
		   size_t n, int *rails);

/* fb_cost.can, begin, end and act; see fb_cost. */
bool fb_cost_can_rdma(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);
int fb_cost_begin_register(struct fb_cost_context *context);
int fb_cost_begin_cached(struct fb_cost_context *context);
int fb_cost_begin_queues(struct fb_cost_context *context);
int fb_cost_register(struct fb_cost_context *context);
int fb_cost_look_up(struct fb_cost_context *context);
int fb_cost_connect_queues(struct fb_cost_context *context);
void fb_cost_end_rdma(struct fb_cost_context *context);
void fb_cost_fill_rdma(const struct fb_cost_context *context, double *extra);

#endif
