/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data-parallel training: options and what goes together. The step is ddp_step.c's.
 */
#include <stdio.h>
#include <string.h>

#include "overlap/compute/compression.h"
#include "overlap/options.h"
#include "overlap/schedule/ddp.h"
#include "overlap/step/run.h"

enum { ALIGN_BYTES = 512, ALIGN = 128 };

static const char *const schedules[] = {
	[FB_DDP_COMPUTE] = "compute", [FB_DDP_COMMUNICATE] = "communicate",
	[FB_DDP_SEQUENTIAL] = "sequential", [FB_DDP_OVERLAP] = "overlap",
	[FB_DDP_ZERO1] = "zero1", [FB_DDP_ZERO2] = "zero2", NULL};
static const unsigned parts[] = {FB_PART_ALL, FB_PART_COMMUNICATE, FB_PART_ALL, FB_PART_ALL,
				 FB_PART_ALL, FB_PART_ALL};
static const char *const optimizers[] = {"none", "after", "overlap", NULL};
static const char *const compressions[] = {"none", "cast", "topk", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const orders[] = {"ready", "priority", NULL};

int fb_ddp_check_tensors(const char *value, char *accepted, size_t n)
{
	struct fb_ratios ratios = {.layers = 1};

	snprintf(accepted, n, "at most %d numbers from 1 to %d as 4,1,1,4", FB_MOST_TENSORS,
		 FB_MOST_RATIO);
	return fb_ratios_parse(&ratios, value);
}

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OPTION_SIZES(struct fb_overlap_settings, bucket, 0, "bucket", "1M,4M,25M,64M,0",
			"bytes of gradients after which a bucket is full; 0: one bucket for all"),
	FB_OPTION_SIZES(struct fb_overlap_settings, first_bucket, 0, "first-bucket", "0",
			"the same of the first bucket, which PyTorch has at 1M; 0: as the others"),
	FB_OPTION_SIZES(struct fb_overlap_settings, partition, 0, "partition", "0",
			"bytes of gradients that a collective has at most: buckets are cut, also "
			"within a tensor; 0: they are not"),
	FB_OPTION_FLAG(struct fb_overlap_settings, find_bucket, 0, "find-bucket",
		       "searches the best size between the least and the most of --bucket, until "
		       "intervals no longer separate"),
	FB_OVERLAP_SCHEDULES("sequential,overlap", schedules,
			     "what a step does: compute or communicate alone, one behind the "
			     "other, or each bucket's all_reduce while backward goes on; zero1, "
			     "zero2: reduce_scatter, optimizer of a shard, all_gather; zero2 in "
			     "each micro-batch"),
	FB_OPTION_SIZES(struct fb_overlap_settings, microbatches, 0, "microbatches", "1",
			"backwards of --tokens each whose gradients are added up before they are "
			"reduced"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, optimizer, 0, "optimizer", "none", optimizers,
			  "Adam: none, behind all buckets, or behind each one while backward goes "
			  "on"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, compress, 0, "compress", "none", compressions,
			  "gradients of f32 are cast to --datatype and back, or only the largest "
			  "ones are gathered with their places"),
	FB_OPTION_RATIO(struct fb_overlap_settings, keep, 0, "keep", "1%", 1e-6, 1,
			"share of the gradients that --compress topk sends"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, checkpoint, 0, "checkpoint", "no", no_yes,
			  "activation checkpointing: backward computes forward again"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, forward, 0, "forward", "no", no_yes,
			  "the next forward is part of the step; a tensor waits for its bucket"),
	FB_OPTION_CHOICES(struct fb_overlap_settings, order, 0, "order", "ready", orders,
			  "which of the full buckets goes first: the oldest, or the one that "
			  "forward needs first"),
	FB_OPTION_STRING(struct fb_overlap_settings, tensors, 0, "tensors", "LIST", FB_DDP_RATIOS,
			 fb_ddp_check_tensors,
			 "sizes of a layer's tensors, relative, in the order of forward"),
	FB_OVERLAP_LAYERS("8", "equal layers of the model"),
	FB_OVERLAP_HIDDEN("4096"),
	FB_OVERLAP_COMPUTE("20ms", "0"),
	FB_OVERLAP_PARTS,
	FB_OVERLAP_STAGES,
	FB_OVERLAP_BACKGROUND,
	FB_OVERLAP_OPTIONS,
	FB_OPTION_END,
};

