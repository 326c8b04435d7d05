/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing on a GPU; see compute.h. Backward of a linear layer is two products, stored by columns:
 *
 *	errors    [columns][tokens] = weights [columns][rows] * outputs [rows][tokens]
 *	gradient  [columns][rows]   = inputs [columns][tokens] * outputs transposed
 *
 * Forward of one and both products of attention are plain products of the same memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_green.h"
#include "common/library/cublas.h"
#include "overlap/gpu/compute.h"
#include "overlap/gpu/fp8.h"
#include "overlap/gpu/gemm.h"
#include "overlap/gpu/passes.h"

/* A and B are factors, C and D products, of bf16; PASS is memory of passes in f32. */
enum memory { A, B, C, D, PASS, MEMORIES };

enum {
	WORKSPACE_BYTES = 32 << 20, /* what cuBLAS recommends from Hopper on */
	UNIT = 16,                  /* elements: sizes are multiples of it; bf16 needs 8 */
	FP8_CAPABILITY = 89,        /* Ada's, and Hopper's is 90 */
	CHECK_TOKENS = 64, CHECK_COLUMNS = 272, CHECK_ROWS = 144,
	ADAM_ARRAYS = 4,
};

struct fb_gpu_compute {
	int device, home;    /* where it computes, and the rank's own, which stays current */
	struct fb_blas blas; /* if .handle */
	struct fb_blas_lt lt; /* if .handle: products are of 8-bit floats */
	cudaStream_t stream; /* to fill memory */
	cudaStream_t limited; /* of .green */
	struct fb_gpu_green *green; /* NULL: no limit, or by cuBLAS alone */
	int sms, got;        /* multiprocessors asked for, and had; 0: all */
	char no_green[FB_REASON_CHARS];
	uint64_t bytes[MEMORIES]; /* that there is room for */
	void *memory[MEMORIES];
	void *pinned, *pageable;  /* of the host, for copies */
	uint64_t host_bytes;      /* of each */
};

static uint64_t up(uint64_t n)
{
	return (n + UNIT - 1) / UNIT * UNIT;
}

/* Launches and allocations belong to the current device. */
static int enter(const struct fb_gpu_compute *c)
{
	return c->device == c->home ? FB_OK : FB_CUDA(cudaSetDevice(c->device));
}

static int leave(const struct fb_gpu_compute *c, int err)
{
	int back = c->device == c->home ? FB_OK : FB_CUDA(cudaSetDevice(c->home));

	return err ? err : back;
}

/* Product `which` of a work, of the two at most that it has. */
static struct fb_gemm product(const struct fb_gpu_compute *c, const struct fb_work *w, int which)
{
	uint32_t m = (uint32_t)up(w->m), n = (uint32_t)up(w->n), k = (uint32_t)up(w->k);
	const uint16_t *a = c->memory[A], *b = c->memory[B];
	uint16_t *to = c->memory[C], *second = c->memory[D];

	if (w->kind == FB_WORK_BACKWARD)
		return which ? (struct fb_gemm){k, n, m, true, a, b, second}
			     : (struct fb_gemm){k, m, n, false, a, b, to};
	if (w->kind == FB_WORK_ATTENTION && which)
		return (struct fb_gemm){k, m, n, false, a, to, second};
	return w->kind == FB_WORK_ATTENTION ? (struct fb_gemm){n, m, k, false, a, b, to}
					    : (struct fb_gemm){m, n, k, false, a, b, to};
}

/* The same product of 8-bit floats. A cast would write a transposed operand transposed already. */
static struct fb_gemm_fp8 narrow(const struct fb_gemm *g)
{
	return (struct fb_gemm_fp8){g->m, g->n, g->k, (const uint8_t *)g->a,
				    (const uint8_t *)g->b, g->to};
}

static bool is_narrow(const struct fb_gpu_compute *c, const struct fb_work *w)
{
	return c->lt.handle && (w->kind == FB_WORK_GEMM || w->kind == FB_WORK_BACKWARD);
}

