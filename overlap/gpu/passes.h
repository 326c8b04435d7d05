/* SPDX-License-Identifier: BSD-3-Clause */
/* The launches of passes.cu. All return the cudaError_t of launching. */
#ifndef FB_OVERLAP_GPU_PASSES_H
#define FB_OVERLAP_GPU_PASSES_H

#include <stdint.h>

#include "common/base/datatype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* to[i] = 1.5 * from[i] in f32; both are aligned to 16 bytes, `count` is a multiple of 4. */
int fb_pass_scale(float *to, const float *from, uint64_t count, void *stream);

/*
 * Adam's update in f32. `state` holds the parameters, the first moments, the second moments and the
 * gradients, `count` elements each.
 */
int fb_pass_adam(float *state, uint64_t count, void *stream);

/* to[i] += from[i]; floats of 8 and 16 bits are added in f32, and integers wrap. */
int fb_pass_add(void *to, const void *from, uint64_t count, enum fb_datatype type, void *stream);

/* f32 to bf16 (`bytes` 2), e4m3 (1) or f32 (4). */
int fb_pass_cast(void *to, const float *from, uint64_t count, uint64_t bytes, void *stream);

/*
 * Those of the largest size, above `least`, with their places, in any order: at most `most`, and
 * how many there are in *found.
 */
struct fb_pass_select {
	const float *from;
	float *values;
	uint32_t *places, *found;
	uint64_t count, most;
	float least;
};
int fb_pass_select(const struct fb_pass_select *select, void *stream);

/* `count` multiply-adds in registers of all blocks that fit; nothing but one element is written. */
int fb_pass_spin(float *to, uint64_t count, void *stream);

/* Attention's pass over scores of bf16: a share of 1 for each, by three terms of exp. */
int fb_pass_soften(uint16_t *scores, uint64_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif
