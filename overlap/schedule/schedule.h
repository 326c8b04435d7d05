/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule program: options, axes, and a function that builds a step. overlap/frame/ makes a
 * program of the harness of it, so that all of them are checked, timed and verified alike.
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
	uint64_t schedules;      /* bits of those that it means something to; others have value 0 */
	uint64_t silent;         /* 1 + the value that gets no key; 0: every value has one */
	const uint64_t *trials;  /* ending in 0: value 0 is the quickest of these; or NULL */
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
	/* Others are compared with the first schedule, in pairs; all have the same buffers. */
	bool has_base;
	/* Schedules are kinds of work: each finds its tokens, slowdown counts what ran beside. */
	bool own_tokens;
	struct fb_schedule_axis axes[FB_SCHEDULE_AXES]; /* ending in key NULL */
	/* The model must have attention; experts. */
	bool attends, has_experts;
	/* The collective that --algorithm and --redop are about. NULL: all_reduce. Pure. */
	enum fb_collective (*collective)(const struct fb_build *build);
	/* Bytes by the shape or the model, where they are no axis. NULL or 0: --bytes. Pure. */
	uint64_t (*bytes)(const struct fb_build *build);
	/* Whether a step can be built for the case. NULL: always. Pure. */
	bool (*can)(const struct fb_build *build, char reason[FB_SCHEDULE_REASON]);
	/* Pure, and the same graph whenever it is called. The frame opens, links and closes. */
	void (*build)(struct fb_dag *dag, const struct fb_build *build);
	/*
	 * Most elements that a rank holds by the theory of the schedule, found without its builder:
	 * a step that holds more is refused. NULL: where memory is not what the schedule is for.
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
 * Other people's traffic: an all_gather or all_reduce (--background-operation) with so many bytes
 * of results on each rank, with a communicator, an engine (--background-engine) and a lane of its
 * own, from the begin of the step. 0: none. Call it after the program's own buffers and lanes have
 * been made and before its tasks, so that the rest of the step does not depend on it.
 */
void fb_dag_background(struct fb_dag *dag, const struct fb_build *build, uint64_t bytes);

/* Elements of a witness: what a task copies of data that it reads and nobody keeps. */
enum { FB_WITNESS = 64 };

/*
 * The task copies the last FB_WITNESS elements of the span (all of a smaller one) to place
 * `number` of a buffer of FB_WITNESS elements each, where they are an output with that content.
 */
void fb_dag_witness(struct fb_dag *dag, int task, int buffer, int number, struct fb_span span,
		    struct fb_content content);

/*
 * The budget of fb_dag_check for a linked step: the schedule's most, other people's traffic, and
 * the gaps between buffers. 0: any number of elements.
 */
uint64_t fb_schedule_budget(const struct fb_schedule_program *program,
			    const struct fb_build *build, const struct fb_dag *dag);

/* The quotient, rounded up. */
static inline uint64_t fb_ceil_div(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

#endif
