/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that is larger than a GPU's memory, or that the host makes: chunk after chunk is copied to
 * the GPU, computed on and copied back. On one stream the three follow each other. On two or more
 * the copy of one chunk runs beside the computing of another, and copies of both directions beside
 * each other, as a GPU has a copy engine for each.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

enum schedule { SERIAL, STREAMS, SCHEDULES };
enum axis { LANES, CHUNKS };
enum { MOST_STREAMS = 8, F32 = 4 };

static const char *const schedules[] = {[SERIAL] = "serial", [STREAMS] = "streams",
					[SCHEDULES] = NULL};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Copies and computing"),
	FB_OVERLAP_SCHEDULES("all", schedules,
			     "all chunks one after the other, or in turn on --streams"),
	FB_OPTION_SIZES(struct fb_overlap_settings, streams, 0, "streams", "1,2,3",
			"streams on a GPU, threads on processors, that chunks are given to in "
			"turn; 1 to 8"),
	FB_OPTION_SIZES(struct fb_overlap_settings, chunks, 0, "chunks", "8",
			"chunks that the data are cut into"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "256M"}, FB_OVERLAP_DEFAULTS};

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	uint64_t chunks = b->value[CHUNKS];

	if (b->schedule == STREAMS && (b->value[LANES] < 1 || b->value[LANES] > MOST_STREAMS))
		snprintf(reason, FB_SCHEDULE_REASON, "--streams is from 1 to %d", MOST_STREAMS);
	else if (chunks < 1 || chunks > FB_MOST_LAYERS)
		snprintf(reason, FB_SCHEDULE_REASON, "--chunks is from 1 to %d", FB_MOST_LAYERS);
	else if (b->elements < chunks * FB_WITNESS)
		snprintf(reason, FB_SCHEDULE_REASON, "--bytes is less than %d elements for each "
			 "chunk", FB_WITNESS);
	else
		return true;
	return false;
}

/*
 * A witness (schedule.h) of test data follows each chunk from task to task, so it can be checked.
 */
static void build(struct fb_dag *dag, const struct fb_build *b)
{
	int chunks = (int)b->value[CHUNKS];
	int lanes = b->schedule == STREAMS ? (int)b->value[LANES] : 1;
	uint64_t elements = fb_ceil_div(b->elements * b->element_bytes, F32 * (uint64_t)chunks);
	uint64_t tokens = fb_ceil_div(b->tokens, (uint64_t)chunks), hidden = b->own->hidden;
	int found, arrived, computed, results;
	struct fb_content own = {.member = b->rank};

	fb_dag_lane(dag, "main", false);
	for (int l = 0; l < lanes; l++)
		fb_dag_lane(dag, "stream", false);
	own.data = fb_dag_data(dag, b->nranks);
	found = fb_dag_buffer(dag, "input", (uint64_t)chunks * FB_WITNESS);
	arrived = fb_dag_buffer(dag, "arrived", (uint64_t)chunks * FB_WITNESS);
	computed = fb_dag_buffer(dag, "computed", (uint64_t)chunks * FB_WITNESS);
	results = fb_dag_buffer(dag, "results", (uint64_t)chunks * FB_WITNESS);
	fb_dag_input(dag, fb_dag_whole(dag, found), own);
	for (int c = 0; c < chunks; c++) {
		const struct fb_span from = {found, (uint64_t)c * FB_WITNESS, FB_WITNESS};
		const struct fb_span in = {arrived, from.first, from.count};
		const struct fb_span on = {computed, from.first, from.count};
		const struct fb_span out = {results, from.first, from.count};
		int lane = 1 + c % lanes;

		fb_dag_copy(dag, fb_dag_compute(dag, lane, "copy in", c,
						fb_work_pass(FB_WORK_COPY_IN, elements)), from, in);
		fb_dag_copy(dag, fb_dag_compute(dag, lane, "compute", c,
						fb_work_product(FB_WORK_GEMM, tokens, hidden,
								hidden)), in, on);
		fb_dag_copy(dag, fb_dag_compute(dag, lane, "copy out", c,
						fb_work_pass(FB_WORK_COPY_OUT, elements)), on, out);
	}
	fb_dag_output(dag, fb_dag_whole(dag, results), own);
	dag->tokens = b->tokens * (uint64_t)b->nranks;
}

const struct fb_schedule_program fb_schedule_staging = {
	.name = "staging",
	.summary = "chunks copied to the GPU, computed on and copied back, on several streams",
	.description =
	"Times chunks of data that are copied from the host, computed on and copied back: one "
	"after the other, and in turn on several streams, so that copies of both directions and "
	"computing run beside each other. Behind each step on streams the serial one is measured; "
	"column cost_us is the median of the differences, and below 0 what streams save. Nothing "
	"is communicated: all ranks do the same at the same time.\n\n"
	"BYTES is the size of all chunks, which are copied in and out.",
	.options = options, .defaults = defaults, .schedules = schedules, .has_base = true,
	.axes = {[LANES] = {.key = "streams", .kind = FB_AXIS_NUMBERS,
			    .offset = offsetof(struct fb_overlap_settings, streams),
			    .schedules = 1 << STREAMS},
		 [CHUNKS] = {.key = "chunks", .kind = FB_AXIS_NUMBERS,
			     .offset = offsetof(struct fb_overlap_settings, chunks),
			     .schedules = (1 << SCHEDULES) - 1}},
	.can = can, .build = build,
};
