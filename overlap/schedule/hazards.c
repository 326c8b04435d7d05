/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of one mistake in a step of data-parallel training: the step as it should be, and the
 * same step with one mistake that users make. Both are measured in turn, so that the cost is the
 * median of pairs.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum hazard {
	CAREFUL,
	READ_BACK,    /* the loss is copied to the host in each step */
	SYNCHRONISE,  /* the device is waited for behind each bucket */
	PRINT,        /* a line for each layer */
	LEGACY,       /* something small on the legacy stream, with which others synchronise */
	PAGEABLE,     /* input from memory that is not pinned */
	COMMUNICATOR, /* made anew in each step */
	UNPINNED,     /* the computing thread may run on every processor */
	ONE_CORE,     /* it shares one with the thread that communicates */
	ONE_LANE,     /* computing and communicating on one stream */
	LATE_INPUT,
	STORAGE,      /* a file is read beside the step */
	CHECKPOINT,   /* parameters are copied to the host and written to a file beside it */
	HAZARDS,
};
enum { MAIN, COMPUTE, COMMUNICATE, SIDE }; /* lanes; on a GPU the first is the stream of a graph */
enum { ALIGN = 128, F32 = 4, BACKGROUND = 0 /* axis */ };

static const char *const schedules[] = {
	[CAREFUL] = "careful", [READ_BACK] = "read_back", [SYNCHRONISE] = "synchronise",
	[PRINT] = "print", [LEGACY] = "legacy_stream", [PAGEABLE] = "pageable",
	[COMMUNICATOR] = "communicator", [UNPINNED] = "unpinned", [ONE_CORE] = "one_core",
	[ONE_LANE] = "one_lane", [LATE_INPUT] = "late_input", [STORAGE] = "storage",
	[CHECKPOINT] = "checkpoint",
	[HAZARDS] = NULL};