static const struct fb_default defaults[] = {{"bytes", "64M"}, FB_OVERLAP_DEFAULTS};

bool fb_ddp_gradients(const struct fb_build *b, struct fb_gradients *g)
{
	struct fb_ratios ratios = {.layers = b->own->layers};
	uint64_t full = fb_ceil_div(b->value[FB_DDP_BUCKET], b->element_bytes);
	uint64_t first = fb_ceil_div(b->value[FB_DDP_FIRST], b->element_bytes);
	uint64_t piece = fb_ceil_div(b->value[FB_DDP_PARTITION], b->element_bytes);
	int err = b->nn ? fb_gradients_list(g, b->nn, ALIGN)
			: fb_ratios_parse(&ratios, b->own->tensors);

	if (!err && !b->nn)
		err = fb_gradients_split(g, &ratios, b->elements, ALIGN_BYTES / b->element_bytes);
	if (!err)
		fb_gradients_pack(g, first && full ? first : full, full);
	if (!err)
		err = fb_gradients_cut(g, fb_ceil_div(piece, ALIGN) * ALIGN);
	if (err)
		fb_gradients_free(g);
	return !err;
}

struct fb_work fb_ddp_work(const struct fb_build *b, const struct fb_tensor *t, bool backward)
{
	if (t->of)
		return fb_nn_work(b->nn, t->of, b->tokens, backward);
	return fb_work_product(backward ? FB_WORK_BACKWARD : FB_WORK_GEMM, b->tokens,
			       fb_ceil_div(t->count, b->own->hidden), b->own->hidden);
}

/* The size of all tensors of the model. */
static uint64_t bytes(const struct fb_build *b)
{
	struct fb_gradients g;
	uint64_t elements = 0;

	if (b->nn && !fb_gradients_list(&g, b->nn, ALIGN)) {
		elements = fb_gradients_elements(&g);
		fb_gradients_free(&g);
	}
	return elements * b->element_bytes;
}

bool fb_ddp_is_serial(const struct fb_build *b)
{
	return b->schedule == FB_DDP_SEQUENTIAL && !b->value[FB_DDP_OPTIMIZER] &&
	       !b->value[FB_DDP_COMPRESS] && b->value[FB_DDP_ORDER] != FB_DDP_PRIORITY;
}

/* Why these values of axes exclude each other; NULL: they do not. */
static const char *excluded(const struct fb_build *b)
{
	bool topk = b->value[FB_DDP_COMPRESS] == FB_DDP_TOPK;
	bool priority = b->value[FB_DDP_ORDER] == FB_DDP_PRIORITY;

	if (b->value[FB_DDP_MICROBATCHES] < 1 || b->value[FB_DDP_MICROBATCHES] > FB_MOST_LAYERS)
		return "--microbatches is from 1 to 1000";
	if (topk && b->schedule >= FB_DDP_ZERO1)
		return "what top-k sends is no part of a sum that ZeRO could scatter";
	if (priority && !b->value[FB_DDP_FORWARD])
		return "priority without --forward: no bucket is needed before another";
	return NULL;
}

