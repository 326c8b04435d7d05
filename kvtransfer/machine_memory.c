/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of movers: segments that they share, and what each makes of it; see machine.h. */
#include "kvtransfer/machine.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/clock.h"

/* Bytes of a rank's part of a pool, for all backends that will use it. */
static size_t pool_bytes(const struct fb_kv_machine *m, enum fb_kv_pool pool)
{
	uint64_t most = 0;

	for (int i = 0; i < m->backends; i++) {
		const struct fb_kv_backend *b = &m->backend[i];
		uint64_t host = b->staged ? b->stage_bytes : b->device ? 0 : b->part_bytes;
		uint64_t bytes = pool == FB_KV_POOL_HOST ? host : b->device ? b->part_bytes : 0;

		most = bytes > most ? bytes : most;
	}
	return (size_t)most;
}

/* Collective: the pool's segment, opened by its first user. 0 or an error (printed). */
static int open_pool(struct fb_kv_machine *m, enum fb_kv_pool pool, const struct fb_segment **got)
{
	struct fb_segment *segment = &m->pool[pool];
	size_t bytes = pool_bytes(m, pool);
	int err = FB_OK;

	if (!segment->ops)
		err = pool == FB_KV_POOL_PINNED
			      ? fb_gpu_segment_open(segment, &m->gpu, FB_GPU_PINNED, bytes)
			      : fb_mover_segment(segment, NULL, m->session,
						 pool == FB_KV_POOL_GPU ? &m->gpu : NULL, m->world,
						 bytes);
	*got = err ? NULL : segment;
	return err;
}

static int open_memory(struct fb_kv_machine *m, struct fb_kv_backend *b, bool tier,
			 const int *peers, int n)
{
	bool on_gpu = b->device && !b->staged;
	double began;
	int err;

	if (b->ops && b->ops->segment) {
		err = fb_mover_segment(&b->own, b->ops, m->session, &m->gpu, m->world,
				       (size_t)b->part_bytes);
		b->memory = err ? NULL : &b->own;
	} else {
		err = open_pool(m, on_gpu ? FB_KV_POOL_GPU : FB_KV_POOL_HOST, &b->memory);
	}
	if (!err && b->staged)
		err = open_pool(m, FB_KV_POOL_GPU, &b->tier);
	if (!err && tier && b->ops && b->ops->streams)
		err = open_pool(m, FB_KV_POOL_PINNED, &b->tier);
	if (err || !b->mover)
		return err;
	began = fb_clock_now(m->session->clock);
	err = fb_mover_add(b->mover, b->memory, &b->region);
	if (!err && b->tier && !b->staged)
		err = fb_mover_add(b->mover, b->tier, &b->remote);
	else
		b->remote = b->region;
	b->register_us = (fb_clock_now(m->session->clock) - began) * 1e6;
	MPI_Allreduce(MPI_IN_PLACE, &b->register_us, 1, MPI_DOUBLE, MPI_MAX, m->world->comm);
	if (!err && b->ops->connect)
		err = b->ops->connect(b->mover, peers, n);
	return err;
}

int fb_kv_backend_memory(struct fb_kv_machine *m, struct fb_kv_backend *b, bool tier,
			 const int *peers, int n)
{
	if (*b->cause)
		fb_error_recall(b->cause);
	if (!b->memory && !b->failed)
		b->failed = open_memory(m, b, tier, peers, n);
	snprintf(b->cause, sizeof(b->cause), "%s", b->failed ? fb_error_last() : "");
	return b->failed;
}

void fb_kv_backend_forget(struct fb_kv_backend *b)
{
	if (b->region) /* NULL where an earlier registration failed */
		fb_mover_remove(b->region);
	b->region = b->remote = NULL;
}

int fb_kv_backend_register(struct fb_kv_backend *b, const int *peers, int n)
{
	int err = fb_mover_add(b->mover, b->memory, &b->region);

	b->remote = b->region;
	return err || !b->ops->connect ? err : b->ops->connect(b->mover, peers, n);
}

void fb_kv_machine_close_memory(struct fb_kv_machine *m)
{
	for (int i = 0; i < m->backends; i++) {
		struct fb_kv_backend *b = &m->backend[i];

		if (b->packs && b->packer != b->mover)
			fb_mover_remove(b->packs);
		if (b->packer && b->packer != b->mover)
			fb_mover_close(b->packer);
		if (b->remote && b->remote != b->region)
			fb_mover_remove(b->remote);
		if (b->region)
			fb_mover_remove(b->region);
		if (b->mover)
			fb_mover_close(b->mover);
		fb_segment_close(&b->own);
		free(b->seen);
	}
	for (int p = 0; p < FB_KV_POOLS; p++)
		fb_segment_close(&m->pool[p]);
}
