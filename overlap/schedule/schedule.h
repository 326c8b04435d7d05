/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule program consists of options, axes, and a function that builds a step. overlap/frame/
 * turns it into a program of the harness, so all schedules are checked, timed and verified in the
 * same way.
 */
#ifndef FB_OVERLAP_SCHEDULE_SCHEDULE_H
#define FB_OVERLAP_SCHEDULE_SCHEDULE_H

#include "common/base/datatype.h"
#include "common/option/settings.h"
#include "overlap/model/model.h"
#include "overlap/settings.h"
#include "overlap/step/dag.h"

/* The last axis is --compute-sms, which all programs have. */
enum { FB_SCHEDULE_AXES = 11, FB_AXIS_COMPUTE_SMS = 10, FB_SCHEDULE_REASON = 160 };

/* How an axis is written in keys, and where its values are. */
enum fb_axis_kind {
	FB_AXIS_SIZES,   /* struct fb_sizes, as bytes; 0 is "whole" */
	FB_AXIS_NUMBERS, /* struct fb_sizes, as plain numbers */
	FB_AXIS_CHOICES, /* uint64_t, a bit for each of `names` */
};

struct fb_schedule_axis {
	const char *key;         /* in the column variant */
	enum fb_axis_kind kind;
	size_t offset;           /* in struct fb_overlap_settings */
	const char *const *names;
	uint64_t schedules;      /* bits of the schedules that use the axis; in others it is 0 */
	uint64_t silent;         /* 1 + the value without a key in variant; 0: all have a key */
	const uint64_t *trials;  /* value 0 means the fastest of these, which end in 0; or NULL */
};

/* One case on one rank: a step is built for it. */
struct fb_build {
	const struct fb_overlap_settings *own;
	const struct fb_nn *nn;           /* --model, cut; NULL: none */
	int schedule;                     /* index of its name */
	uint64_t value[FB_SCHEDULE_AXES]; /* of the axes; choices by their index */
	uint64_t elements;                /* in the case's bytes */
	size_t element_bytes;
	uint64_t tokens;                  /* of a rank */
	bool device;                      /* on a GPU */
	int rank, nranks;
};

/* How a schedule is run on a GPU, beside its graph. */
enum fb_schedule_mode {
	FB_MODE_GRAPH = 1,            /* captured, whatever --launch says */
	FB_MODE_RECAPTURE = 2,        /* in each step */
	FB_MODE_BLOCKING_STREAMS = 4, /* that wait for the legacy stream */
};

struct fb_schedule_program {
	const char *name, *summary, *description;
	const struct fb_option *options;
	const struct fb_default *defaults;
	const struct fb_default *const *presets; /* see common/run/program.h */
	const char *const *schedules; /* names, ending in NULL: the rows' operations */
	const unsigned *parts;        /* [schedules] enum fb_step_part; NULL: all of all */
	const unsigned *modes;        /* [schedules] enum fb_schedule_mode; NULL: none */
	/* Each other schedule is compared with the first one in pairs; all have equal buffers. */
	bool has_base;
	/*
	 * Schedules are kinds of work. The number of tokens is found for each of them, and slowdown
	 * counts only tasks that ran wholly beside the other side.
	 */
	bool own_tokens;
	struct fb_schedule_axis axes[FB_SCHEDULE_AXES]; /* ending in key NULL */
	/* The model must have attention; experts. */
	bool attends, has_experts;
	/* The collective to which --algorithm and --redop apply. NULL: all_reduce. Pure. */
	enum fb_collective (*collective)(const struct fb_build *build);
	/* The case's bytes, if they follow from other options. NULL or 0: --bytes. Pure. */
	uint64_t (*bytes)(const struct fb_build *build);
	/* Whether a step can be built for the case. NULL: always. Pure. */
	bool (*can)(const struct fb_build *build, char reason[FB_SCHEDULE_REASON]);
	/* Pure, and the same graph whenever it is called. The frame opens, links and closes. */
	void (*build)(struct fb_dag *dag, const struct fb_build *build);
	/*
	 * Most elements that a rank needs by the theory of the schedule, computed independently of
	 * `build`: a step that holds more is refused. NULL: the schedule promises nothing about
	 * memory.
	 */
	uint64_t (*most)(const struct fb_build *build);
	/* Column compression_error; negative: none. NULL: never. Pure. */
	double (*error)(const struct fb_build *build, enum fb_datatype type);
};

extern const struct fb_schedule_program fb_schedule_ddp, fb_schedule_fsdp,
	fb_schedule_tensor_parallel, fb_schedule_pipeline, fb_schedule_moe,
	fb_schedule_context_parallel, fb_schedule_hazards, fb_schedule_graph,
	fb_schedule_contention, fb_schedule_dataparallel, fb_schedule_staging;

/* All of them, ending in NULL. */
extern const struct fb_schedule_program *const fb_schedule_programs[];

/*
 * --- parts.c: what several of them have ------------------------------------------------------
 *
 * The two lanes of most steps, in this order. serial: fb_dag.serial, the same on all ranks.
 */
enum { FB_LANE_COMPUTE, FB_LANE_COMMUNICATE };
void fb_dag_two_lanes(struct fb_dag *dag, bool serial);

/*
 * Adds foreign traffic: an all_gather or all_reduce (--background-operation) with `bytes` bytes of
 * results on each rank, which begins with the step. It has a communicator, an engine
 * (--background-engine) and a lane of its own. 0: none. Call it after the program has made its own
 * buffers and lanes and before it adds tasks, so that their numbers are the same with and without
 * the traffic.
 */
void fb_dag_background(struct fb_dag *dag, const struct fb_build *build, uint64_t bytes);

/* Elements of a witness: a copy of data that a task reads and that are overwritten later. */
enum { FB_WITNESS = 64 };

/*
 * The task copies the last FB_WITNESS elements of the span (all of a smaller span) to place
 * `number` of a buffer whose places have FB_WITNESS elements each. There they are an output, so the
 * check after the step proves that the task saw the right content.
 */
void fb_dag_witness(struct fb_dag *dag, int task, int buffer, int number, struct fb_span span,
		    struct fb_content content);

/*
 * The memory budget for fb_dag_check of a linked step: what the schedule may need, the background
 * traffic, and the gaps between buffers. 0: any number of elements.
 */
uint64_t fb_schedule_budget(const struct fb_schedule_program *program,
			    const struct fb_build *build, const struct fb_dag *dag);

/* The quotient, rounded up. */
static inline uint64_t fb_ceil_div(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

#endif
