/* SPDX-License-Identifier: BSD-3-Clause */
/* A model's computing; see compute.h. */
#include "kvtransfer/compute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/compute/host_compute.h"
#include "overlap/gpu/compute.h"

enum { WORKS = 8, PEAK_TRIES = 3, MOST_SIDE = 4096, MOST_ELEMENTS = 1 << 26 };

struct fb_kv_compute {
	const struct fb_kv_model *model;
	uint32_t most_context;
	struct fb_openblas blas;
	struct fb_host_compute host;
	struct fb_gpu_compute *gpu; /* NULL: the processor */
};

/* The works of a layer; returns how many. */
static int list(const struct fb_kv_compute *c, const struct fb_kv_batch *b, struct fb_work *work)
{
	const struct fb_kv_model *m = c->model;
	uint32_t tokens = b->prompt + b->requests;
	uint64_t queries = (uint64_t)m->heads * m->query_dim;
	uint64_t cache = (uint64_t)m->kv_heads * m->head_dim * m->parts;
	int n = 0;

	work[n++] = fb_work_product(FB_WORK_GEMM, tokens, queries + cache, m->hidden);
	if (b->prompt)
		work[n++] = fb_work_product(FB_WORK_ATTENTION, b->prompt, b->context + b->prompt,
					    queries);
	if (b->cached)
		work[n++] = fb_work_pass(FB_WORK_MEMORY, b->cached * cache / 2);
	work[n++] = fb_work_product(FB_WORK_GEMM, tokens, m->hidden, queries);
	work[n++] = fb_work_product(FB_WORK_GEMM, tokens, (uint64_t)2 * m->ffn, m->hidden);
	work[n++] = fb_work_product(FB_WORK_GEMM, tokens, m->hidden, m->ffn);
	return n;
}

/* Room for the largest of each. */
static int make_room(struct fb_kv_compute *c)
{
	uint32_t chunk = c->most_context < FB_KV_CHUNK ? c->most_context : FB_KV_CHUNK;
	const struct fb_kv_batch most = {chunk, c->most_context - chunk, FB_KV_CHUNK,
					 c->most_context};
	struct fb_work work[WORKS];
	int n = list(c, &most, work), err = FB_OK;

	for (int i = 0; i < n && !err; i++)
		err = c->gpu ? fb_gpu_compute_room(c->gpu, &work[i])
			     : fb_host_compute_room(&c->host, &work[i]);
	return err == FB_ENOMEM && !c->gpu ? fb_error(err, "out of memory for computing") : err;
}

int fb_kv_compute_open(struct fb_kv_compute **compute, const struct fb_kv_model *model,
		       const struct fb_gpu *gpu, uint32_t most_context)
{
	struct fb_kv_compute *c = calloc(1, sizeof(*c));
	char ignored[FB_REASON_CHARS];
	int err = FB_OK;

	if (!c)
		return fb_error(FB_ENOMEM, "out of memory for computing");
	c->model = model;
	c->most_context = most_context ? most_context : 1;
	if (gpu)
		err = fb_gpu_compute_open(&c->gpu, gpu, gpu->device, "auto", false);
	else if (!fb_openblas_open(&c->blas, "auto", ignored, sizeof(ignored)) &&
		 fb_host_blas_right(&c->blas))
		c->host.blas = &c->blas;
	if (!err)
		err = make_room(c);
	if (err) {
		fb_kv_compute_close(c);
		return err;
	}
	*compute = c;
	return FB_OK;
}

void fb_kv_compute_close(struct fb_kv_compute *c)
{
	if (!c)
		return;
	fb_gpu_compute_close(c->gpu);
	fb_host_compute_close(&c->host);
	free(c);
}

void fb_kv_compute_describe(const struct fb_kv_compute *c, char *text, size_t n)
{
	if (c->gpu)
		fb_gpu_compute_describe(c->gpu, text, n);
	else
		snprintf(text, n, "%s f32, one thread", c->host.blas ? "OpenBLAS" : "own loop");
}

/* On a GPU only put on the stream. */
static int run_work(struct fb_kv_compute *c, const struct fb_work *work)
{
	if (c->gpu)
		return fb_gpu_compute_enqueue(c->gpu, work, NULL);
	fb_host_compute_run(&c->host, work, 0, 1);
	return FB_OK;
}

/* More may be cached by many requests than there was room for: the pass goes over it again. */
static int run_pass(struct fb_kv_compute *c, struct fb_work work)
{
	const struct fb_kv_model *m = c->model;
	uint64_t all = work.elements, most = (uint64_t)c->most_context * m->kv_heads *
					     m->head_dim * m->parts / 2;
	int err = FB_OK;

	for (uint64_t done = 0; done < all && !err; done += work.elements) {
		work.elements = all - done < most ? all - done : most;
		err = run_work(c, &work);
	}
	return err;
}

