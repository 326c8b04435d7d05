/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the collective programs' own options; see settings.h. */
#include "collectives/settings.h"

#include "common/library/nccl/force.h"
#include "common/memory/places.h"

const char *const fb_producers[] = {"none", "plain", "early", NULL};

#define PRODUCER                                                                                   \
	FB_OPTION_GROUP("Fresh input"),                                                            \
	FB_OPTION_CHOICE(struct fb_collective_settings, producer, 0, "producer", "none",           \
			 fb_producers,                                                             \
			 "each call has new input, written directly before the call, and its "	   \
			 "output is checked directly after it; both are in the row's time, on "	   \
			 "GPUs as kernels in the same graph. early: kernels may begin before the " \
			 "producer has written (programmatic dependent launch)")

/* A list of numbers of CTAs, of which 0 leaves it to NCCL. */
#define CTAS(field_, name_, help_)                                                                 \
	{                                                                                          \
		.type = FB_OPT_SIZES, .name = (name_), .placeholder = "LIST", .fallback = "0",     \
		.help = (help_), .offset = offsetof(struct fb_collective_settings, ctas.field_),   \
		.range.u64.high = 64                                                               \
	}

#define NCCL_CTAS                                                                                  \
	FB_OPTION_GROUP("NCCL's kernels"),                                                         \
	CTAS(min, "nccl-min-ctas", "fewest CTAs (thread blocks) of NCCL's kernels; 0: NCCL's"),    \
	CTAS(max, "nccl-max-ctas", "most of them; 0: NCCL's"),                                     \
	FB_OPTION_CHOICES(struct fb_collective_settings, ctas.policy, 0, "nccl-cta-policy",        \
			  "auto", fb_nccl_policies,                                                \
			  "NCCL's CTA policy (2.27); zero: copy engines (2.28)"),                  \
	FB_OPTION_CHOICES(struct fb_collective_settings, ctas.cluster, 0, "nccl-cluster",          \
			  "auto", fb_nccl_clusters, "CTAs of a cluster of NCCL's kernels"),        \
	FB_OPTION_CHOICES(struct fb_collective_settings, ctas.poll, 0, "nccl-poll", "usual",       \
			  fb_nccl_polls, "how often a waiting rank calls ncclCommGetAsyncError; "  \
			  "each: whenever it polls the stream")

#define COMMON                                                                                     \
	FB_OPTION_GROUP("Place"), FB_PLACES_OPTION(struct fb_collective_settings, numa), PRODUCER, \
	NCCL_CTAS

/* --skew, and the file that says it all instead. */
#define UNEQUAL(skew_help_, name_, help_)                                                          \
	FB_OPTION_DOUBLE(struct fb_collective_settings, traffic.skew, 0, "skew", "S", "0", 0.0,    \
			 16.0, skew_help_),                                                        \
	FB_OPTION_STRING(struct fb_collective_settings, traffic.file, 0, name_, "FILE", NULL,      \
			 NULL, help_)

const struct fb_option fb_collective_options[] = {
	COMMON,
	FB_OPTION_END,
};

const struct fb_option fb_traffic_options[] = {
	COMMON,
	FB_OPTION_GROUP("Traffic"),
	UNEQUAL("rank i sends rank i + k a share of 1 / (k + 1)^S; 0: equal shares", "matrix",
		"who sends how much to whom, instead of --skew: a line for each "
		"sender, in it a number for each receiver; only proportions matter"),
	FB_OPTION_END,
};

const struct fb_option fb_block_options[] = {
	COMMON,
	FB_OPTION_GROUP("Blocks"),
	UNEQUAL("the block of rank r has a share of 1 / (r + 1)^S; 0: equal blocks", "weights",
		"the sizes of blocks, instead of --skew: a line with a number for each rank, "
		"which may be 0; only proportions matter"),
	FB_OPTION_END,
};

/*
 * What 1 to 64 tokens of a decode step are: 8,192 elements each, as in Llama 3 70B. Inference
 * engines replay graphs, and the tail counts: p99 needs that many samples.
 */
static const struct fb_default inference[] = {
	{"bytes", "16K:1M:2"}, {"datatype", "bf16"}, {"launch", "blocking,graph"},
	{"min-samples", "1000"}, {NULL, NULL},
};

/* Sizes from PyTorch DDP's first bucket to an FSDP layer, with `auto` for overlapped steps. */
static const struct fb_default training[] = {
	{"bytes", "1M:256M:4"}, {"datatype", "bf16"}, {"objective", "overlapped"}, {NULL, NULL},
};

const struct fb_default *const fb_collective_presets[FB_PRESETS] = {
	[FB_PRESET_INFERENCE] = inference, [FB_PRESET_TRAINING] = training,
};
