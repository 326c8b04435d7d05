/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing on a processor; see host_compute.h. Compiled with -O3, which vectorises. */
#include "overlap/compute/host_compute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/float8.h"
#include "common/base/error.h"

/* A block of b this large stays in a core's cache while all rows of c pass over it. */
enum { BLOCK_K = 32, BLOCK_N = 1024, CHECK = 40 };

/* Small numbers of both signs, so that sums stay normal numbers. */
static void fill(float *m, size_t n)
{
	uint32_t state = 1;

	for (size_t i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		m[i] = (float)(int32_t)state * 0x1p-31F;
	}
}

static void add(float *restrict c, const float *restrict b, float a, size_t n)
{
	for (size_t j = 0; j < n; j++)
		c[j] += a * b[j];
}

/* Rows [first, first + rows) of c[m][n] = a times b[k][n], as fb_openblas_gemm, by the loop. */
static void plain_gemm(bool transposed, size_t first, size_t rows, size_t n, size_t k,
		       const float *a, size_t lda, const float *b, float *c)
{
	memset(c + first * n, 0, rows * n * sizeof(*c));
	for (size_t j = 0; j < n; j += BLOCK_N)
		for (size_t l = 0; l < k; l += BLOCK_K)
			for (size_t i = first; i < first + rows; i++)
				for (size_t x = l; x < k && x < l + BLOCK_K; x++)
					add(c + i * n + j, b + x * n + j,
					    transposed ? a[x * lda + i] : a[i * lda + x],
					    n - j < BLOCK_N ? n - j : BLOCK_N);
}

static void product(const struct fb_host_compute *h, bool transposed, size_t first, size_t rows,
		    size_t n, size_t k, const float *a, size_t lda, const float *b, float *c)
{
	if (!rows)
		return;
	if (h->blas)
		fb_openblas_gemm(h->blas, transposed, (int)rows, (int)n, (int)k,
				  transposed ? a + first : a + first * lda, (int)lda, b,
				  c + first * n);
	else
		plain_gemm(transposed, first, rows, n, k, a, lda, b, c);
}

/* Attention's pass over the scores of a query: shares that add up to about 1. */
static void soften(float *scores, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++) {
		float x = scores[i] * 0x1p-6F;

		scores[i] = 1 + x + x * x / 2;
		sum += scores[i];
	}
	for (size_t i = 0; i < n; i++)
		scores[i] /= sum;
}

/* Parameters in A, both moments in B, gradients in C. */
static void adam(struct fb_host_compute *h, size_t first, size_t count, size_t all)
{
	float *restrict p = h->matrix[FB_HOST_A], *restrict m = h->matrix[FB_HOST_B];
	float *restrict v = h->matrix[FB_HOST_B] + all;
	const float *restrict g = h->matrix[FB_HOST_C];

	for (size_t i = first; i < first + count; i++) {
		m[i] = 0.9F * m[i] + 0.1F * g[i];
		v[i] = 0.999F * v[i] + 0.001F * g[i] * g[i];
		p[i] -= 0.001F * m[i] / (sqrtf(fabsf(v[i])) + 1e-8F);
	}
}

static void pass(struct fb_host_compute *h, size_t first, size_t count)
{
	float *restrict to = h->matrix[FB_HOST_B];
	const float *restrict from = h->matrix[FB_HOST_A];

	for (size_t i = first; i < first + count; i++)
		to[i] = 1.5F * from[i];
}

/* Four chains of multiply-adds in registers. */
static void spin(struct fb_host_compute *h, size_t count)
{
	float x[4] = {1, 2, 3, 4};

	for (size_t i = 0; i < count; i += 4)
		for (int k = 0; k < 4; k++)
			x[k] = 0.5F * x[k] + 1;
	if (h->matrix[FB_HOST_C]) /* so that the compiler keeps the loop */
		h->matrix[FB_HOST_C][0] = x[0] + x[1] + x[2] + x[3];
}

/* Into floats of so many bytes: the first half of C's elements has room for them. */
static void cast(struct fb_host_compute *h, size_t first, size_t count, uint64_t bytes)
{
	const float *from = h->matrix[FB_HOST_A];
	float *to = h->matrix[FB_HOST_C];

	for (size_t i = first; i < first + count; i++) {
		uint16_t half = bytes == 2 ? fb_narrow_bf16(from[i]) : 0;
		uint8_t byte = bytes == 1 ? fb_narrow_e4m3(from[i]) : 0;

		if (bytes == 2)
			memcpy((char *)to + 2 * i, &half, sizeof(half));
		else if (bytes == 1)
			memcpy((char *)to + i, &byte, sizeof(byte));
		else
			to[i] = from[i];
	}
}

/* Keeps those of the largest size, about one of a hundred, with their places. */
static void choose(struct fb_host_compute *h, size_t first, size_t count)
{
	const float *from = h->matrix[FB_HOST_A];
	float *values = h->matrix[FB_HOST_B] + 2 * first;
	size_t n = 0;

	for (size_t i = first; i < first + count; i++) {
		uint32_t place = (uint32_t)i;

		if (fabsf(from[i]) < 0.99F)
			continue;
		values[2 * n] = from[i];
		memcpy(&values[2 * n + 1], &place, sizeof(place));
		n++;
	}
}

