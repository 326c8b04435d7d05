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

#include "common/library/nccl/comm.h"
#include "common/cuda/gpu_segment.h"
#include "common/memory/places.h"
#include "common/memory/private.h"
#include "common/record/case.h"
#include "common/session.h"
#include "common/system/pages.h"
#include "common/transport/rdma_verbs.h"

/* The GPU of this rank, and what may have its memory; empty reasons: all ranks have it. */
struct fb_cost_gpu {
	struct fb_gpu gpu;	       /* if `has` */
	bool has;
	char none[FB_REASON_CHARS];    /* why there is none */
	char alone[FB_REASON_CHARS];   /* why ranks cannot map their neighbours' memory */
	char no_rdma[FB_REASON_CHARS]; /* why RDMA devices do not take it */
	bool dmabuf;		       /* they take it by dma-buf, else by address */
	struct fb_nccl nccl;	       /* without no_nccl */
	char no_nccl[FB_REASON_CHARS];
	struct fb_nccl_group *groups;  /* made by the first action that needs one */
};

/* What actions work with. */
struct fb_cost_context {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_settings *settings;
	const char *no_rdma; /* why there are no RDMA devices; empty: all ranks have one */
	const char *no_window; /* why MPI has no windows; empty: it has */
	const struct fb_places *places;
	const struct fb_place *place; /* of the row's --numa; its thread is there */
	uint64_t bytes;
	enum fb_pages pages; /* what its memory is made of, where the cost has `paged` */
	struct fb_cost_gpu *gpu;
	bool on_gpu;	     /* its memory is a GPU's instead, of the kind: */
	enum fb_gpu_memory gpu_memory;
	void *gpu_own;	     /* what cuda_memory.c needs for that; NULL: nothing yet */
	char *memory;	     /* fb_cost_get_memory(); NULL: none */
	struct fb_private own_pages; /* what `memory` is of, on processors */
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
	unsigned gpu_memory;   /* and for these kinds of a GPU's, as bits 1 << enum fb_gpu_memory */

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

extern const struct fb_cost fb_memory_costs[];     /* list.c */
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

/* fb_cost.can, begin, end and act of host memory (memory.c) */
bool fb_cost_can_lock(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);
bool fb_cost_can_window(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);
int fb_cost_allocate(struct fb_cost_context *context);
int fb_cost_map(struct fb_cost_context *context);
int fb_cost_lock(struct fb_cost_context *context);
int fb_cost_share(struct fb_cost_context *context);
int fb_cost_make_window(struct fb_cost_context *context);
int fb_cost_allocate_by_mpi(struct fb_cost_context *context);

/* --- GPU memory (gpu.c, and cuda_memory.c) --------------------------------------------------- */

/*
 * Collective: fills *gpu where --memory or --engine ask for one. An error only where something
 * fails (printed), with nothing to close. `rdma`: there are RDMA devices.
 */
int fb_cost_gpu_open(struct fb_cost_gpu *gpu, const struct fb_session *session, bool rdma);

/* Collective; safe on a zeroed structure. */
void fb_cost_gpu_close(struct fb_cost_gpu *gpu);

/* fb_cost.can, begin, end and act */
bool fb_cost_can_share_gpu(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);
bool fb_cost_can_register_nccl(const struct fb_cost_context *context,
			       char reason[FB_REASON_CHARS]);
bool fb_cost_can_window_nccl(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);
int fb_cost_begin_map_gpu(struct fb_cost_context *context);
int fb_cost_begin_share_gpu(struct fb_cost_context *context);
int fb_cost_begin_nccl(struct fb_cost_context *context);
void fb_cost_end_gpu(struct fb_cost_context *context);
int fb_cost_map_gpu(struct fb_cost_context *context);
int fb_cost_register_nccl(struct fb_cost_context *context);
int fb_cost_window_nccl(struct fb_cost_context *context);

/*
 * Local. Open: what getting memory needs beforehand. Get: memory of `bytes` bytes of the kind, as
 * context->memory; drop: gives it back. Share: what a rank sends to its neighbours about its
 * memory, who map that of the next rank on the host, and give that up again; collective. 0,
 * FB_EUNSUPPORTED, FB_ENOMEM or FB_ESYS (printed).
 */
int fb_cost_cuda_open(struct fb_cost_context *context);
void fb_cost_cuda_close(struct fb_cost_context *context);
int fb_cost_cuda_get(struct fb_cost_context *context, size_t bytes);
int fb_cost_cuda_drop(struct fb_cost_context *context);
int fb_cost_cuda_share(struct fb_cost_context *context);

/* --- what those have of RDMA (rdma.c) -------------------------------------------------------- */

/*
 * Collective. Fills no_rdma[n], which is empty where all ranks have a device; *rails: how many all
 * have, or 0. An error only where options are wrong or a device fails (printed).
 */
int fb_cost_survey(const struct fb_group *world, const struct fb_settings *settings, char *no_rdma,
		   size_t n, int *rails);

/*
 * Collective: whether the devices take GPU memory, into gpu->no_rdma and dmabuf. 0 or an error
 * (printed).
 */
int fb_cost_survey_direct(struct fb_cost_gpu *gpu, const struct fb_session *session);

/*
 * fb_cost.can, begin, end, act and fill; see fb_cost. In a build without verbs only the first one
 * is there, which says no.
 */
#if FB_HAVE_VERBS
#define FB_COST_RDMA(function) function
#else
#define FB_COST_RDMA(function) NULL
#endif
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
