/* SPDX-License-Identifier: BSD-3-Clause */
/* See fp8.h. */
#include "overlap/gpu/fp8.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/float8.h"
#include "common/base/rng.h"
#include "common/cuda/cuda_error.h"

enum { PATTERN = 1000003 }; /* bytes, a prime number: rows of a matrix are not alike */

int fb_fp8_fill(void *to, uint64_t bytes, uint32_t seed)
{
	uint8_t *pattern = malloc(PATTERN);
	struct fb_rng rng;
	int err = pattern ? FB_OK : FB_ENOMEM;

	fb_rng_seed(&rng, seed);
	for (size_t i = 0; pattern && i < PATTERN; i++)
		pattern[i] = fb_narrow_e4m3((float)(2 * fb_rng_unit(&rng) - 1));
	for (uint64_t at = 0; at < bytes && !err; at += PATTERN) {
		uint64_t n = bytes - at < PATTERN ? bytes - at : PATTERN;

		err = FB_CUDA(cudaMemcpy((char *)to + at, pattern, (size_t)n,
					 cudaMemcpyHostToDevice));
	}
	free(pattern);
	return err;
}

/* Element (i, j): near what the host finds, within the precision of the bf16 that it is in. */
static bool is_close(const struct fb_gemm_fp8 *g, uint32_t i, uint32_t j)
{
	double sum = 0, got = (double)fb_widen_bf16(g->to[(size_t)j * g->m + i]);

	for (uint32_t k = 0; k < g->k; k++)
		sum += (double)fb_widen_e4m3(g->a[(size_t)i * g->k + k]) *
		       (double)fb_widen_e4m3(g->b[(size_t)j * g->k + k]);
	return fabs(got - sum) <= 0.02 * fmax(1, fabs(sum));
}

int fb_fp8_check(const struct fb_gemm_fp8 *g)
{
	size_t na = (size_t)g->m * g->k, nb = (size_t)g->n * g->k, nto = (size_t)g->m * g->n;
	uint8_t *a = malloc(na + nb);
	uint16_t *to = malloc(nto * sizeof(*to));
	const struct fb_gemm_fp8 host = {g->m, g->n, g->k, a, a ? a + na : NULL, to};
	size_t bad = 0;
	int err = a && to ? FB_OK : FB_ENOMEM;

	if (!err)
		err = FB_CUDA(cudaMemcpy(a, g->a, na, cudaMemcpyDeviceToHost));
	if (!err)
		err = FB_CUDA(cudaMemcpy(a + na, g->b, nb, cudaMemcpyDeviceToHost));
	if (!err)
		err = FB_CUDA(cudaMemcpy(to, g->to, nto * sizeof(*to), cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < g->m && !err; i++)
		for (uint32_t j = 0; j < g->n; j++)
			bad += !is_close(&host, i, j);
	free(a);
	free(to);
	return err || !bad ? err
			   : fb_error(FB_EDATA, "%zu of %zu elements of a product of 8-bit floats "
				      "are wrong", bad, nto);
}
