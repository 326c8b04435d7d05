/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products on a processor; see host_compute.h. Compiled with -O3, which vectorises. */
#include "overlap/host_compute.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Small numbers of both signs, so that sums stay normal numbers. */
static float *matrix(uint64_t rows, uint64_t columns)
{
	size_t n = (size_t)(rows * columns);
	float *m = malloc((n ? n : 1) * sizeof(*m));
	uint32_t state = 1;

	for (size_t i = 0; m && i < n; i++) {
		state = state * 1664525 + 1013904223;
		m[i] = (float)(int32_t)state * 0x1p-31F;
	}
	return m;
}

int fb_host_compute_open(struct fb_host_compute *compute, uint64_t tokens, uint64_t hidden,
			 uint64_t most_rows)
{
	*compute = (struct fb_host_compute){
		.tokens = tokens, .hidden = hidden, .most_rows = most_rows,
		.inputs = matrix(tokens, hidden), .errors = matrix(tokens, hidden),
		.outputs = matrix(tokens, most_rows), .weights = matrix(most_rows, hidden),
		.gradient = matrix(1, hidden),
	};
	return compute->inputs && compute->errors && compute->outputs && compute->weights &&
	       compute->gradient ? FB_OK : FB_ENOMEM;
}

void fb_host_compute_close(struct fb_host_compute *compute)
{
	free(compute->inputs);
	free(compute->errors);
	free(compute->outputs);
	free(compute->weights);
	free(compute->gradient);
	*compute = (struct fb_host_compute){.tokens = 0};
}

/* What a token adds to both products by one row of weights. */
static void add(float *restrict error, float *restrict gradient, const float *restrict weights,
		const float *restrict input, float output, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		error[j] += output * weights[j];
		gradient[j] += output * input[j];
	}
}

void fb_host_compute_rows(struct fb_host_compute *c, uint64_t first, uint64_t rows)
{
	size_t n = (size_t)c->hidden;

	for (uint64_t row = first; row < first + rows; row++) {
		/* A tensor begins with sums of 0, and so does every row's gradient. */
		if (row == 0)
			memset(c->errors, 0, (size_t)c->tokens * n * sizeof(*c->errors));
		memset(c->gradient, 0, n * sizeof(*c->gradient));
		for (uint64_t t = 0; t < c->tokens; t++)
			add(c->errors + t * n, c->gradient, c->weights + row * n,
			    c->inputs + t * n, c->outputs[t * c->most_rows + row], n);
	}
}
