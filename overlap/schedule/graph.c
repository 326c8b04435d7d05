/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step of many small tasks, launched one by one and as one captured graph. It shows what launches
 * cost, what capturing costs, and after how many steps capturing has paid. If shapes change, a
 * graph has to be captured again in each step. The step is that of ddp.
 */
#include <stdio.h>

#include "overlap/options.h"
#include "overlap/schedule/ddp.h"

enum axis { BUCKET, BACKGROUND };
enum schedule { EAGER, REPLAY, RECAPTURE };

static const char *const schedules[] = {"eager", "replay", "recapture", NULL};
static const unsigned modes[] = {
	[REPLAY] = FB_MODE_GRAPH, [RECAPTURE] = FB_MODE_GRAPH | FB_MODE_RECAPTURE};

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OVERLAP_SCHEDULES("all", schedules,
			     "tasks one by one, one graph that is replayed, or a graph that is "
			     "captured in each step, as shapes change"),
	FB_OPTION_SIZES(struct fb_overlap_settings, bucket, 0, "bucket", "64K,1M",
			"bytes of gradients after which a bucket is full; 0: one bucket for all"),
	FB_OPTION_STRING(struct fb_overlap_settings, tensors, 0, "tensors", "LIST", FB_DDP_RATIOS,
			 fb_ddp_check_tensors, "sizes of a layer's tensors, relative"),
	FB_OVERLAP_LAYERS("32", "equal layers of the model"),
	FB_OVERLAP_HIDDEN("1024"),
	FB_OVERLAP_COMPUTE("1ms", "0"),
	FB_OVERLAP_PARTS,
	FB_OVERLAP_STAGES,
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "8M"}, FB_OVERLAP_DEFAULTS};

/* The step that ddp builds for the same options. */
static struct fb_build as_ddp(const struct fb_build *b)
{
	struct fb_build ddp = *b;

	ddp.schedule = FB_DDP_OVERLAP;
	ddp.value[BACKGROUND] = 0;
	ddp.value[FB_DDP_MICROBATCHES] = 1;
	ddp.value[FB_DDP_PARTITION] = 0;
	ddp.value[FB_DDP_BACKGROUND] = b->value[BACKGROUND];
	return ddp;
}

static uint64_t bytes(const struct fb_build *b)
{
	const struct fb_build ddp = as_ddp(b);

	return fb_schedule_ddp.bytes(&ddp);
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	const struct fb_build ddp = as_ddp(b);

	if (b->device || b->schedule == EAGER)
		return fb_schedule_ddp.can(&ddp, reason);
	snprintf(reason, FB_SCHEDULE_REASON, "only GPUs have graphs");
	return false;
}

static void build(struct fb_dag *dag, const struct fb_build *b)
{
	const struct fb_build ddp = as_ddp(b);

	fb_ddp_build(dag, &ddp);
}

const struct fb_schedule_program fb_schedule_graph = {
	.name = "graph",
	.summary = "a step launched task by task, and as one captured graph",
	.description =
	"Times a step of data-parallel training with many small tasks: launched one by one, "
	"replayed from a graph that was captured once, and from one that is captured again in each "
	"step. Columns capture_us and instantiate_us are the times to make the graph; break_even "
	"is the number of steps after which it has saved more than it cost.\n\n"
	"BYTES is the size of all gradients of a rank.",
	.options = options, .defaults = defaults, .schedules = schedules, .modes = modes,
	.has_base = true,
	.axes = {[BUCKET] = {.key = "bucket", .kind = FB_AXIS_SIZES,
		  .offset = offsetof(struct fb_overlap_settings, bucket), .schedules = 7},
		 FB_BACKGROUND_AXIS(7)},
	.bytes = bytes, .can = can, .build = build,
};
