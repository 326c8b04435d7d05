/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has to be done before the first byte can be sent, and how long it takes: making memory
 * usable, and connecting ranks. A cost is an action together with its reverse (register and
 * deregister, connect and disconnect), so that it can be repeated. The harness times it like an
 * operation.
 *
 * The programs are lists of costs. In the rows `operation` is the cost's name, and `engine` names
 * the library or layer that carries it out. `bytes` is the size of the memory and `memory` the kind
 * of its pages; they are 0 and "-" for a cost without memory. Options of the network are in
 * `variant`.
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

/* The GPU of this rank, and who can use its memory. Empty reasons: it works on all ranks. */
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
	const struct fb_place *place; /* the row's --numa; the calling thread is already there */
	uint64_t bytes;
	enum fb_pages pages; /* what its memory is made of, where the cost has `paged` */
	struct fb_cost_gpu *gpu;
	bool on_gpu;	     /* its memory is a GPU's instead, of the kind: */
	enum fb_gpu_memory gpu_memory;
	void *gpu_own;	     /* what cuda_memory.c needs for that; NULL: nothing yet */
	char *memory;	     /* fb_cost_get_memory(); NULL: none */
	struct fb_private own_pages; /* what `memory` is of, on processors */
	bool looks;	     /* this call is not timed, and fb_cost_look() works in it */
	uint64_t nodes;	     /* the NUMA nodes that it saw, as bits */
	void *own; /* the action's own data, from begin to end; NULL before */
	char path[FB_PATH_CHARS]; /* what begin() has found to work with; empty: `transport` */
};

struct fb_cost {
	const char *engine, *operation;
	const char *transport; /* for the column; "-" where it has none */
	bool sized;	       /* has a size: a row for each value of --bytes */
	bool foreign;	       /* a library allocates its memory, which --numa cannot place */
	bool paged;	       /* has a row for each kind of host memory in --memory */
	unsigned gpu_memory;   /* kinds of GPU memory with rows: bits 1 << enum fb_gpu_memory */

	/* Pure and equal on all ranks; NULL: always. Writes the reason otherwise. */
	bool (*can)(const struct fb_cost_context *context, char reason[FB_REASON_CHARS]);

	/* Collective, not timed. NULL: nothing to do. */
	int (*begin)(struct fb_cost_context *context);
	void (*end)(struct fb_cost_context *context);

	/*
	 * Collective: the action, a test that it worked (such as a message), and its reverse, each
	 * once. 0 or an error, which ends the job.
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

/* The columns of fb_memory_costs: what the cache of registrations has counted and timed. */
enum fb_cost_column {
	FB_COST_HITS,
	FB_COST_MISSES,
	FB_COST_REGISTER_US,
	FB_COST_DEREGISTER_US,
	FB_COST_COLUMNS,
};
extern const struct fb_column fb_memory_columns[FB_COST_COLUMNS];

/*
 * Local: gets context->bytes of memory, in whole pages of the row's kind, on the row's NUMA node,
 * with all pages touched. 0, FB_ENOMEM or FB_ESYS (printed). fb_cost_drop_memory() frees it, and
 * does nothing if there is none.
 */
int fb_cost_get_memory(struct fb_cost_context *context);
void fb_cost_drop_memory(struct fb_cost_context *context);

/*
 * Local: notes on which NUMA nodes the memory of an action lies. It does so only in the one call
 * that is not timed. For memory that is freed before the row is written.
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
 * Open prepares the driver. Get allocates `bytes` bytes of the row's kind as context->memory, and
 * drop frees them. These are local. Share is collective: each rank sends a handle of its memory to
 * other ranks of its host, maps the memory of the next rank, and unmaps it again. 0,
 * FB_EUNSUPPORTED, FB_ENOMEM or FB_ESYS (printed).
 */
int fb_cost_cuda_open(struct fb_cost_context *context);
void fb_cost_cuda_close(struct fb_cost_context *context);
int fb_cost_cuda_get(struct fb_cost_context *context, size_t bytes);
int fb_cost_cuda_drop(struct fb_cost_context *context);
int fb_cost_cuda_share(struct fb_cost_context *context);

/* --- costs of RDMA devices (rdma.c) ---------------------------------------------------------- */

/*
 * Collective. Fills no_rdma[n] with the reason if some rank has no device, else with an empty text.
 * *rails: how many rails all ranks have, or 0. An error (printed) only if options are wrong or a
 * device fails.
 */
int fb_cost_survey(const struct fb_group *world, const struct fb_settings *settings, char *no_rdma,
		   size_t n, int *rails);

/*
 * Collective: whether the devices take GPU memory, into gpu->no_rdma and dmabuf. 0 or an error
 * (printed).
 */
int fb_cost_survey_direct(struct fb_cost_gpu *gpu, const struct fb_session *session);

/*
 * fb_cost.can, begin, end, act and fill; see fb_cost. A build without verbs has only the first one,
 * which then always returns false.
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