/* The range that part `part` of `parts` has of `all`. */
struct range {
	size_t first, count;
};

static struct range range_of(uint64_t all, unsigned part, unsigned parts)
{
	size_t first = (size_t)(all * part / parts);

	return (struct range){first, (size_t)(all * (part + 1) / parts) - first};
}

static void run_once(struct fb_host_compute *h, const struct fb_work *w, unsigned part,
		     unsigned parts)
{
	struct range rows = range_of(w->m, part, parts);
	struct range outputs = range_of(w->n, part, parts);
	struct range elements = range_of(w->elements, part, parts);
	size_t m = (size_t)w->m, n = (size_t)w->n, k = (size_t)w->k;
	float *a = h->matrix[FB_HOST_A], *b = h->matrix[FB_HOST_B], *c = h->matrix[FB_HOST_C];
	float *scores = h->matrix[FB_HOST_SCORES];

	switch (w->kind) {
	case FB_WORK_NONE:
		break;
	case FB_WORK_GEMM:
		product(h, false, rows.first, rows.count, n, k, a, k, b, c);
		break;
	case FB_WORK_BACKWARD: /* errors of inputs, then the gradient of weights */
		product(h, false, rows.first, rows.count, k, n, a, n, b, c);
		product(h, true, outputs.first, outputs.count, k, m, a, n, c,
			h->matrix[FB_HOST_GRADIENT]);
		break;
	case FB_WORK_ATTENTION:
		product(h, false, rows.first, rows.count, n, k, a, k, b, scores);
		for (size_t i = rows.first; i < rows.first + rows.count; i++)
			soften(scores + i * n, n);
		product(h, false, rows.first, rows.count, k, n, scores, n, b, c);
		break;
	case FB_WORK_SPIN:
		spin(h, elements.count);
		break;
	case FB_WORK_COPY_IN: /* processors have one memory */
	case FB_WORK_COPY_OUT:
	case FB_WORK_COPY_PAGEABLE:
	case FB_WORK_MEMORY:
		pass(h, elements.first, elements.count);
		break;
	case FB_WORK_CAST:
		cast(h, elements.first, elements.count, w->k);
		break;
	case FB_WORK_SELECT:
		choose(h, elements.first, elements.count);
		break;
	case FB_WORK_KINDS:
		break;
	case FB_WORK_ADAM:
		adam(h, elements.first, elements.count, (size_t)w->elements);
		break;
	}
}

void fb_host_compute_run(struct fb_host_compute *h, const struct fb_work *w, unsigned part,
			 unsigned parts)
{
	for (uint32_t i = 0; i < w->times; i++)
		run_once(h, w, part, parts);
}

int fb_host_compute_room(struct fb_host_compute *h, const struct fb_work *w)
{
	bool backward = w->kind == FB_WORK_BACKWARD, attends = w->kind == FB_WORK_ATTENTION;
	uint64_t elements = w->kind == FB_WORK_SPIN ? 1 : w->elements;
	const uint64_t wanted[FB_HOST_MATRICES] = {
		[FB_HOST_A] = elements + w->m * (backward ? w->n : w->k),
		[FB_HOST_B] = 2 * elements + w->n * w->k,
		[FB_HOST_C] = elements + w->m * (backward || attends ? w->k : w->n),
		[FB_HOST_SCORES] = attends ? w->m * w->n : 0,
		[FB_HOST_GRADIENT] = backward ? w->n * w->k : 0,
	};

	for (int i = 0; i < FB_HOST_MATRICES; i++) {
		size_t n = (size_t)wanted[i];

		if (n <= h->count[i])
			continue;
		free(h->matrix[i]);
		h->count[i] = 0;
		h->matrix[i] = malloc(n * sizeof(float));
		if (!h->matrix[i])
			return FB_ENOMEM;
		h->count[i] = n;
		fill(h->matrix[i], n);
	}
	return FB_OK;
}

void fb_host_compute_close(struct fb_host_compute *h)
{
	for (int i = 0; i < FB_HOST_MATRICES; i++)
		free(h->matrix[i]);
	*h = (struct fb_host_compute){.blas = NULL};
}

bool fb_host_blas_right(const struct fb_openblas *blas)
{
	float a[CHECK * CHECK], b[CHECK * CHECK], got[CHECK * CHECK], right[CHECK * CHECK];
	bool good = true;

	fill(a, CHECK * CHECK);
	fill(b, CHECK * CHECK);
	for (int transposed = 0; transposed < 2; transposed++) {
		fb_openblas_gemm(blas, transposed, CHECK - 8, CHECK - 16, CHECK, a, CHECK, b, got);
		plain_gemm(transposed, 0, CHECK - 8, CHECK - 16, CHECK, a, CHECK, b, right);
		for (int i = 0; i < (CHECK - 8) * (CHECK - 16); i++)
			good &= fabsf(got[i] - right[i]) < 1e-4F;
	}
	return good;
}
