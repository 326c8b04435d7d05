/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame makes a schedule (overlap/schedule/) a program of the harness: cases from axes, groups
 * and their engines, memory, computing, verification, and what is measured beside the step.
 */
#ifndef FB_OVERLAP_FRAME_FRAME_H
#define FB_OVERLAP_FRAME_FRAME_H

#include "collectives/api.h"
#include "common/cuda/gpu_busy.h"
#include "common/library/nvtx.h"
#include "overlap/frame/golden.h"
#include "overlap/compute/host_compute.h"
#include "overlap/gpu/compute.h"
#include "overlap/schedule/schedule.h"
#include "overlap/step/run.h"

/* The programs' own columns, behind those of the collectives. */
enum fb_step_column {
	FB_COMPUTE_US = FB_COLLECTIVE_COLUMNS,
	FB_COMMUNICATION_US,
	FB_EXPOSED_US,
	FB_EXPOSED_LOW_US,
	FB_EXPOSED_HIGH_US,
	FB_HIDDEN_SHARE,
	FB_TAIL_US,
	FB_COMPUTE_SLOWDOWN,
	FB_COMMUNICATION_SLOWDOWN,
	FB_STEP_COLLECTIVES,
	FB_LAUNCHES,
	FB_TOKENS,
	FB_TOKENS_PER_S,
	FB_TOKENS_PER_S_RANK,
	FB_COMPUTE_TFLOPS,
	FB_BUBBLE_SHARE,
	FB_BUBBLE_THEORY,
	FB_LOGICAL_GBPS,
	FB_WIRE_GBPS,
	FB_BUDGET_SHARE,
	FB_COMPRESSION_ERROR,
	FB_BASE_US,
	FB_COST_US,
	FB_COST_LOW_US,
	FB_COST_HIGH_US,
	FB_CAPTURE_US,
	FB_INSTANTIATE_US,
	FB_BREAK_EVEN,
	FB_OVER_BOUND,
	FB_BACKGROUND_US,
	FB_OVER_LONGER,
	FB_SM_BUSY,
	FB_SM_OCCUPANCY,
	FB_STEP_COLUMNS,
};

extern const struct fb_column fb_step_columns[]; /* from FB_COMPUTE_US on */

/* One combination of the program's own axes. */
struct fb_step_pass {
	int schedule;
	uint64_t value[FB_SCHEDULE_AXES];
	char variant[FB_VARIANT_CHARS]; /* its keys: the same names in all passes of a schedule */
};

/*
 * This rank's group of one partition, with an engine. It is kept for all cases that use it.
 * Partitions with different names have different groups (and communicators), even if their ranks
 * are the same, because the collectives of each partition have an order of their own.
 */
struct fb_step_groups {
	const char *name;
	int *colour;      /* [nranks] */
	const char *engine;
	struct fb_group group;            /* nranks 0: this rank is in none */
	struct fb_collectives collectives; /* open if it is in one */
};

/* The number of tokens whose computing takes --compute; found once, used by all cases of a run. */
struct fb_step_work {
	uint64_t elements, tokens;
	int schedule; /* 0 unless schedules have tokens of their own */
	bool device;
};

/* --background-force: what it names of engines with plans (`planned`), and of NCCL (`of_nccl`). */
struct fb_step_forced {
	bool planned, of_nccl;
	char text[64];
	const char *algorithm, *protocol; /* within `text`, and of static storage */
	struct fb_nccl_algo_proto nccl;
};

struct fb_step_search; /* find.c's */

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_step_state {
	const struct fb_schedule_program *program;
	struct fb_overlap_settings settings; /* the options, with the model's sizes */
	const struct fb_overlap_settings *own; /* points to `settings` */
	struct fb_nn model;           /* if own->model is one: what a rank has of it */
	const struct fb_session *session;
	struct fb_barrier *barrier; /* the harness's */
	struct fb_collective_state *collective;
	struct fb_step_pass *passes;
	struct fb_step_groups **groups;
	struct fb_step_forced forced; /* if own->background_force */
	/*
	 * At least so many collectives at once are assumed by a step that is opened now. A row's
	 * base is opened with the row's number, so that kernels have the same shape in both.
	 */
	int together;
	struct fb_step_work *work;
	size_t npasses, ngroups, nwork;
	struct fb_gpu_compute **gpus; /* [nranks]: on this rank's GPU, and on others that it
				       * drives; NULL: not needed yet */
	struct fb_openblas blas;     /* if .library */
	bool blas_tried;
	double announced_flop; /* of the longest step whose time was announced */
	struct fb_nvtx nvtx;         /* ranges for a profiler around steps and their parts */
	/* --find-bucket */
	struct fb_golden golden;        /* as each search begins */
	struct fb_step_search *searches;
	size_t nsearches;
	struct fb_golden_point found;   /* rank 0: of the newest row; median 0: none */
};