static bool can(const struct fb_build *b, char reason[FB_SCHEDULE_REASON])
{
	const char *why = excluded(b);
	struct fb_gradients g;
	bool can = false;

	if (why) {
		snprintf(reason, FB_SCHEDULE_REASON, "%s", why);
		return false;
	}
	if (!fb_ddp_gradients(b, &g))
		snprintf(reason, FB_SCHEDULE_REASON, "more than %d buckets, or no memory for them",
			 FB_MOST_BUCKETS);
	else if (!g.ntensors)
		snprintf(reason, FB_SCHEDULE_REASON,
			 "no gradients: --bytes is less than an element");
	else if (b->value[FB_DDP_BUCKET] && g.nbuckets == 1 && b->own->bucket.value[0] == 0)
		snprintf(reason, FB_SCHEDULE_REASON, "one bucket holds all gradients: this case is "
						     "the row bucket=whole");
	else
		can = true;
	fb_gradients_free(&g);
	return can;
}

/* The error of the sum over ranks, divided by the sum's length as a vector. */
static double error(const struct fb_build *b, enum fb_datatype type)
{
	if (b->value[FB_DDP_COMPRESS] == FB_DDP_CAST)
		return fb_cast_error(type, b->nranks);
	return b->value[FB_DDP_COMPRESS] ? fb_topk_error(b->own->keep, b->nranks) : -1;
}

#define ALL ((1U << (FB_DDP_ZERO2 + 1)) - 1)
#define REDUCES (ALL & ~(1U << FB_DDP_COMPUTE))
#define COMPUTES (ALL & ~(1U << FB_DDP_COMMUNICATE))
#define AXIS(key_, kind_, field_, names_, schedules_, usual_)                                      \
	{                                                                                          \
		.key = (key_), .kind = (kind_),                                                    \
		.offset = offsetof(struct fb_overlap_settings, field_), .names = (names_),         \
		.schedules = (schedules_), .silent = (usual_) + 1                                  \
	}

const struct fb_schedule_program fb_schedule_ddp = {
	.name = "ddp",
	.summary = "a step of data-parallel training: backward and its all_reduces",
	.description =
	"Times a step of data-parallel training from the begin of backward until all gradients are "
	"reduced: backward computes one tensor after the other, the last layer's first, packs its "
	"gradient into a bucket, and a full bucket's all_reduce begins while backward goes on. "
	"exposed_us is the communication that backward does not hide.\n\n"
	"BYTES is the size of all gradients of a rank, as they are reduced. The default tensors "
	"are those of a layer of Llama 3 8B: --bytes 3489660928 --datatype bf16 are eight of them. "
	"Computing is real: two matrix products for each tensor.",
	.options = options, .defaults = defaults, .schedules = schedules, .parts = parts,
	.axes = {
		[FB_DDP_BUCKET] = AXIS("bucket", FB_AXIS_SIZES, bucket, NULL, REDUCES,
				       UINT64_MAX),
		[FB_DDP_FIRST] = AXIS("first_bucket", FB_AXIS_SIZES, first_bucket, NULL, REDUCES,
				      0),
		[FB_DDP_MICROBATCHES] = AXIS("microbatches", FB_AXIS_NUMBERS, microbatches, NULL,
					     ALL, 1),
		[FB_DDP_OPTIMIZER] = AXIS("optimizer", FB_AXIS_CHOICES, optimizer, optimizers,
					  COMPUTES, 0),
		[FB_DDP_COMPRESS] = AXIS("compress", FB_AXIS_CHOICES, compress, compressions,
					 REDUCES, 0),
		[FB_DDP_CHECKPOINT] = AXIS("checkpoint", FB_AXIS_CHOICES, checkpoint, no_yes,
					   COMPUTES, 0),
		[FB_DDP_FORWARD] = AXIS("forward", FB_AXIS_CHOICES, forward, no_yes, COMPUTES, 0),
		[FB_DDP_ORDER] = AXIS("order", FB_AXIS_CHOICES, order, orders,
				      REDUCES & COMPUTES, 0),
		[FB_DDP_PARTITION] = AXIS("partition", FB_AXIS_SIZES, partition, NULL, REDUCES, 0),
		[FB_DDP_BACKGROUND] = FB_BACKGROUND_AXIS(REDUCES & COMPUTES),
	},
	.bytes = bytes, .can = can, .build = fb_ddp_build, .error = error,
};
