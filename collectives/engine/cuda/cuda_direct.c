/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUDirect for links over rdma: slots in GPU memory that the network's device reads and writes
 * itself (order: proxy_links.h). Whether that can be had is found out once, with a page of
 * memory. **Not run on hardware.**
 */
#include <stdio.h>
#include <unistd.h>

#include "collectives/engine/cuda/cuda_engine.h"
#include "common/base/error.h"
#include "common/cuda/gpu_direct.h"

enum { PAGE = 2 << 20 };

static bool takes(void *arg, void *memory, size_t bytes, int fd, uint64_t offset, char *why,
		  size_t n)
{
	const struct fb_transport *t = arg;
	const struct fb_device_memory m = {
		.base = memory, .bytes = bytes, .fd = fd, .offset = offset};

	return t->ops->direct->can_expose(t, &m, why, n);
}

int fb_cuda_choose_slots(struct cuda_engine *e)
{
	const struct fb_group *w = e->group;
	const struct fb_gpu_direct_taker taker = {takes, e->network[FB_CUDA_RDMA]};
	int asked = e->settings->gpu_direct, who;
	char why[FB_REASON_CHARS] = "";
	unsigned own, all;

	e->slots = FB_CUDA_STAGED;
	if (asked == FB_GPU_DIRECT_NO)
		return FB_OK;
	own = fb_gpu_direct_methods(&e->gpu, asked, &taker, &e->flushes, why, sizeof(why));
	MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED, MPI_BAND, w->comm);
	if (all) {
		e->slots = all >> FB_GPU_DIRECT_DMABUF & 1 ? FB_CUDA_DMABUF : FB_CUDA_PEERMEM;
		return FB_OK;
	}
	if (asked == FB_GPU_DIRECT_AUTO)
		return FB_OK;
	who = own ? w->nranks : w->rank;
	MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, w->comm);
	if (who != w->rank)
		return FB_EINPUT;
	return fb_error(FB_EINPUT, "option --gpu-direct: '%s' is not accepted on host %s: %s; with "
			"auto bytes are staged in host memory", fb_gpu_direct_names[asked],
			w->host, why);
}

int fb_cuda_open_slots(struct cuda_request *r)
{
	struct cuda_engine *e = r->engine;
	uint64_t bytes = (r->layout.far_bytes + PAGE - 1) / PAGE * PAGE;
	char why[FB_REASON_CHARS];
	int err = FB_OK;

	if (r->wires->far != FB_CUDA_RDMA || e->slots == FB_CUDA_STAGED)
		return FB_OK;
	/* Peers find slots by their distance from the beginning: as much for all. */
	MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_MAX, e->group->comm);
	r->slots = (struct fb_device_memory){.bytes = bytes, .fd = -1};
	r->slots.base = fb_gpu_direct_alloc(bytes);
	if (!r->slots.base)
		err = FB_ENOMEM;
	else if (e->slots == FB_CUDA_DMABUF &&
		 fb_gpu_direct_export(&e->gpu, r->slots.base, bytes, &r->slots.fd,
				      &r->slots.offset, why, sizeof(why)))
		err = fb_error(FB_ESYS, "rdma: %llu bytes of slots: %s",
			       (unsigned long long)bytes, why);
	return fb_group_agree(e->group, err);
}

uint64_t fb_cuda_slots_address(const void *arg, int rank, int peer)
{
	const struct cuda_request *r = arg;
	int self = r->engine->group->rank, other = rank == self ? peer : rank;

	if (!r->slots.base || r->via[other] != FB_GPU_PROXIED)
		return fb_cuda_links_address(arg, rank, peer);
	return (uint64_t)(uintptr_t)r->slots.base + (rank == self ? 0 : r->layout.proxied);
}

static int flush(void *arg)
{
	const struct cuda_request *r = arg;

	return fb_gpu_direct_flush(&r->engine->gpu);
}

void fb_cuda_proxied_slots(struct cuda_request *r)
{
	r->proxied.direct = r->slots;
	r->proxied.flush = r->engine->flushes ? flush : NULL;
	r->proxied.arg = r;
}

void fb_cuda_close_slots(struct cuda_request *r)
{
	if (r->slots.base && r->slots.fd >= 0)
		close(r->slots.fd);
	if (r->slots.base)
		(void)fb_gpu_direct_free(r->slots.base);
	r->slots.base = NULL;
}