/* Times in us that are measured beside each repetition of the step: maxima over ranks. */
enum fb_step_measure {
	FB_MEASURE_COMPUTE,       /* computing alone */
	FB_MEASURE_COMMUNICATION, /* communicating alone */
	FB_MEASURE_BUSY_COMPUTE,  /* sum of the tasks' times within the step */
	FB_MEASURE_BUSY_COMMUNICATION,
	FB_MEASURE_ALONE_COMPUTE, /* sum of the tasks' times when this part runs alone */
	FB_MEASURE_ALONE_COMMUNICATION,
	FB_MEASURE_BASE,          /* the step that this one is compared with */
	FB_MEASURE_BACKGROUND,    /* other traffic alone */
	FB_MEASURE_TAIL,          /* from the last task that computes to the end of the step */
	FB_STEP_MEASURES,
};

struct fb_step_sample {
	double us[FB_STEP_MEASURES]; /* NAN: not measured */
};

/* One case, from setup to teardown. */
struct fb_step_instance {
	struct fb_step_state *state;
	const struct fb_case *key;
	const struct fb_step_pass *pass;
	struct fb_build build;
	struct fb_dag dag;
	unsigned parts;              /* that the schedule times */
	bool device;
	enum fb_redop redop;
	struct fb_data data;         /* whose seed prime renews */
	struct fb_segment *views;    /* [dag.npartitions]: the memory, by ranks of the group */
	struct fb_step_groups **groups; /* [dag.npartitions] */
	struct fb_call **calls;      /* [dag.ntasks]; NULL: the task has none */
	int communicating;           /* lanes with collectives, of the rank that has most */
	struct fb_counts *counts;    /* [dag.ntasks] */
	struct fb_host_compute *compute; /* [dag.nlanes] */
	struct fb_step_hooks hooks;
	struct fb_host_run *host;
	struct fb_gpu_run *gpu;
	char **places;               /* [nranks]: the memory of each rank, if this one runs all */
	int *devices;                /* [nranks]: and its GPU in this process */
	struct fb_task_time *times;  /* [dag.ntasks]: of the last step */
	bool *beside;                /* [dag.ntasks]: counts for slowdown */
	struct fb_step_sample *samples; /* of all repetitions so far, in order */
	size_t nsamples, room;
	struct fb_step_instance *base; /* what it is compared with, in the same memory; or NULL */
	bool has_tokens;             /* --tokens gives a number, or some rank has work for tokens */
	uint64_t found;              /* value of an axis that was found by measuring; 0: none */
	bool busy_known;             /* `busy` has been measured, or cannot be */
	struct fb_gpu_busy_shares busy;
	bool graph;                  /* the step is one launch */
	bool fresh;                  /* buffers are to be checked after this step */
	double begin, end;           /* of the last step, in seconds of the host's clock */
	double trace_error_s;        /* GPU: how far the clocks may be apart */
};

/* The program as the harness sees it. `columns` has room for FB_STEP_COLUMNS. */
struct fb_program fb_step_describe(const struct fb_schedule_program *program,
				   struct fb_overlap_settings *own, struct fb_column *columns);

/* The whole of main(). */
int fb_step_main(const struct fb_schedule_program *program, int argc, char **argv);

/*
 * --- model.c: local; every rank reads the same. s->model, and s->own with the model's sizes in
 * place of the options'. 0, or FB_EINPUT or FB_ENOMEM (printed by rank 0).
 */
int fb_step_open_model(struct fb_step_state *s);

/*
 * --- find.c: --find-bucket, one search for each combination of the other axes. Opening is local,
 * and leaves one size in s->own->bucket: 0, or FB_EINPUT (printed by rank 0).
 */
int fb_step_find_open(struct fb_step_state *s);
/* Rank 0: what was measured; `scratch` has room for 2 n. */
void fb_step_find_put(struct fb_step_instance *i, const double *samples_us, size_t n,
		      double *scratch);
/* fb_program.more */
int fb_step_more(struct fb_run *run, void *state, const struct fb_case *done);

/* --- cases.c: from axis values to cases ------------------------------------------------------ */

/* fb_program.expand and fb_program.can */
int fb_step_expand(struct fb_run *run, void *state);
bool fb_step_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);
/* The pass that a case was made of; NULL only for a case of another program. */
const struct fb_step_pass *fb_step_pass_of(const struct fb_step_state *s, const struct fb_case *c);

/*
 * --- build.c: from a case to the graphs of its step ------------------------------------------
 *
 * The case as the schedule sees it on this rank. `tokens` are per rank; 0: as many as the user
 * asked for.
 */
struct fb_build fb_step_build_of(const struct fb_step_state *s, const struct fb_case *c,
				 const struct fb_step_pass *pass, uint64_t tokens);
/* Builds and links; close *dag also after an error. 0 or an error (printed). */
int fb_step_make(const struct fb_step_state *s, const struct fb_build *build, struct fb_dag *dag);
/* Builds the graphs of all ranks and proves them: 0 or an error (printed). Local. */
int fb_step_prove(const struct fb_step_state *s, const struct fb_build *build);
/* Bytes of a rank's buffers. */
size_t fb_step_bytes(const struct fb_dag *dag, size_t element_bytes);

