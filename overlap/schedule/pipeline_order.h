/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which order the stages of a pipeline compute micro-batches, and how long they are idle by
 * theory. A rank has `chunks` parts of the model; part c of rank r is virtual stage c * ranks + r.
 */
#ifndef FB_OVERLAP_SCHEDULE_PIPELINE_ORDER_H
#define FB_OVERLAP_SCHEDULE_PIPELINE_ORDER_H

#include <stddef.h>
#include <stdint.h>

enum fb_pipeline_schedule {
	FB_PIPELINE_GPIPE,       /* Huang et al., 2019: all forward, then all backward */
	FB_PIPELINE_1F1B,        /* Narayanan et al., 2019 (PipeDream) */
	FB_PIPELINE_INTERLEAVED, /* Narayanan et al., 2021 (Megatron-LM): several parts a rank */
	FB_PIPELINE_ZERO_BUBBLE, /* Qi et al., 2024: the weights' gradients fill gaps */
	FB_PIPELINE_SCHEDULES,
};

enum fb_pass { FB_FORWARD, FB_BACKWARD, FB_WEIGHTS, FB_PASSES };

struct fb_pipeline_shape {
	enum fb_pipeline_schedule schedule;
	int ranks, batches, chunks;
	const double *weight; /* [ranks * chunks]: a stage's time over others'; NULL: all equal */
};

struct fb_pass_of {
	enum fb_pass pass;
	int batch, chunk;
};

struct fb_pipeline {
	struct fb_pipeline_shape shape;
	struct fb_pass_of *passes; /* [ranks][per_rank] */
	int per_rank;
	/* Idle share of the rank with most to do; passes take 1, backward with weights 2. */
	double bubble;
};

/*
 * 0, FB_ENOMEM, or FB_EPLAN if passes wait for each other (a fault of this code). Prints nothing.
 */
int fb_pipeline_open(struct fb_pipeline *pipeline, const struct fb_pipeline_shape *shape);
void fb_pipeline_close(struct fb_pipeline *pipeline);

struct fb_build;
struct fb_nn;

/*
 * --- pipeline_model.c: stages of a model have equal numbers of layers -------------------------
 *
 * The number of all layers; how many layers of a kind a stage has; and the floating-point
 * operations of each stage, divided by their mean, from which theory estimates how long its passes
 * take. weight: [stages], zero before.
 */
uint64_t fb_pipeline_layers(const struct fb_nn *nn);
uint64_t fb_pipeline_layers_of(const struct fb_nn *nn, size_t kind, int stage, int stages);
void fb_pipeline_weigh(const struct fb_build *build, int stages, double *weight);

#endif