static const unsigned modes[] = {[LEGACY] = FB_MODE_BLOCKING_STREAMS, [HAZARDS] = 0};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OVERLAP_SCHEDULES("all", schedules, "the step as it should be, and what is done wrong"),
	FB_OPTION_TIME(struct fb_overlap_settings, delay_s, 0, "delay", "1ms", 1e-6, 10,
		       "how late input is"),
	FB_OVERLAP_U64(late_ranks, "late-ranks", "0", 0, 1 << 20,
		       "ranks whose input is late, the first ones; 0: all"),
	FB_OVERLAP_U64(storage, "storage-bytes", "8M", 1, UINT64_C(1) << 34,
		       "what is read from a file beside the step, or written as a checkpoint"),
	FB_OPTION_STRING(struct fb_overlap_settings, storage_folder, 0, "storage-folder", "FOLDER",
			 NULL, NULL, "folder of that file, for example on a file system behind the "
			 "same network; none given: the system's temporary folder"),
	FB_OVERLAP_U64(input, "input-bytes", "4M", 4, UINT64_C(1) << 34,
		       "input of a step, copied beside it"),
	FB_OVERLAP_LAYERS("8", "equal layers of the model, a bucket each"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

static uint64_t bucket_of(const struct fb_build *b)
{
	return fb_ceil_div(b->elements ? b->elements : 1, b->own->layers * ALIGN) * ALIGN;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	const bool of_gpu = b->schedule == READ_BACK || b->schedule == LEGACY ||
			    b->schedule == PAGEABLE;

	if (of_gpu && !b->device)
		snprintf(reason, FB_SCHEDULE_REASON, "processors have neither streams nor device "
			 "memory");
	else if ((b->schedule == UNPINNED || b->schedule == ONE_CORE) && b->device)
		snprintf(reason, FB_SCHEDULE_REASON, "on a GPU no host thread computes");
	else
		return true;
	return false;
}

static int act(struct fb_dag *dag, int lane, enum fb_host_action action, double seconds)
{
	return fb_dag_host(dag, lane, "host", action, seconds);
}

/* The careless act of a schedule that comes before anything is computed. */
static void begin(struct fb_dag *dag, const struct fb_build *b)
{
	struct fb_work input = fb_work_pass(b->schedule == PAGEABLE ? FB_WORK_COPY_PAGEABLE
								    : FB_WORK_COPY_IN,
					    fb_ceil_div(b->own->input, F32));

	int task;

	fb_dag_compute(dag, SIDE, "input", 0, input);
	if (b->schedule == CHECKPOINT) {
		fb_dag_compute(dag, SIDE, "checkpoint", 0,
			       fb_work_pass(FB_WORK_COPY_OUT, fb_ceil_div(b->own->storage, F32)));
		act(dag, SIDE, FB_HOST_WAIT_LANE, 0);
	}
	if (b->schedule == STORAGE || b->schedule == CHECKPOINT) {
		task = act(dag, SIDE, b->schedule == STORAGE ? FB_HOST_READ_FILE
							     : FB_HOST_WRITE_FILE, 0);
		if (!dag->err)
			dag->tasks[task].work.elements = b->own->storage;
	}
	if (b->schedule == LATE_INPUT &&
	    (!b->own->late_ranks || (uint64_t)b->rank < b->own->late_ranks))
		act(dag, COMPUTE, FB_HOST_NAP, b->own->delay_s);
	if (b->schedule == COMMUNICATOR)
		act(dag, COMMUNICATE, FB_HOST_COMMUNICATOR, 0);
	if (b->schedule == UNPINNED || b->schedule == ONE_CORE)
		act(dag, COMPUTE, b->schedule == UNPINNED ? FB_HOST_SPREAD : FB_HOST_ONE_CORE, 0);
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	uint64_t count = bucket_of(b), rows = fb_ceil_div(count, b->own->hidden);
	int layers = (int)b->own->layers, communicates = COMMUNICATE, world, found, buckets;
	struct fb_content own = {.member = b->rank}, sum = {.member = FB_ALL_MEMBERS};

	fb_dag_lane(dag, "main", false);
	fb_dag_lane(dag, "compute", false);
	fb_dag_lane(dag, "communicate", true);
	fb_dag_lane(dag, "side", false);
	if (b->schedule == ONE_LANE)
		communicates = COMPUTE;
	world = fb_dag_axis(dag, "world", 1, b->nranks);
	own.data = sum.data = fb_dag_data(dag, b->nranks);
	found = fb_dag_buffer(dag, "gradients", count * (uint64_t)layers);
	buckets = fb_dag_buffer(dag, "buckets", count * (uint64_t)layers);
	fb_dag_input(dag, fb_dag_whole(dag, found), own);
	fb_dag_background(dag, b, b->value[BACKGROUND]);
	if (dag->err)
		return;
	begin(dag, b);
	for (int l = 0; l < layers && !dag->err; l++) {
		const struct fb_span from = {found, (uint64_t)l * count, count};
		const struct fb_span to = {buckets, from.first, count};
		int task = fb_dag_compute(dag, COMPUTE, "backward", l,
					  fb_work_product(FB_WORK_BACKWARD, b->tokens, rows,
							  b->own->hidden));

		fb_dag_copy(dag, task, from, to);
		if (b->schedule == PRINT)
			act(dag, COMPUTE, FB_HOST_PRINT, 0);
		task = fb_dag_collective(dag, communicates, "all_reduce", l, FB_ALL_REDUCE, world,
					 0, to, to);
		if (b->schedule == SYNCHRONISE)
			fb_dag_after(dag, act(dag, COMPUTE, FB_HOST_WAIT_DEVICE, 0), task);
		if (b->schedule == LEGACY)
			act(dag, COMPUTE, FB_HOST_LEGACY, 0);
	}
	if (b->schedule == READ_BACK)
		act(dag, COMPUTE, FB_HOST_READ_BACK, 0);
	if (b->schedule == UNPINNED || b->schedule == ONE_CORE)
		act(dag, COMPUTE, FB_HOST_REBIND, 0);
	fb_dag_output(dag, fb_dag_whole(dag, buckets), sum);
	dag->tokens = b->tokens * (uint64_t)b->nranks;
}

const struct fb_schedule_program fb_schedule_hazards = {
	.name = "hazards",
	.summary = "what one common mistake costs a step of training",
	.description =
	"Times a step of data-parallel training with one mistake in it: the loss read back, a wait "
	"behind each bucket, a line printed for each layer, and others. Behind each such step the "
	"careful one is measured; column cost_us is the median of the differences.\n\n"
	"BYTES is the size of all gradients of a rank, a bucket for each layer.",
	.options = options, .defaults = defaults, .schedules = schedules, .modes = modes,
	.has_base = true, .axes = {FB_BACKGROUND_AXIS((1 << HAZARDS) - 1)},
	.can = can, .build = build,
};
