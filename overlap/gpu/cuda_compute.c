/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What backward computes on a GPU: for each tensor the two matrix products of a linear layer,
 * of bf16 with sums of f32.
 *
 *	gradient of the inputs    [hidden][tokens] = weights [hidden][rows] * outputs [rows][tokens]
 *	gradient of the weights   [hidden][rows]   = inputs [hidden][tokens] * outputs transposed
 *
 * All stored by columns. Results are not used: what becomes gradients is put there beforehand.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "common/library/cublas.h"
#include "overlap/gpu/step.h"

enum matrix { INPUTS, ERRORS, OUTPUTS, WEIGHTS, GRADIENT, MATRICES };

enum {
	WORKSPACE_BYTES = 32 << 20, /* what cuBLAS recommends from Hopper on */
	UNIT = 8,                   /* elements: sizes are multiples of it */
	CHECK_TOKENS = 64, CHECK_HIDDEN = 264, CHECK_ROWS = 136,
};

struct fb_gpu_compute {
	struct fb_blas blas; /* if .handle */
	cudaStream_t stream;
	uint64_t tokens, hidden, most_rows; /* multiples of UNIT */
	uint64_t count[MATRICES];           /* elements that there is room for */
	uint16_t *matrix[MATRICES];
};

static uint64_t up(uint64_t n)
{
	return (n + UNIT - 1) / UNIT * UNIT;
}

/* Of bf16. */
static float number(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

/* What element (i, j) of a product should be, and whether it is near that. */
static bool is_near(const struct fb_gemm *g, uint32_t i, uint32_t j)
{
	double sum = 0, got = (double)number(g->to[(size_t)j * g->m + i]);

	for (uint32_t k = 0; k < g->k; k++)
		sum += (double)number(g->a[(size_t)k * g->m + i]) *
		       (double)number(g->b[g->transposed ? (size_t)k * g->n + j
							  : (size_t)j * g->k + k]);
	return fabs(got - sum) <= 0.02 * fmax(1, fabs(sum));
}

/* The same product with its matrices on the host. */
static int check_product(const struct fb_gemm *g)
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
			bad += !is_near(&h, i, j);
	free(host);
	return err || !bad ? err
			   : fb_error(FB_EDATA, "%zu of %zu elements of a matrix product are wrong",
				      bad, nto);
}

/* The products of a tensor: gradients of the inputs, and of the weights. */
static struct fb_gemm product(const struct fb_gpu_compute *c, uint64_t rows, bool of_weights)
{
	uint32_t hidden = (uint32_t)c->hidden, tokens = (uint32_t)c->tokens;
	uint32_t n = (uint32_t)up(rows);

	if (of_weights)
		return (struct fb_gemm){hidden, n, tokens, true, c->matrix[INPUTS],
					c->matrix[OUTPUTS], c->matrix[GRADIENT]};
	return (struct fb_gemm){hidden, tokens, n, false, c->matrix[WEIGHTS], c->matrix[OUTPUTS],
				c->matrix[ERRORS]};
}

/* All elements of small products, of sizes that are no multiples of a kernel's tiles. */
static int check_products(struct fb_gpu_compute *c)
{
	int err = fb_gpu_compute_resize(c, CHECK_TOKENS, CHECK_HIDDEN, CHECK_ROWS);

	if (!err)
		err = fb_gpu_compute_enqueue(c, CHECK_ROWS, NULL);
	if (!err)
		err = fb_gpu_compute_finish(c);
	for (int which = 0; which < 2 && !err; which++) {
		const struct fb_gemm g = product(c, CHECK_ROWS, which);

		err = check_product(&g);
	}
	return err;
}

static int open_library(struct fb_gpu_compute *c, const char *library)
{
	char reason[256];
	int err;

	if (!strcmp(library, "none"))
		return FB_OK;
	err = fb_blas_open(&c->blas, library, reason, sizeof(reason));
	if (err && !strcmp(library, "auto"))
		return FB_OK;
	if (err)
		return fb_error(err, "--cublas-library %s: %s", library, reason);
	c->blas.workspace_bytes = WORKSPACE_BYTES;
	return FB_CUDA(cudaMalloc(&c->blas.workspace, WORKSPACE_BYTES));
}

