/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of the options that programs of steps have beside the common ones. */
#ifndef FB_OVERLAP_SETTINGS_H
#define FB_OVERLAP_SETTINGS_H

#include <stdint.h>

#include "common/option/option.h"

struct fb_overlap_settings {
	/* All of them. */
	uint64_t schedules; /* bit i for the program's schedule i */
	uint64_t layers, hidden, tokens, polls;
	struct fb_sizes compute_sms; /* 0: all */
	double compute_s;   /* how long a step computes; 0: as --tokens says */
	int priority;       /* of lanes that communicate: 0 high, 1 normal */
	const char *cublas, *blas, *trace;
	int compute_type; /* enum fb_compute_type */
	struct fb_sizes background;    /* bytes of other traffic beside the step; 0: none */
	const char *background_engine; /* NULL: the row's */
	const char *background_force;  /* NULL: as the row, or as the engine likes */
	int background_operation;      /* enum fb_background_operation */
	/* --model, and how much of it a rank has; see overlap/model/model.h */
	const char *model;
	uint64_t model_layers, shrink, batch, sequence, tp, pp, ep, cp;
	/* ddp */
	struct fb_sizes bucket; /* bytes; 0: one bucket for all */
	const char *tensors;
	struct fb_sizes first_bucket, partition;
	uint64_t optimizer, compress, checkpoint, forward, order;
	double keep;
	bool find_bucket;
	/* fsdp */
	struct fb_sizes prefetch, shard;
	uint64_t reshard;
	/* tensor_parallel */
	struct fb_sizes chunks, degree;
	uint64_t ffn;
	double token_budget_s;
	/* pipeline, ddp */
	struct fb_sizes microbatches;
	/* pipeline */
	struct fb_sizes tensor_ranks;
	uint64_t placement;
	/* hazards */
	double delay_s;
	uint64_t storage, input, late_ranks;
	const char *storage_folder; /* NULL: the system's temporary one */
	/* contention */
	struct fb_sizes streams;
	uint64_t repeats, collective, cta_policy;
	/* moe */
	struct fb_sizes experts_skew;
	uint64_t experts, topk, dispatch;
};

#endif
