/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step as data: what one rank computes, communicates and waits for in one step of training or
 * inference, as a directed acyclic graph of tasks on lanes.
 *
 * A builder is a pure function of the configuration and a rank, so that every rank can build the
 * graphs of all ranks. The same graph is checked (check.h), run by threads or by streams (run.h),
 * and traced (trace.h).
 *
 * Order. A task may depend only on tasks that were added before it, so the order of the calls below
 * is always a possible serial order of the step. Tasks of one lane run in that order, one at a
 * time. Tasks of different lanes may run at the same time unless there is a dependency between
 * them. fb_dag_link adds the dependencies that the data require; fb_dag_after adds those of the
 * schedule.
 *
 * Memory. All ranks have the same buffers. A buffer is a row of elements of the step's datatype,
 * and tasks name parts of it (spans).
 *
 * Data. A set of test data has a contribution of each member. A contribution is a row of elements
 * that every rank can compute (common/base/data.h). Inputs hold contributions before the step.
 * Tasks only copy and reduce them, so the checker knows what every span holds at every time, and
 * the program compares memory with that after the step.
 *
 * Calls print nothing. The first error is kept in fb_dag.err, and later calls do nothing. Calls
 * that make something return its number, or 0 after an error.
 */
#ifndef FB_OVERLAP_STEP_DAG_H
#define FB_OVERLAP_STEP_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/plan/collective.h"
#include "overlap/compute/work.h"

struct fb_span {
	int buffer;
	uint64_t first, count; /* elements */
};

enum { FB_ALL_MEMBERS = -1, FB_NONE = -1 };

/* Elements from `first` on of contribution `member` of a set, or of the sum of all of them. */
struct fb_content {
	int data, member; /* FB_ALL_MEMBERS: the sum */
	uint64_t first;
};

enum fb_task_kind { FB_TASK_COMPUTE, FB_TASK_COLLECTIVE, FB_TASK_HOST };

/* What the host does in the middle of a step. Those for a GPU do nothing on processors. */
enum fb_host_action {
	FB_HOST_WAIT_LANE,   /* GPU: waits until the lane's stream is empty */
	FB_HOST_WAIT_DEVICE, /* GPU: waits until the whole device is idle */
	FB_HOST_READ_BACK,   /* GPU: copies a byte to the host, and waits for it */
	FB_HOST_LEGACY,      /* GPU: a copy of a byte on the legacy stream */
	FB_HOST_PRINT,       /* writes a line */
	FB_HOST_READ_FILE,   /* reads work.elements bytes of a file */
	FB_HOST_WRITE_FILE,  /* writes as many to one, and waits until they are stored */
	FB_HOST_COMMUNICATOR, /* creates and frees one of all ranks; on a lane that communicates */
	FB_HOST_SPREAD,      /* lets this thread run on all processors */
	FB_HOST_ONE_CORE,    /* binds this thread to the first processor of its original set */
	FB_HOST_REBIND,      /* binds this thread to its original set again */
	FB_HOST_NAP,         /* sleeps for work.seconds, as if an input came late */
};

enum fb_access_use {
	FB_ACCESS_READ,  /* reads; `content` is what the task expects there, if anything */
	FB_ACCESS_FROM,  /* source of a copy; the next access is its destination, TO or ADD */
	FB_ACCESS_TO,    /* destination of a copy */
	FB_ACCESS_ADD,   /* destination to whose elements those of the source are added */
};

struct fb_access {
	enum fb_access_use use;
	struct fb_span span;
	struct fb_content content; /* data FB_NONE: none is expected */
	int next;                  /* of the same task, or FB_NONE */
};

struct fb_edge {
	int before; /* the task that has to be complete */
	int next;   /* of the same task, or FB_NONE */
};

struct fb_task {
	enum fb_task_kind kind;
	int lane;
	const char *name; /* borrowed */
	int number;       /* of the layer, bucket or micro-batch; for texts */
	int deps;         /* first edge, or FB_NONE */
	struct fb_work work;          /* compute */
	int accesses, last_access;    /* compute: first and last, or FB_NONE */
	enum fb_collective collective; /* collective */
	int partition, root;          /* root: within the group */
	struct fb_span in, out;
	uint64_t count;               /* elements of a block; all_to_all_v: of the largest */
	const uint64_t *counts;       /* all_to_all_v: [from * members + to]; owned by the step */
	int counted;                  /* members that the counts are of */
	enum fb_host_action action;   /* host */
};

/* What a span holds before the step (an input), or has to hold after it (an output). */
struct fb_place_content {
	struct fb_span span;
	struct fb_content content;
};

struct fb_dag_lane {
	const char *name;
	bool communicates; /* on a GPU: a stream of high priority, if the user says so */
	int place;         /* the rank whose GPU it computes on */
	bool background;   /* its collectives are other traffic (--background), not the step's */
};

struct fb_dag_buffer {
	const char *name;
	uint64_t count;
	uint64_t offset; /* elements, from the begin of a rank's memory */
	int place;       /* the rank whose memory it lies in */
};

/* The world cut into groups: ranks of one colour are a group, in the order of their numbers. */
struct fb_partition {
	const char *name;
	int *colour; /* [nranks]; negative: in no group */
	int members; /* of this rank's group; 0: it is in none */
	int member;  /* this rank's place in it, or FB_NONE */
	const char *engine; /* that its collectives run on; NULL: the case's. Borrowed */
};

