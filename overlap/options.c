/* SPDX-License-Identifier: BSD-3-Clause */
/* The options and columns that ddp has beside the common ones, and what its help says. */
#include <stdio.h>

#include "common/base/error.h"
#include "overlap/program.h"

const char *const fb_ddp_priorities[] = {"high", "normal", NULL};

static int check_tensors(const char *value, char *accepted, size_t n)
{
	struct fb_model model = {.layers = 1};

	snprintf(accepted, n, "at most %d numbers from 1 to %d as 4,1,1,4", FB_MOST_TENSORS,
		 FB_MOST_RATIO);
	return fb_model_parse(&model, value);
}

#define U64(field, name, fallback, low, high, help)                                                \
	FB_OPTION_U64(struct fb_ddp_settings, field, 0, name, "N", fallback, low, high, help)

const struct fb_option fb_ddp_options[] = {
	FB_OPTION_GROUP("Training step"),
	FB_OPTION_SIZES(struct fb_ddp_settings, bucket, 0, "bucket", "1M,4M,25M,64M,0",
			"bytes of gradients after which a bucket is full; 0: one bucket for all"),
	FB_OPTION_CHOICES(struct fb_ddp_settings, schedules, 0, "schedule", "sequential,overlap",
			  fb_schedules, "what a step does: compute or communicate alone, one "
			  "behind the other, or each bucket's all_reduce while backward goes on"),
	U64(layers, "layers", "8", 1, FB_MOST_LAYERS, "equal layers of the model"),
	FB_OPTION_STRING(struct fb_ddp_settings, tensors, 0, "tensors", "LIST", FB_DDP_RATIOS,
			 check_tensors, "sizes of a layer's tensors, relative, in the order of "
			 "forward"),
	U64(hidden, "hidden", "4096", 8, 1 << 20, "columns of every tensor's matrix"),
	FB_OPTION_TIME(struct fb_ddp_settings, compute_s, 0, "compute", "20ms", 1e-6, 60,
		       "what backward takes alone, by choosing how many tokens there are"),
	U64(tokens, "tokens", "0", 0, 1 << 20, "tokens of each rank; 0: as --compute says"),
	U64(polls, "polls", "1", 1, 10000,
	    "processors: times in a tensor's computing that all_reduces are moved on"),
	U64(compute_sms, "compute-sms", "0", 0, 1024,
	    "GPUs: multiprocessors that cuBLAS is to use; 0: all"),
	FB_OPTION_CHOICE(struct fb_ddp_settings, priority, 0, "priority", "high",
			 fb_ddp_priorities, "GPUs: of the stream that communicates"),
	FB_OPTION_STRING(struct fb_ddp_settings, cublas, 0, "cublas-library", "FILE", "auto", NULL,
			 "GPUs: the cuBLAS to compute with; auto: where the linker finds one; "
			 "none: own kernel"),
	FB_OPTION_END,
};

const struct fb_default fb_ddp_defaults[] = {
	{"bytes", "64M"},    {"algorithm", "auto"},	{"protocol", "auto"},
	{"launch", "nonblocking"}, {"min-samples", "10"}, {"max-samples", "200"},
	{"max-time", "2s"}, {NULL, NULL},
};

#define COLUMN(name_, type_, unit_, help_)                                                         \
	{                                                                                          \
		.name = (name_), .kind = FB_COLUMN_VALUE, .type = (type_), .unit = (unit_),        \
		.help = (help_)                                                                    \
	}

const struct fb_column fb_ddp_columns[] = {
	COLUMN("compute_us", FB_COLUMN_TIME_US, "us", "backward alone, between the row's steps"),
	COLUMN("communication_us", FB_COLUMN_TIME_US, "us", "the all_reduces alone, likewise"),
	COLUMN("exposed_us", FB_COLUMN_F64, "us", "median_us less compute_us"),
	COLUMN("hidden_share", FB_COLUMN_F64, "",
	       "share of communication_us that is not exposed; negative: overlapping costs time"),
	COLUMN("buckets", FB_COLUMN_U64, "", "all_reduces of a step"),
	COLUMN("tokens", FB_COLUMN_U64, "", "tokens that backward computes for"),
	COLUMN("compute_TFLOPS", FB_COLUMN_F64, "TFLOP/s", "of backward alone, on a rank"),
};

_Static_assert(sizeof(fb_ddp_columns) / sizeof(fb_ddp_columns[0]) ==
	       FB_DDP_COLUMNS - FB_COLLECTIVE_COLUMNS && (int)FB_DDP_COLUMNS <=
	       (int)FB_EXTRA_COLUMNS, "every column is there, and a row has room for them");

const char fb_ddp_description[] =
	"Times a step of data-parallel training from the begin of backward until all gradients are "
	"reduced: backward computes one tensor after the other, the last layer's first, packs its "
	"gradient into a bucket, and a full bucket's all_reduce begins while backward goes on. "
	"What of the communication backward does not hide is exposed_us.\n\n"
	"BYTES is the size of all gradients of a rank. The default tensors are those of a layer of "
	"Llama 3 8B: --bytes 3489660928 --datatype bf16 are eight of them. Computing is real: on "
	"GPUs two matrix products of bf16 for each tensor, by cuBLAS or an own kernel, on a stream "
	"of its own; on processors the same in f32, between whose parts the all_reduces are moved "
	"on.";
