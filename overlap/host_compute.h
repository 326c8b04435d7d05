/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backward of a linear layer on a processor: what a training step computes while gradients are
 * under way. A tensor is a matrix of weights of so many rows, `hidden` wide; for `tokens` tokens
 * backward multiplies their gradients by it, and by their inputs for the weights' gradient:
 * together 4 * tokens * rows * hidden floating-point operations, in f32. Results are not used.
 */
#ifndef FB_OVERLAP_HOST_COMPUTE_H
#define FB_OVERLAP_HOST_COMPUTE_H

#include <stdint.h>

struct fb_host_compute {
	uint64_t tokens, hidden, most_rows;
	float *inputs, *errors; /* [tokens][hidden] */
	float *outputs;         /* [tokens][most_rows]: gradients of the layer's outputs */
	float *weights;         /* [most_rows][hidden] */
	float *gradient;        /* [hidden]: of the row under way */
};

/* Local. 0 or FB_ENOMEM (not printed). Close also after an error. */
int fb_host_compute_open(struct fb_host_compute *compute, uint64_t tokens, uint64_t hidden,
			 uint64_t most_rows);
void fb_host_compute_close(struct fb_host_compute *compute);

/* The rows [first, first + rows) of a tensor's matrix. */
void fb_host_compute_rows(struct fb_host_compute *compute, uint64_t first, uint64_t rows);

#endif