/* Leaves multiprocessors to others, from the begin. */
static int limit(struct fb_gpu_compute *c, int sms)
{
	if (!c->blas.handle || !c->blas.SetSmCountTarget)
		return fb_error(FB_EUNSUPPORTED, "--compute-sms %d: needs cuBLAS 11.5 or later",
				sms);
	if (c->blas.SetSmCountTarget(c->blas.handle, sms))
		return fb_error(FB_EUNSUPPORTED, "--compute-sms %d: cuBLAS refuses it", sms);
	return FB_OK;
}

int fb_gpu_compute_open(struct fb_gpu_compute **compute, const struct fb_gpu *gpu,
			const char *library, int sms)
{
	struct fb_gpu_compute *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return fb_error(FB_ENOMEM, "out of memory");
	err = FB_CUDA(cudaSetDevice(gpu->device));
	if (!err)
		err = FB_CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
	if (!err)
		err = open_library(c, library);
	if (!err && sms)
		err = limit(c, sms);
	if (!err)
		err = check_products(c);
	if (err) {
		fb_gpu_compute_close(c);
		return err;
	}
	*compute = c;
	return FB_OK;
}

void fb_gpu_compute_close(struct fb_gpu_compute *c)
{
	if (!c)
		return;
	(void)cudaFree(c->blas.workspace);
	fb_blas_close(&c->blas);
	for (int i = 0; i < MATRICES; i++)
		(void)cudaFree(c->matrix[i]);
	if (c->stream)
		(void)cudaStreamDestroy(c->stream);
	(void)cudaGetLastError();
	free(c);
}

/* Room for so many elements, which are numbers at random then. */
static int resize(struct fb_gpu_compute *c, enum matrix which, uint64_t count)
{
	int err;

	if (count <= c->count[which])
		return FB_OK;
	(void)cudaFree(c->matrix[which]);
	c->matrix[which] = NULL;
	c->count[which] = 0;
	err = FB_CUDA(cudaMalloc((void **)&c->matrix[which],
				 (size_t)count * sizeof(*c->matrix[which])));
	if (!err)
		err = FB_CUDA((cudaError_t)fb_gemm_fill(c->matrix[which], count,
							(uint32_t)which + 1, c->stream));
	if (!err)
		c->count[which] = count;
	return err;
}

int fb_gpu_compute_resize(struct fb_gpu_compute *c, uint64_t tokens, uint64_t hidden,
			  uint64_t most_rows)
{
	int err;

	c->tokens = up(tokens);
	c->hidden = up(hidden);
	c->most_rows = up(most_rows);
	err = resize(c, INPUTS, c->tokens * c->hidden);
	if (!err)
		err = resize(c, ERRORS, c->tokens * c->hidden);
	if (!err)
		err = resize(c, OUTPUTS, c->tokens * c->most_rows);
	if (!err)
		err = resize(c, WEIGHTS, c->most_rows * c->hidden);
	if (!err)
		err = resize(c, GRADIENT, c->most_rows * c->hidden);
	return err ? err : fb_gpu_compute_finish(c);
}

int fb_gpu_compute_enqueue(struct fb_gpu_compute *c, uint64_t rows, void *stream)
{
	int err = FB_OK;

	for (int which = 0; which < 2 && !err; which++) {
		const struct fb_gemm g = product(c, rows, which);

		if (c->blas.handle)
			err = fb_blas_gemm(&c->blas, &g, stream ? stream : c->stream);
		else
			err = FB_CUDA((cudaError_t)fb_gemm_launch(&g, stream ? stream
									     : c->stream));
	}
	return err;
}

int fb_gpu_compute_finish(struct fb_gpu_compute *c)
{
	return FB_CUDA(cudaStreamSynchronize(c->stream));
}

void fb_gpu_compute_describe(const struct fb_gpu_compute *c, char *text, size_t n)
{
	int v = c->blas.version;

	if (c->blas.handle)
		snprintf(text, n, "cuBLAS %d.%d.%d bf16", v / 10000, v / 100 % 100, v % 100);
	else
		snprintf(text, n, "own kernel bf16");
}