/* All elements of small products, of sizes that are no multiples of a kernel's tiles. */
static int check_products(struct fb_gpu_compute *c)
{
	const struct fb_work w = fb_work_product(FB_WORK_BACKWARD, CHECK_TOKENS, CHECK_ROWS,
						 CHECK_COLUMNS);
	int err = fb_gpu_compute_room(c, &w);

	if (!err)
		err = fb_gpu_compute_enqueue(c, &w, NULL);
	if (!err)
		err = fb_gpu_compute_finish(c);
	for (int which = 0; which < 2 && !err; which++) {
		const struct fb_gemm g = product(c, &w, which);
		const struct fb_gemm_fp8 small = narrow(&g);

		err = is_narrow(c, &w) ? fb_fp8_check(&small) : fb_gemm_check(&g);
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

static int open_fp8(struct fb_gpu_compute *c, const struct fb_gpu *gpu, const char *library)
{
	char reason[256] = "needs cuBLAS";
	int err = FB_EUNSUPPORTED;

	if (10 * gpu->major + gpu->minor < FP8_CAPABILITY)
		snprintf(reason, sizeof(reason), "%s has no products of 8-bit floats", gpu->name);
	else if (c->blas.handle)
		err = fb_blas_lt_open(&c->lt, library, reason, sizeof(reason));
	return err ? fb_error(err, "--compute-type fp8: %s", reason) : FB_OK;
}

/* Has cuBLAS divide its products over so many multiprocessors. */
static int aim(struct fb_gpu_compute *c, int sms)
{
	c->lt.sms = sms;
	return c->blas.handle && c->blas.SetSmCountTarget &&
	       !c->blas.SetSmCountTarget(c->blas.handle, sms) ? FB_OK : FB_EUNSUPPORTED;
}

static void close_green(struct fb_gpu_compute *c)
{
	if (c->limited)
		(void)cudaStreamDestroy(c->limited);
	fb_gpu_green_close(c->green);
	c->limited = NULL;
	c->green = NULL;
}

int fb_gpu_compute_limit(struct fb_gpu_compute *c, int sms)
{
	int err = FB_OK;

	if (sms == c->sms)
		return FB_OK;
	close_green(c);
	c->sms = c->got = sms;
	snprintf(c->no_green, sizeof(c->no_green), "streams of a green context do not compute");
	if (sms && (fb_gpu_green_open(&c->green, c->device, sms, &c->got, c->no_green,
				      sizeof(c->no_green)) ||
		    fb_gpu_green_stream(c->green, 0, &c->limited) || check_products(c))) {
		close_green(c);
		c->got = sms;
	}
	if (aim(c, c->got) && sms && !c->green)
		err = fb_error(FB_EUNSUPPORTED, "--compute-sms %d: %s, and cuBLAS takes no number",
			       sms, c->no_green);
	if (err)
		c->sms = -1; /* whatever is asked for next is another limit */
	return err;
}

int fb_gpu_compute_stream(const struct fb_gpu_compute *c, int priority, void *stream)
{
	return c->green ? fb_gpu_green_stream(c->green, priority, stream) : FB_OK;
}

int fb_gpu_compute_open(struct fb_gpu_compute **compute, const struct fb_gpu *gpu, int device,
			const char *library, bool fp8)
{
	struct fb_gpu_compute *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return fb_error(FB_ENOMEM, "out of memory");
	c->device = device;
	c->home = gpu->device;
	err = FB_CUDA(cudaSetDevice(device));
	if (!err)
		err = FB_CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
	if (!err)
		err = open_library(c, library);
	if (!err && fp8)
		err = open_fp8(c, gpu, library);
	if (!err)
		err = check_products(c);
	err = leave(c, err);
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
	(void)enter(c);
	close_green(c);
	(void)cudaFree(c->blas.workspace);
	fb_blas_close(&c->blas);
	fb_blas_lt_close(&c->lt);
	for (int i = 0; i < MEMORIES; i++)
		(void)cudaFree(c->memory[i]);
	(void)cudaFreeHost(c->pinned);
	free(c->pageable);
	if (c->stream)
		(void)cudaStreamDestroy(c->stream);
	(void)leave(c, FB_OK);
	(void)cudaGetLastError();
	free(c);
}

/* Room for so many bytes, a multiple of 16; of bf16 they are random numbers, else zeros. */
static int resize(struct fb_gpu_compute *c, enum memory which, uint64_t bytes)
{
	int err;

	if (bytes <= c->bytes[which])
		return FB_OK;
	(void)cudaFree(c->memory[which]);
	c->memory[which] = NULL;
	c->bytes[which] = 0;
	err = FB_CUDA(cudaMalloc(&c->memory[which], (size_t)bytes));
	if (!err && which == PASS)
		err = FB_CUDA(cudaMemset(c->memory[which], 0, (size_t)bytes));
	else if (!err && c->lt.handle && (which == A || which == B))
		err = fb_fp8_fill(c->memory[which], bytes, (uint32_t)which + 1);
	else if (!err)
		err = FB_CUDA((cudaError_t)fb_gemm_fill(c->memory[which], bytes / 2,
							(uint32_t)which + 1, c->stream));
	if (!err)
		err = FB_CUDA(cudaStreamSynchronize(c->stream));
	if (!err)
		c->bytes[which] = bytes;
	return err;
}

static int resize_host(struct fb_gpu_compute *c, uint64_t bytes)
{
	int err;

	if (bytes <= c->host_bytes)
		return FB_OK;
	(void)cudaFreeHost(c->pinned);
	free(c->pageable);
	c->pinned = NULL;
	c->host_bytes = 0;
	c->pageable = calloc(1, (size_t)bytes);
	err = c->pageable ? FB_CUDA(cudaHostAlloc(&c->pinned, (size_t)bytes, 0)) : FB_ENOMEM;
	if (!err)
		c->host_bytes = bytes;
	return err;
}

int fb_gpu_compute_room(struct fb_gpu_compute *c, const struct fb_work *w)
{
	uint64_t m = up(w->m), n = up(w->n), k = up(w->k), most = m * n;
	uint64_t elements = up(w->elements);
	int err = enter(c);

	/* Whatever a product's shape is, its matrices are no larger than the largest of three. */
	most = m * k > most ? m * k : most;
	most = n * k > most ? n * k : most;
	for (int i = A; i <= D && !err; i++)
		err = resize(c, (enum memory)i, most * 2);
	if (w->kind == FB_WORK_SPIN) /* its elements lie nowhere */
		elements = UNIT;
	if (!err)
		err = resize(c, PASS, elements * ADAM_ARRAYS * sizeof(float));
	if (!err && w->kind >= FB_WORK_COPY_IN && w->kind <= FB_WORK_COPY_PAGEABLE)
		err = resize_host(c, elements * sizeof(float));
	return leave(c, err);
}

static int multiply(struct fb_gpu_compute *c, const struct fb_work *w, const struct fb_gemm *g,
		    void *stream)
{
	const struct fb_gemm_fp8 small = narrow(g);

	if (is_narrow(c, w))
		return fb_blas_lt_gemm(&c->lt, &small, c->blas.workspace, c->blas.workspace_bytes,
				       stream);
	if (c->blas.handle)
		return fb_blas_gemm(&c->blas, g, stream);
	return FB_CUDA((cudaError_t)fb_gemm_launch(g, stream));
}

static int enqueue_once(struct fb_gpu_compute *c, const struct fb_work *w, void *stream)
{
	const struct fb_gemm first = product(c, w, 0), second = product(c, w, 1);
	uint64_t elements = up(w->elements);
	float *memory = c->memory[PASS];
	int err = FB_OK;

	switch (w->kind) {
	case FB_WORK_NONE:
		break;
	case FB_WORK_GEMM:
		return multiply(c, w, &first, stream);
	case FB_WORK_BACKWARD:
	case FB_WORK_ATTENTION:
		err = multiply(c, w, &first, stream);
		if (!err && w->kind == FB_WORK_ATTENTION)
			err = FB_CUDA((cudaError_t)fb_pass_soften(
				first.to, (uint64_t)first.m * first.n, stream));
		return err ? err : multiply(c, w, &second, stream);
	case FB_WORK_MEMORY:
		return FB_CUDA((cudaError_t)fb_pass_scale(memory + elements, memory, elements,
							  stream));
	case FB_WORK_SPIN:
		return FB_CUDA((cudaError_t)fb_pass_spin(memory, w->elements, stream));
	case FB_WORK_COPY_IN:
	case FB_WORK_COPY_PAGEABLE:
		return FB_CUDA(cudaMemcpyAsync(memory, w->kind == FB_WORK_COPY_IN ? c->pinned
					       : c->pageable, w->elements * sizeof(float),
					       cudaMemcpyHostToDevice, stream));
	case FB_WORK_COPY_OUT:
		return FB_CUDA(cudaMemcpyAsync(c->pinned, memory, w->elements * sizeof(float),
					       cudaMemcpyDeviceToHost, stream));
	case FB_WORK_CAST:
		return FB_CUDA((cudaError_t)fb_pass_cast(memory + elements, memory, elements,
							 w->k, stream));
	case FB_WORK_SELECT:
		return FB_CUDA((cudaError_t)fb_pass_select(
			&(struct fb_pass_select){
				.from = memory, .values = memory + elements,
				.places = (uint32_t *)(void *)(memory + 2 * elements),
				.found = (uint32_t *)(void *)(memory + 3 * elements),
				.count = elements, .most = elements, .least = 0.99F}, stream));
	case FB_WORK_KINDS:
		break;
	case FB_WORK_ADAM:
		return FB_CUDA((cudaError_t)fb_pass_adam(memory, elements, stream));
	}
	return err;
}

static cudaStream_t own_stream(const struct fb_gpu_compute *c)
{
	return c->limited ? c->limited : c->stream;
}

int fb_gpu_compute_enqueue(struct fb_gpu_compute *c, const struct fb_work *w, void *stream)
{
	int err = enter(c);

	for (uint32_t i = 0; i < w->times && !err; i++)
		err = enqueue_once(c, w, stream ? stream : own_stream(c));
	return leave(c, err);
}

int fb_gpu_compute_finish(struct fb_gpu_compute *c)
{
	return FB_CUDA(cudaStreamSynchronize(own_stream(c)));
}

void fb_gpu_compute_describe(const struct fb_gpu_compute *c, char *text, size_t n)
{
	int v = c->blas.version, at;

	if (c->blas.handle)
		at = snprintf(text, n, "cuBLAS%s %d.%d.%d %s", c->lt.handle ? "Lt" : "",
			      v / 10000, v / 100 % 100, v % 100, c->lt.handle ? "f8e4m3" : "bf16");
	else
		at = snprintf(text, n, "own kernel bf16");
	if (c->sms > 0 && at > 0 && (size_t)at < n)
		snprintf(text + at, n - (size_t)at, " on %d SMs (%s%s)", c->got,
			 c->green ? "green context" : "asked of cuBLAS: ",
			 c->green ? "" : c->no_green);
}
