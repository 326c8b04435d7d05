/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a product on a GPU; see gemm.h. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/float16.h"
#include "common/cuda/cuda_error.h"
#include "overlap/gpu/gemm.h"

/* Whether element (i, j) of a product is close to the right value. */
static bool is_close(const struct fb_gemm *g, uint32_t i, uint32_t j)
{
	double sum = 0, got = (double)fb_widen_bf16(g->to[(size_t)j * g->m + i]);

	for (uint32_t k = 0; k < g->k; k++)
		sum += (double)fb_widen_bf16(g->a[(size_t)k * g->m + i]) *
		       (double)fb_widen_bf16(g->b[g->transposed ? (size_t)k * g->n + j
							  : (size_t)j * g->k + k]);
	return fabs(got - sum) <= 0.02 * fmax(1, fabs(sum));
}

int fb_gemm_check(const struct fb_gemm *g)
{
	size_t na = (size_t)g->m * g->k, nb = (size_t)g->k * g->n, nto = (size_t)g->m * g->n;
	uint16_t *host = malloc((na + nb + nto) * sizeof(*host));
	struct fb_gemm h = *g;
	size_t bad = 0;
	int err;

	if (!host)
		return FB_ENOMEM;
	h.a = host;
	h.b = host + na;
	h.to = host + na + nb;
	err = FB_CUDA(cudaMemcpy(host, g->a, na * sizeof(*host), cudaMemcpyDeviceToHost));
	if (!err)
		err = FB_CUDA(cudaMemcpy(host + na, g->b, nb * sizeof(*host),
					 cudaMemcpyDeviceToHost));
	if (!err)
		err = FB_CUDA(cudaMemcpy(host + na + nb, g->to, nto * sizeof(*host),
					 cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < g->m && !err; i++)
		for (uint32_t j = 0; j < g->n; j++)
			bad += !is_close(&h, i, j);
	free(host);
	return err || !bad ? err
			   : fb_error(FB_EDATA, "%zu of %zu elements of a matrix product are wrong",
				      bad, nto);
}
