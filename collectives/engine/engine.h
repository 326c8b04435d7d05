/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine executes collective operations: the project's own plans on the host ("host"), or a
 * library's calls ("mpi"). Programs see only this interface, so that all engines are prepared,
 * timed and verified in the same way.
 */
#ifndef FB_COLLECTIVES_ENGINE_ENGINE_H
#define FB_COLLECTIVES_ENGINE_ENGINE_H

#include "collectives/tuning/tuning.h"
#include "common/library/nccl/force.h"
#include "common/memory/segment.h"
#include "common/plan/collective.h"
#include "common/plan/geometry.h"
#include "common/record/case.h"
#include "common/session.h"

/*
 * One operation on given buffers. Members are equal on all ranks of the engine's group; ranks are
 * numbered within the group.
 */
struct fb_operation {
	enum fb_collective collective;
	enum fb_datatype datatype;
	enum fb_redop redop;   /* FB_SUM where nothing is reduced */
	int root;              /* 0 where there is none */
	bool in_place;
	uint64_t count;        /* elements per block */
	const struct fb_counts *counts; /* sizes of unequal blocks; NULL: all have `count` */
	/*
	 * Buffers lie in the segment at the same offset in every rank's part. In place, the
	 * offsets follow the rule of plan.h (fb_plan_canonical): all_gather's input begins at
	 * the rank's own block of the output, and so on.
	 */
	const struct fb_segment *segment;
	size_t in_offset, out_offset; /* of block 0 of the (canonical) buffers */
	struct fb_tuned tuned;        /* by a tuning table; the user's options override it */
	struct fb_nccl_ctas ctas;     /* engine nccl only; zeroes: NCCL chooses */
	/*
	 * How many such operations may be under way at once on one GPU; 0: one. Kernels that wait
	 * for their peers keep their multiprocessors, so all of them have to fit at once: where the
	 * kernel of one rank's operation finds no place, the peers of that operation wait forever.
	 */
	int together;
};

/* First byte of a rank's input or output; NULL where the rank is on another host. */
void *fb_operation_in(const struct fb_operation *op, int rank);
void *fb_operation_out(const struct fb_operation *op, int rank);

struct fb_engine;

/* A prepared operation: started and completed any number of times. */
struct fb_request;

struct fb_engine_ops {
	const char *name;    /* "host" */
	bool planned;        /* algorithms and protocols are the project's own */
	bool device;         /* works on a GPU: in its memory, by launches on a stream */
	bool takes_device;   /* does not, but can() may allow memory `device` */
	/*
	 * Pure, equal on all ranks: how many GPUs each process has. Each GPU is a rank of the
	 * operation, numbered process by process, and has a part of the memory that `segment`
	 * opens. NULL: ranks are processes.
	 */
	int (*members)(const struct fb_engine *engine);
	/* Local, with `members`: makes that GPU of the process current; -1: its usual GPU. */
	int (*enter)(const struct fb_engine *engine, int member);
	/*
	 * For an engine that selects between other engines (auto): the one whose algorithms and
	 * tuning rules it uses. Another one's name stands before the algorithm ("copy/push").
	 */
	const char *usual;
	const char *memory; /* the kind that `segment` opens; NULL: none */

	size_t bytes;	      /* of the engine's structure */
	size_t request_bytes; /* of a request's */

	/*
	 * Collective, for fb_engine_open(): the structure is there, zeroed but for its beginning. A
	 * device engine also opens the session's GPU, see fb_gpu_view_open. It is no error if the
	 * machine lacks what the engine needs: then `can` gives the reason. Returns the same on all
	 * ranks of the group: 0, or an error (printed), after which the engine is closed, too.
	 * NULL: nothing is opened.
	 */
	int (*open)(struct fb_engine *engine);
	void (*close)(struct fb_engine *engine); /* the caller frees the structure; or NULL */

	/* Pure and equal on all ranks: can it do the case? Writes the reason otherwise. */
	bool (*can)(const struct fb_engine *engine, const struct fb_case *c,
		    const struct fb_operation *op, char reason[FB_REASON_CHARS]);

	/*
	 * Collective: memory of the engine's own kind for the ranks' buffers, as
	 * fb_gpu_segment_open. NULL: it has none.
	 */
	int (*segment)(struct fb_engine *engine, struct fb_segment *segment, size_t part_bytes);