int fb_kv_layer_enqueue(struct fb_kv_compute *c, const struct fb_kv_batch *batch)
{
	struct fb_work work[WORKS];
	int n = list(c, batch, work), err = FB_OK;

	for (int i = 0; i < n && !err; i++)
		err = work[i].kind == FB_WORK_MEMORY ? run_pass(c, work[i])
						     : run_work(c, &work[i]);
	return err;
}

int fb_kv_finish(struct fb_kv_compute *c)
{
	return c->gpu ? fb_gpu_compute_finish(c->gpu) : FB_OK;
}

int fb_kv_layer(struct fb_kv_compute *c, const struct fb_kv_batch *batch)
{
	int err = fb_kv_layer_enqueue(c, batch);

	return err ? err : fb_kv_finish(c);
}

/* Elements of products are bf16 on GPUs and f32 on processors; a pass reads and writes f32. */
static double work_bytes(const struct fb_kv_compute *c, const struct fb_work *w)
{
	double m = (double)w->m, n = (double)w->n, k = (double)w->k, element = c->gpu ? 2 : 4;

	if (w->kind == FB_WORK_MEMORY)
		return 8 * (double)w->elements;
	/* Attention moves queries, results, keys and values; its scores stay in the processor. */
	return element * (w->kind == FB_WORK_ATTENTION ? 2 * (m + n) * k : m * k + k * n + m * n);
}

struct fb_kv_cost fb_kv_layer_cost(const struct fb_kv_compute *c, const struct fb_kv_batch *batch)
{
	struct fb_kv_cost cost = {0, 0};
	struct fb_work work[WORKS];
	int n = list(c, batch, work);

	for (int i = 0; i < n; i++) {
		cost.flop += fb_work_flop(&work[i]);
		cost.bytes += work_bytes(c, &work[i]);
	}
	return cost;
}

/* The fastest of some runs behind a first one, in s. */
static int time_work(struct fb_kv_compute *c, const struct fb_clock *clock,
		     const struct fb_work *work, double *seconds)
{
	int err = c->gpu ? fb_gpu_compute_room(c->gpu, work) : fb_host_compute_room(&c->host, work);

	if (err == FB_ENOMEM && !c->gpu)
		fb_error_print("out of memory for the peak of computing");
	for (int k = 0; k <= PEAK_TRIES && !err; k++) {
		double began = fb_clock_now(clock), spent;

		err = run_work(c, work);
		if (!err)
			err = fb_kv_finish(c);
		spent = fb_clock_now(clock) - began;
		*seconds = k < 2 || spent < *seconds ? spent : *seconds;
	}
	return err;
}

int fb_kv_peak(struct fb_kv_compute *c, const struct fb_clock *clock, struct fb_kv_cost *per_s)
{
	double seconds = 0;
	int err = FB_OK;

	*per_s = (struct fb_kv_cost){0, 0};
	for (uint64_t n = 128; n <= MOST_SIDE && seconds < 5e-3 && !err; n *= 2) {
		struct fb_work work = fb_work_product(FB_WORK_GEMM, n, n, n);

		err = time_work(c, clock, &work, &seconds);
		per_s->flop = fmax(per_s->flop, fb_work_flop(&work) / seconds);
	}
	/* The last one counts, as smaller ones may be in a cache. */
	seconds = 0;
	for (uint64_t n = 1 << 18; n <= MOST_ELEMENTS && seconds < 20e-3 && !err; n *= 2) {
		struct fb_work work = fb_work_pass(FB_WORK_MEMORY, n);

		err = time_work(c, clock, &work, &seconds);
		per_s->bytes = work_bytes(c, &work) / seconds;
	}
	return err;
}

int fb_kv_step(struct fb_kv_compute *c, const struct fb_kv_batch *batch)
{
	int err = FB_OK;

	for (uint32_t l = 0; l < c->model->layers && !err; l++)
		err = fb_kv_layer_enqueue(c, batch);
	return err ? err : fb_kv_finish(c);
}

int fb_kv_prefill(struct fb_kv_compute *c, uint32_t tokens, uint32_t context)
{
	int err = FB_OK;

	for (uint32_t done = 0; done < tokens && !err; done += FB_KV_CHUNK) {
		uint32_t left = tokens - done;
		const struct fb_kv_batch batch = {left < FB_KV_CHUNK ? left : FB_KV_CHUNK,
						  context + done, 0, 0};

		err = fb_kv_step(c, &batch);
	}
	return err;
}
