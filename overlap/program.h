/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data-parallel training step: backward computes gradients, buckets of them are reduced over
 * all ranks. What the parts of program ddp share.
 *
 * A step has two buffers as large as all gradients. The first holds what backward is to find, put
 * there before the step; when the computing of a tensor is done, its gradient is copied from there
 * into its bucket in the second, as DDP copies gradients into its buckets. The all_reduce of a
 * bucket is in place. So a bucket that is reduced before its gradients are there is wrong, and
 * every element of every step can be checked.
 */
#ifndef FB_OVERLAP_PROGRAM_H
#define FB_OVERLAP_PROGRAM_H

#include "collectives/state.h"
#include "overlap/buckets.h"
#include "overlap/gpu/step.h"
#include "overlap/host_compute.h"
#include "overlap/schedule.h"

/* The program's own columns, behind those of the collectives. */
enum fb_ddp_column {
	FB_COMPUTE_US = FB_COLLECTIVE_COLUMNS,
	FB_COMMUNICATION_US,
	FB_EXPOSED_US,
	FB_HIDDEN,
	FB_BUCKETS,
	FB_TOKENS,
	FB_COMPUTE_TFLOPS,
	FB_DDP_COLUMNS,
};

/* The values of its own options. */
struct fb_ddp_settings {
	struct fb_sizes bucket; /* bytes; 0: one bucket for all */
	uint64_t schedules;     /* bit i for fb_schedules[i] */
	uint64_t layers, hidden, tokens, polls, compute_sms;
	const char *tensors;
	double compute_s;
	int priority;           /* of the communication's stream: 0 high, 1 normal */
	const char *cublas;
};

/* Options (options.c), those of the common ones that differ, and the columns; what they mean. */
#define FB_DDP_RATIOS "4,1,1,4,14,14,14"
enum { FB_DDP_HIDDEN = 4096 };
extern const struct fb_option fb_ddp_options[];
extern const char *const fb_ddp_priorities[];
extern const struct fb_default fb_ddp_defaults[];
extern const struct fb_column fb_ddp_columns[]; /* from FB_COMPUTE_US on */
extern const char fb_ddp_description[];

/* How much there is to compute for so many gradients; the same in all cases of a run. */
struct fb_ddp_work {
	uint64_t elements, tokens;
	bool device;
};

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_ddp_state {
	struct fb_run *run;              /* its barrier, between samples of the parts */
	struct fb_collective_state *collective;
	const struct fb_ddp_settings *own;
	struct fb_model model;
	struct fb_case keys;             /* while cases are made: its variant is the pass's */
	struct fb_gpu_compute *gpu;      /* NULL: not needed yet */
	struct fb_ddp_work *work;        /* [nwork], found so far */
	size_t nwork;
};

/* A bucket's all_reduce, a case of its own. */
struct fb_ddp_reduction {
	struct fb_case key;
	struct fb_collective_instance instance;
	bool done;
};

/* Times of the parts alone, each the maximum over ranks; taken between the timed steps. */
enum { FB_BASELINES = 200 };
struct fb_ddp_baseline {
	double us[FB_BASELINES];
	size_t n;
};

/* One case, from setup to teardown. */
struct fb_ddp_instance {
	struct fb_ddp_state *state;
	const struct fb_case *key;
	enum fb_schedule schedule;
	bool device;
	struct fb_collective_instance whole;  /* of all gradients: buffers and data */
	struct fb_gradients gradients;
	struct fb_ddp_reduction *reductions;  /* [gradients.nbuckets] */
	size_t prepared;                      /* of them */
	uint64_t tokens;
	struct fb_host_compute compute;       /* unless device */
	struct fb_gpu_step *step;             /* if device */
	struct fb_ddp_baseline baseline[2];   /* FB_COMPUTE, FB_COMMUNICATE */
	size_t turns;
	bool fresh;                           /* buffers are to be checked after this step */
};

/* The program as the harness sees it. `columns` has room for FB_DDP_COLUMNS. */
struct fb_program fb_ddp_describe(struct fb_ddp_settings *settings, struct fb_column *columns);

/* --- cases.c: pure ------------------------------------------------------------------------ */

/* fb_program.expand and fb_program.can */
int fb_ddp_expand(struct fb_run *run, void *state);
bool fb_ddp_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);

/*
 * Fills the case's instance, zeroed before, up to `reductions`, whose places are those of
 * `whole`. fb_ddp_free afterwards, also after an error. 0 or FB_ENOMEM (not printed).
 */
int fb_ddp_fill(struct fb_ddp_instance *i, struct fb_ddp_state *state, const struct fb_case *c);
void fb_ddp_free(struct fb_ddp_instance *i);

/* --- work.c: how much to compute ----------------------------------------------------------- */

/*
 * Collective: i->tokens, and the memory to compute on. Found once for each number of gradients,
 * so that all cases of a run compute the same. The same value on all ranks: 0 or an error.
 */
int fb_ddp_open_work(struct fb_ddp_instance *i);

/* Of a tensor. */
uint64_t fb_ddp_rows(const struct fb_ddp_state *state, const struct fb_tensor *tensor);
/* Floating-point operations of a step on a rank. */
double fb_ddp_flop(const struct fb_ddp_instance *i);

/* --- host_step.c: a step on processors ------------------------------------------------------- */

int fb_ddp_host_step(struct fb_ddp_instance *i, enum fb_schedule schedule);

/* --- baseline.c: the parts alone ------------------------------------------------------------- */

/* Local: a step of whatever schedule, to its end. */
int fb_ddp_step(struct fb_ddp_instance *i, enum fb_schedule schedule, int calls);
/* Local, not timed: all gradients into their buckets, where the schedule itself does not. */
int fb_ddp_pack(const struct fb_ddp_instance *i, enum fb_schedule schedule);
/* fb_program.settle: now and then a part alone. */
int fb_ddp_settle(void *instance);
/* fb_program.summarise */
void fb_ddp_summarise(void *instance, const double *samples_us, size_t n,
		      struct fb_traits *traits);

#endif