/* --- groups.c ---------------------------------------------------------------------------------
 *
 * Collective over the world: the groups of all partitions of a step, opened with the engine where
 * no step before had them. 0 or an error (printed), the same on all ranks.
 */
int fb_step_groups_open(struct fb_step_state *s, const struct fb_dag *dag, const char *engine,
			struct fb_step_groups **groups);
void fb_step_groups_close(struct fb_step_state *s);
/*
 * Whether this rank's groups can do all collectives of the step; else the reason. Equal collectives
 * are asked for once. Groups of other ranks may differ.
 */
bool fb_step_can_communicate(struct fb_step_state *s, const struct fb_dag *dag,
			     const struct fb_case *c, char *reason);
/* The counts of a task that is an all_to_all_v, borrowed from the step. */
struct fb_counts fb_step_counts(const struct fb_dag *dag, int task);
/* The operation of a task but for its segment. */
struct fb_operation fb_step_operation(const struct fb_dag *dag, int task, const struct fb_case *c,
				      const struct fb_counts *counts);
/* The case that an engine gets for a task. */
struct fb_case fb_step_case(const struct fb_step_state *s, const struct fb_dag *dag, int task,
			    const struct fb_case *c);

/*
 * --- instance.c, data.c: fb_program.setup, .teardown, .prime and .check ----------------------
 */
int fb_step_set_up(void *state, const struct fb_case *c, void **instance);
void fb_step_tear_down(void *instance);
/* Whether this node's ranks have more computing and communicating threads than processors. */
bool fb_step_crowded(const struct fb_step_instance *i);
int fb_step_prime(void *instance);
int fb_step_check(void *instance, int calls, struct fb_mismatch *bad);

/*
 * --- background.c: other traffic beside the step ----------------------------------------------
 *
 * Local, the same on all ranks: reads --background-force. 0 or FB_EINPUT (printed by rank 0).
 */
int fb_step_open_background(struct fb_step_state *s);
/* Whether the engine has what --background-force names; else the reason. */
bool fb_step_background_can(const struct fb_step_state *s, const char *engine, char *reason);
/* Changes a row's case into one for the background traffic on `engine`. */
void fb_step_background_case(const struct fb_step_state *s, const char *engine,
			     struct fb_case *key);
/* Adds to the row's path what carries the traffic, if there is any. */
void fb_step_background_path(const struct fb_step_instance *i, char path[FB_PATH_CHARS]);
/* The axis that is --background; FB_NONE: the program has none. */
int fb_step_background_axis(const struct fb_schedule_program *program);
/* Bytes of --background of an instance; 0: none. */
uint64_t fb_step_background(const struct fb_step_instance *i);

/* --- work.c: computing ------------------------------------------------------------------------
 *
 * Collective: finds i->build.tokens, builds i->dag for them, and allocates the memory to compute
 * on. 0 or an error (printed), the same on all ranks.
 */
int fb_step_open_work(struct fb_step_instance *i);
void fb_step_close_work(struct fb_step_instance *i);
/* Local: puts what a task computes on a cudaStream_t of its lane's GPU. 0 or FB_ESYS (printed). */
int fb_step_enqueue_work(const struct fb_step_instance *i, int task, void *stream);
/*
 * Local: a stream limited to --compute-sms, for a lane that computes; *stream untouched: no limit.
 */
int fb_step_lane_stream(const struct fb_step_instance *i, int lane, int priority, void *stream);
/* Floating-point operations of the step on this rank. */
double fb_step_flop(const struct fb_dag *dag);
/* How products are computed: "OpenBLAS f32". */
void fb_step_compute_text(const struct fb_step_instance *i, char *text, size_t n);

/* --- measure.c --------------------------------------------------------------------------------
 *
 * Local: a step, or parts of one, to its end.
 */
int fb_step_run_parts(struct fb_step_instance *i, unsigned parts, int calls);
/* Local, not timed: makes a run of these parts ready; copies what communication alone needs. */
int fb_step_ready(struct fb_step_instance *i, unsigned parts, int calls);
/* fb_program.settle: measures the parts alone after each timed step. */
int fb_step_settle(void *instance);

/*
 * Collective, after a timed step: runs steps until GPM's counters show how busy the multiprocessors
 * of this rank's GPU are (i->busy), where they do.
 */
int fb_step_busy(struct fb_step_instance *i);
/* --- row.c: fb_program.summarise ---------------------------------------------------------- */
void fb_step_summarise(void *instance, const double *samples_us, size_t n,
		       struct fb_traits *traits);

/* --- trace.c ----------------------------------------------------------------------------------
 *
 * Collective: appends the tasks of one step of all ranks to spans.csv and trace.json in the folder
 * of --trace; rank 0 writes. 0 or FB_EIO, FB_ENOMEM (printed), the same on all ranks.
 */
int fb_step_trace(struct fb_step_instance *i);

#endif
