/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing beside transfers; see beside.h. */
#include "kvtransfer/beside.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/error.h"

/* Requests whose tokens a receiver computes, and tokens that each has in its cache. */
enum { REQUESTS = 32, CACHED = FB_KV_CHUNK, MOST_LAYERS = 256 };

struct fb_kv_beside {
	struct fb_kv_compute *compute;
	struct fb_kv_batch batch;
	bool device, threaded, is_short;
	double layer_s; /* on GPUs */
	pthread_t thread;
	atomic_bool ends;
	_Atomic uint64_t layers;
};

static void *compute_on(void *arg)
{
	struct fb_kv_beside *b = arg;

	while (!atomic_load_explicit(&b->ends, memory_order_relaxed) &&
	       !fb_kv_layer(b->compute, &b->batch))
		atomic_fetch_add_explicit(&b->layers, 1, memory_order_relaxed);
	return NULL;
}

/* The second of two layers: the first one loads what the library needs. */
static int time_layer(struct fb_kv_beside *b, const struct fb_clock *clock)
{
	int err = FB_OK;

	for (int k = 0; k < 2 && !err; k++) {
		double began = fb_clock_now(clock);

		err = fb_kv_layer(b->compute, &b->batch);
		b->layer_s = fb_clock_now(clock) - began;
	}
	return err;
}

int fb_kv_beside_open(struct fb_kv_beside **beside, const struct fb_kv_model *model,
		      const struct fb_gpu *gpu, const struct fb_clock *clock, bool sends)
{
	struct fb_kv_beside *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return fb_error(FB_ENOMEM, "out of memory for computing");
	b->device = gpu != NULL;
	b->batch.prompt = sends ? FB_KV_CHUNK : 0;
	b->batch.requests = sends ? 0 : REQUESTS;
	b->batch.cached = sends ? 0 : (uint64_t)REQUESTS * CACHED;
	err = fb_kv_compute_open(&b->compute, model, gpu, FB_KV_CHUNK);
	if (!err && gpu)
		err = time_layer(b, clock);
	if (!err && !gpu) {
		b->threaded = !pthread_create(&b->thread, NULL, compute_on, b);
		err = b->threaded ? FB_OK
				  : fb_error(FB_ESYS, "cannot make a thread to compute in");
	}
	if (err) {
		fb_kv_beside_close(b);
		return err;
	}
	*beside = b;
	return FB_OK;
}

void fb_kv_beside_close(struct fb_kv_beside *b)
{
	if (!b)
		return;
	atomic_store_explicit(&b->ends, true, memory_order_relaxed);
	if (b->threaded)
		pthread_join(b->thread, NULL);
	if (b->device && b->compute)
		(void)fb_kv_finish(b->compute);
	fb_kv_compute_close(b->compute);
	free(b);
}

int fb_kv_beside_begin(struct fb_kv_beside *b, double seconds)
{
	double wanted = b->device ? 2 * seconds / b->layer_s + 1 : 0;
	int n = (int)fmin(wanted, MOST_LAYERS), err = b->device ? fb_kv_finish(b->compute) : FB_OK;

	b->is_short |= wanted > MOST_LAYERS;
	for (int k = 0; k < n && !err; k++) {
		err = fb_kv_layer_enqueue(b->compute, &b->batch);
		atomic_fetch_add_explicit(&b->layers, 1, memory_order_relaxed);
	}
	return err;
}

bool fb_kv_beside_short(const struct fb_kv_beside *b)
{
	return b->is_short;
}

uint64_t fb_kv_beside_layers(const struct fb_kv_beside *b)
{
	return atomic_load_explicit(&b->layers, memory_order_relaxed);
}