/* Arrays that grow; `room` is for all that are allocated. */
struct fb_dag {
	int rank, nranks, err;
	struct fb_task *tasks;
	struct fb_access *accesses;
	struct fb_edge *edges;
	struct fb_dag_lane *lanes;
	struct fb_dag_buffer *buffers;
	struct fb_partition *partitions;
	struct fb_place_content *inputs, *outputs;
	uint64_t **counts;
	int *members; /* [ndata] */
	int ntasks, naccesses, nedges, nlanes, nbuffers, npartitions, ninputs, noutputs, ncounts,
		ndata;
	uint64_t elements; /* of all buffers */
	uint64_t tokens;   /* that a step of all ranks together is for; 0: not known */
	bool alone;        /* rank 0 runs the step on all devices; copies are its communication */
	/* Nothing computes beside a collective, so engine auto may choose as without computing. */
	bool serial;
	double ideal;      /* share of the step that is a bubble by theory; 0: none */
	int nccl_policy;   /* CTA policy of collectives, in fb_nccl_policies; 0: NCCL's default */
	int wanted;        /* the number of edges that fb_dag_after added before fb_dag_link */
};

/* Buffers begin at multiples of so many elements, and so much lies between two of them. */
enum { FB_DAG_ALIGN = 256, FB_DAG_GAP = 256 };

void fb_dag_open(struct fb_dag *dag, int rank, int nranks);
void fb_dag_close(struct fb_dag *dag);

int fb_dag_lane(struct fb_dag *dag, const char *name, bool communicates);
/* One that computes on the device of another rank, whose memory this process reaches. */
int fb_dag_device_lane(struct fb_dag *dag, const char *name, int place);
int fb_dag_buffer(struct fb_dag *dag, const char *name, uint64_t count);
/* A buffer in the memory of each rank, at the same place in all; returns rank 0's number. */
int fb_dag_spread(struct fb_dag *dag, const char *name, uint64_t count);
/* `colour`: [nranks], copied. */
int fb_dag_partition(struct fb_dag *dag, const char *name, const int *colour);
/* Groups of `size` ranks that are `stride` apart: an axis of a mesh of ranks. */
int fb_dag_axis(struct fb_dag *dag, const char *name, int stride, int size);
/* A set of test data with so many contributions. */
int fb_dag_data(struct fb_dag *dag, int members);

struct fb_span fb_dag_whole(const struct fb_dag *dag, int buffer);
void fb_dag_input(struct fb_dag *dag, struct fb_span span, struct fb_content content);
void fb_dag_output(struct fb_dag *dag, struct fb_span span, struct fb_content content);

int fb_dag_compute(struct fb_dag *dag, int lane, const char *name, int number,
		   struct fb_work work);
/* The task copies as many elements, behind its computing. */
void fb_dag_copy(struct fb_dag *dag, int task, struct fb_span from, struct fb_span to);
/* The task adds as many elements to those in `to`, which have been written. */
void fb_dag_add(struct fb_dag *dag, int task, struct fb_span from, struct fb_span to);
/* The task reads the span; `content`: what it has to hold then, or NULL. */
void fb_dag_read(struct fb_dag *dag, int task, struct fb_span span,
		 const struct fb_content *content);

/*
 * `in` and `out` as the collective's buffers; equal for operations in place, which all_reduce and
 * broadcast have. A broadcast's root is a place in the group. Not for all_to_all_v.
 */
int fb_dag_collective(struct fb_dag *dag, int lane, const char *name, int number,
		      enum fb_collective collective, int partition, int root, struct fb_span in,
		      struct fb_span out);
/* `counts`: [from * members + to] elements, copied; blocks lie one behind the other. */
int fb_dag_all_to_all_v(struct fb_dag *dag, int lane, const char *name, int number, int partition,
			const uint64_t *counts, struct fb_span in, struct fb_span out);
int fb_dag_host(struct fb_dag *dag, int lane, const char *name, enum fb_host_action action,
		double seconds);

void fb_dag_after(struct fb_dag *dag, int task, int before);

/*
 * Adds the dependencies that the data and the order of a group's collectives require, unless lanes
 * or other dependencies imply them already. Call it after the last task. Returns fb_dag.err.
 */
int fb_dag_link(struct fb_dag *dag);

/* Where the block from member `from` to member `to` begins: in from's input, or in to's output. */
uint64_t fb_task_block_at(const struct fb_task *t, int members, int from, int to, bool in);

/* Whether this rank takes part in the task: it has no part in a collective of no group. */
bool fb_dag_takes_part(const struct fb_dag *dag, int task);

/*
 * --- order.c ---------------------------------------------------------------------------------
 *
 * For each task and lane: how many tasks of that lane are complete before the task begins.
 */
struct fb_order {
	int nlanes;
	int *position; /* [ntasks]: in its lane */
	int *last;     /* [nlanes]: the lane's last task so far, or FB_NONE */
	uint32_t *known; /* [ntasks][nlanes] */
};

/* FB_OK or FB_ENOMEM. Tasks are entered in their order. Close also after an error. */
int fb_order_open(struct fb_order *order, const struct fb_dag *dag);
void fb_order_close(struct fb_order *order);
void fb_order_enter(struct fb_order *order, const struct fb_dag *dag, int task);
bool fb_order_before(const struct fb_order *order, const struct fb_dag *dag, int before, int task);

/* All accesses to memory by a task, one after the other. */
struct fb_touch {
	int task;
	struct fb_span span;
	bool write;
};

/* Calls `each` for every access of the task on this rank; stops at an error and returns it. */
int fb_dag_touches(const struct fb_dag *dag, int task,
		   int (*each)(void *arg, const struct fb_touch *touch), void *arg);

static inline bool fb_span_same(const struct fb_span *a, const struct fb_span *b)
{
	return a->buffer == b->buffer && a->first == b->first && a->count == b->count;
}

static inline bool fb_span_overlaps(const struct fb_span *a, const struct fb_span *b)
{
	return a->buffer == b->buffer && a->first < b->first + b->count &&
	       b->first < a->first + a->count;
}

#endif