	/*
	 * Collective, for fb_engine_prepare(): the structure is there, zeroed but for its
	 * beginning. op and what it points to must outlive the request. After an error the request
	 * is released, too.
	 */
	int (*prepare)(struct fb_request *request, const struct fb_case *c,
		       const struct fb_operation *op);

	/* As fb_program.ready. NULL: nothing is to be made ready. */
	int (*ready)(struct fb_request *request, int calls);
	/* `calls` operations back to back, complete on return. NULL: start and wait in turn. */
	int (*run)(struct fb_request *request, int calls);

	/* Begins the operation. Local; one start at a time per request. */
	int (*start)(struct fb_request *request);
	/* Moves it on without waiting; *done when complete. */
	int (*test)(struct fb_request *request, bool *done);
	/* Completes it. */
	int (*wait)(struct fb_request *request);

	/*
	 * Device engines: puts the operation on `stream`, a cudaStream_t of the caller's, perhaps
	 * being captured. It is complete when the stream has come past it. Before that it may be
	 * enqueued again on the same stream, but not on another one, and not started. NULL: the
	 * engine has no streams.
	 */
	int (*enqueue)(struct fb_request *request, void *stream);

	/* path, channels, flags and extra columns (enum fb_collective_column) of the row. */
	void (*describe)(struct fb_request *request, struct fb_traits *traits);

	/* Collective. The caller frees the structure. */
	void (*release)(struct fb_request *request);

	/* Proves the case's plan (--check-plan); NULL: the engine has no plans. */
	int (*check_plan)(struct fb_engine *engine, const struct fb_case *c,
			  const struct fb_operation *op, FILE *report);
};

/* Every engine structure begins with this. */
struct fb_engine {
	const struct fb_engine_ops *ops;
	const struct fb_session *session;
	const struct fb_group *group;
};

struct fb_request {
	struct fb_engine *engine;
};

/*
 * Collective over the group. Session and group must outlive the engine. 0, or an error (printed),
 * the same on all ranks of the group; *engine is NULL then.
 */
int fb_engine_open(struct fb_engine **engine, const struct fb_engine_ops *ops,
		   const struct fb_session *session, const struct fb_group *group);
void fb_engine_close(struct fb_engine *engine);

/*
 * Collective: a request for the case, which the engine can do. 0, or an error (printed unless
 * FB_EUNSUPPORTED), the same on all ranks.
 */
int fb_engine_prepare(struct fb_engine *engine, const struct fb_case *c,
		      const struct fb_operation *op, struct fb_request **request);
void fb_request_release(struct fb_request *request);

/* Ranks of the engine's operations: those of its group, or all GPUs of their processes. */
int fb_engine_ranks(const struct fb_engine *engine);

/*
 * Calls work(arg, rank) for each of these ranks that belongs to this process, with the rank's GPU
 * current. Stops at the first error and returns it.
 */
int fb_engine_each_rank(const struct fb_engine *engine, int (*work)(void *arg, int rank),
			void *arg);

extern const struct fb_engine_ops fb_engine_host, fb_engine_mpi, fb_engine_cuda, fb_engine_nccl,
	fb_engine_nccl_process, fb_engine_nvshmem, fb_engine_copy, fb_engine_multimem,
	fb_engine_auto;

/* The collective programs' own columns, as fb_traits.extra has them. */
enum fb_collective_column {
	FB_EVENT_US,
	FB_ITERATION_US,
	FB_ITERATION_P99_US,
	FB_THREADS,
	FB_SLOTS,
	FB_SLOT_BYTES,
	FB_SM_MHZ,
	FB_MEMORY_MHZ,
	FB_THROTTLE,
	FB_FRESH_CALLS,
	FB_STALE_CALLS,
	FB_STALE_BOUND,
	FB_MODEL_US,
	FB_GPU_US,
	FB_COLLECTIVE_COLUMNS,
};

/* The engine of that name; NULL: there is none. */
const struct fb_engine_ops *fb_engine_find(const char *name);

/* All engines, ending in NULL. */
extern const struct fb_engine_ops *const fb_engines[];

#endif
