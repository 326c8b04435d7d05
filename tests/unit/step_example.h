/* SPDX-License-Identifier: BSD-3-Clause */
/* Small steps of every schedule, for tests of what is done with steps. */
#ifndef FB_TESTS_UNIT_STEP_EXAMPLE_H
#define FB_TESTS_UNIT_STEP_EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlap/schedule/schedule.h"

/* Options of all programs, such that steps are small and have several of everything. */
static const struct fb_overlap_settings step_settings = {
	.layers = 3, .hidden = 16, .tokens = 8, .tensors = "1,3", .bucket = {1, {1}, NULL},
	.prefetch = {1, {9}, NULL}, .ffn = 32, .topk = 3, .blas = "none", .cublas = "none",
	.token_budget_s = 0.033, .keep = 0.1,
	.repeats = 3, .delay_s = 1e-5, .storage = 4096, .input = 64,
};

enum { STEP_SHAPES = 7, STEP_ELEMENTS = 700 };

/* A model with something of everything, read once; the last shape has it. */
static inline const struct fb_nn *step_model(void)
{
	static const char text[] =
		"model m\nsequence 4\nhidden 16\nffn 32\nheads 2 4 4\nkv 8\nexperts 4 2\n"
		"layer in 1\ntable t 8 16\nlayer block 4\nvector n 16\ntensor qkv 24 16\n"
		"attention\ntensor o 16 8\ntensor router 4 16\nexpert up 32 16\n"
		"expert down 16 32\nlayer out 3\nvector n 16\ntensor h 8 16\nshared s 8 16\n";
	static struct fb_nn model;
	char why[FB_NN_WHY];

	if (!model.ntensors && fb_nn_read(&model, text, "text", "", why))
		printf("%s\n", why);
	return &model;
}

/* Shape `i` of a schedule: other values of its axes, and of the sizes of groups. */
static inline struct fb_build step_build(const struct fb_schedule_program *program, int schedule,
					 int i, int nranks, struct fb_overlap_settings *own)
{
	static const uint64_t buckets[STEP_SHAPES] = {1, 900, 1500, 0, 600, 1000, 20000};
	struct fb_build b = {.own = own, .schedule = schedule, .elements = STEP_ELEMENTS,
			     .element_bytes = 4, .tokens = step_settings.tokens, .nranks = nranks,
			     .device = true};

	char reason[FB_SCHEDULE_REASON];

	*own = step_settings;
	own->background_operation = i % 2;
	for (int a = 0; a < FB_SCHEDULE_AXES && program->axes[a].key; a++) {
		size_t n = 0;

		switch (program->axes[a].kind) {
		case FB_AXIS_SIZES:
			b.value[a] = buckets[i];
			if (!(program->axes[a].schedules >> schedule & 1))
				b.value[a] = 0;
			break;
		case FB_AXIS_NUMBERS:
			/* With one layer ahead of three, a layer would lie where it lay before. */
			b.value[a] = UINT64_C(1) << i % 3;
			if (program == &fb_schedule_fsdp)
				b.value[a] = (uint64_t)i / 2 * 2;
			if (!strcmp(program->axes[a].key, "degree") ||
			    !strcmp(program->axes[a].key, "shard"))
				b.value[a] = nranks % 2 == 0 && i % 2 ? 2 : 0;
			if (!strcmp(program->axes[a].key, "tensor_ranks"))
				b.value[a] = nranks % 2 == 0 && nranks > 2 && i % 2 ? 2 : 1;
			break;
		case FB_AXIS_CHOICES:
			/* Later shapes have other combinations, which differ from axis to axis. */
			while (program->axes[a].names[n])
				n++;
			b.value[a] = i < 3 ? 0 : (uint64_t)(i + a) % n;
			if (!(program->axes[a].schedules >> schedule & 1))
				b.value[a] = 0;
			/* There is only one placement where a rank has one stage. */
			if (!strcmp(program->axes[a].key, "placement") && b.value[a - 1] == 1)
				b.value[a] = 0;
			own->prefetch.value[0] = b.value[0];
			break;
		}
	}
	if (i == STEP_SHAPES - 1)
		b.nn = step_model();
	/* Processors have schedules that GPUs do not have. */
	if (program->can)
		b.device = program->can(&b, reason);
	if (program->bytes && program->bytes(&b))
		b.elements = program->bytes(&b) / b.element_bytes;
	return b;
}

/* The graphs of all ranks: [nranks], linked. NULL without memory, or without such a step. */
static inline struct fb_dag *step_make(const struct fb_schedule_program *program,
				       struct fb_build *build)
{
	struct fb_dag *dags = calloc((size_t)build->nranks, sizeof(*dags));
	char reason[FB_SCHEDULE_REASON];

	if (dags && program->can && !program->can(build, reason)) {
		free(dags);
		return NULL;
	}
	for (int r = 0; dags && r < build->nranks; r++) {
		build->rank = r;
		fb_dag_open(&dags[r], r, build->nranks);
		program->build(&dags[r], build);
		fb_dag_link(&dags[r]);
	}
	return dags;
}

static inline void step_free(struct fb_dag *dags, int nranks)
{
	for (int r = 0; dags && r < nranks; r++)
		fb_dag_close(&dags[r]);
	free(dags);
}

#endif
