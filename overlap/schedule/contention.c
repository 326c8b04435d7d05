/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who slows whom: work of one kind on some lanes, and the same collective again and again on
 * another. Kinds of work differ in what they need, so that comparing them says what is shared:
 * `spin` needs multiprocessors only, `cache` the cache and them, `memory` memory and them, copies
 * memory and the link to the host but no multiprocessor, `gemm` a mix of all.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum kind { GEMM, MEMORY, CACHE, SPIN, COPY_IN, COPY_OUT, KINDS };
enum axis { STREAMS };
enum { MAIN, COMMUNICATE, WORK }; /* lanes; WORK and following ones compute */
enum { MOST_STREAMS = 8, CACHED = 1 << 18 /* elements of f32: 1 MiB, and 1 MiB written */ };

static const char *const schedules[] = {
	[GEMM] = "gemm", [MEMORY] = "memory", [CACHE] = "cache", [SPIN] = "spin",
	[COPY_IN] = "copy_in", [COPY_OUT] = "copy_out", [KINDS] = NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Work beside communication"),
	FB_OVERLAP_SCHEDULES("all", schedules, "what is computed or copied beside the collectives"),
	FB_OPTION_SIZES(struct fb_overlap_settings, streams, 0, "streams", "1",
			"lanes with such work: streams on a GPU, threads on processors; 0 to 8"),
	FB_OVERLAP_U64(repeats, "repeats", "4", 1, 1000, "collectives of a step"),
	FB_OVERLAP_LAYERS("16", "pieces of the work of a lane"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	if (b->value[STREAMS] > MOST_STREAMS)
		snprintf(reason, FB_SCHEDULE_REASON, "--streams is from 0 to %d", MOST_STREAMS);
	else if (b->schedule >= COPY_IN && !b->device)
		snprintf(reason, FB_SCHEDULE_REASON, "processors have one memory: nothing is "
			 "copied to another");
	else if (b->elements < FB_WITNESS)
		snprintf(reason, FB_SCHEDULE_REASON, "--bytes is less than %d elements",
			 FB_WITNESS);
	else
		return true;
	return false;
}

/* One piece; all kinds grow with the tokens, by which their time is found. */
static struct fb_work work_of(const struct fb_build *b)
{
	static const enum fb_work_kind kinds[] = {
		[GEMM] = FB_WORK_GEMM, [MEMORY] = FB_WORK_MEMORY, [CACHE] = FB_WORK_MEMORY,
		[SPIN] = FB_WORK_SPIN, [COPY_IN] = FB_WORK_COPY_IN, [COPY_OUT] = FB_WORK_COPY_OUT};
	struct fb_work w = fb_work_pass(kinds[b->schedule], b->tokens * b->own->hidden);

	if (b->schedule == GEMM)
		return fb_work_product(FB_WORK_GEMM, b->tokens, b->own->hidden, b->own->hidden);
	if (b->schedule == SPIN)
		w.elements *= 256;
	if (b->schedule == CACHE) {
		w.times = (uint32_t)fb_ceil_div(w.elements, CACHED);
		w.elements = CACHED;
	}
	return w;
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	int world, found, sums, seen, repeats = (int)b->own->repeats;
	struct fb_content own = {.member = b->rank}, sum = {.member = FB_ALL_MEMBERS};

	fb_dag_lane(dag, "main", false);
	fb_dag_lane(dag, "communicate", true);
	for (uint64_t s = 0; s < b->value[STREAMS]; s++)
		fb_dag_lane(dag, "work", false);
	world = fb_dag_axis(dag, "world", 1, b->nranks);
	own.data = sum.data = fb_dag_data(dag, b->nranks);
	found = fb_dag_buffer(dag, "input", b->elements + (uint64_t)repeats * FB_WITNESS);
	sums = fb_dag_buffer(dag, "sums", b->elements);
	seen = fb_dag_buffer(dag, "seen", (uint64_t)repeats * FB_WITNESS);
	fb_dag_input(dag, fb_dag_whole(dag, found), own);
	for (int l = 0; l < (int)b->own->layers; l++)
		for (int s = 0; s < (int)b->value[STREAMS]; s++)
			fb_dag_compute(dag, WORK + s, schedules[b->schedule], l, work_of(b));
	for (int r = 0; r < repeats; r++) {
		const struct fb_span in = {found, (uint64_t)r * FB_WITNESS, b->elements};
		int task;

		sum.first = in.first; /* each has other data */
		fb_dag_collective(dag, COMMUNICATE, "all_reduce", r, FB_ALL_REDUCE, world, 0, in,
				  fb_dag_whole(dag, sums));
		task = fb_dag_compute(dag, COMMUNICATE, "look", r,
				      (struct fb_work){.kind = FB_WORK_NONE});
		fb_dag_witness(dag, task, seen, r, fb_dag_whole(dag, sums), sum);
	}
	fb_dag_output(dag, fb_dag_whole(dag, sums), sum);
	dag->tokens = b->tokens * (uint64_t)b->nranks;
}

const struct fb_schedule_program fb_schedule_contention = {
	.name = "contention",
	.summary = "how much computing and communicating slow each other",
	.description =
	"Times work of one kind beside collectives that have nothing to do with it. Columns "
	"compute_slowdown and communication_slowdown are the times of such pieces of work and "
	"collectives that ran while the other side ran as well, over the same ones alone.\n\n"
	"BYTES is the size of each all_reduce.",
	.options = options, .defaults = defaults, .schedules = schedules, .own_tokens = true,
	.axes = {{.key = "streams", .kind = FB_AXIS_NUMBERS,
		  .offset = offsetof(struct fb_overlap_settings, streams),
		  .schedules = (1 << KINDS) - 1}},
	.can = can, .build = build,
};
