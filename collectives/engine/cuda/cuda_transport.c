/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory and the transports of the CUDA engine's links. All links have one kind, or there is
 * one kind within nodes and one between them, as with the host engine: `p2p+tcp`. --nodes-as
 * pretends several nodes, so that plans for slow links between nodes run on one machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/cuda/cuda_engine.h"
#include "collectives/tuning/price.h"
#include "common/base/error.h"
#include "common/base/sizes.h"

static const struct fb_cuda_wires transports[] = {
	{"p2p", FB_CUDA_PEER, FB_CUDA_NOTHING},
	{"shm", FB_CUDA_PINNED, FB_CUDA_NOTHING},
	{"p2p+shm", FB_CUDA_PEER, FB_CUDA_PINNED},
	{"tcp", FB_CUDA_NOTHING, FB_CUDA_TCP},
	{"p2p+tcp", FB_CUDA_PEER, FB_CUDA_TCP},
	{"shm+tcp", FB_CUDA_PINNED, FB_CUDA_TCP},
	{"rdma", FB_CUDA_NOTHING, FB_CUDA_RDMA},
	{"p2p+rdma", FB_CUDA_PEER, FB_CUDA_RDMA},
	{"shm+rdma", FB_CUDA_PINNED, FB_CUDA_RDMA},
};

const struct fb_cuda_wires *fb_cuda_wires(const struct fb_case *c)
{
	for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++)
		if (!strcmp(transports[i].name, c->transport))
			return &transports[i];
	return NULL;
}

bool fb_cuda_is_direct(const struct fb_case *c)
{
	return fb_protocol_is_direct(c->protocol);
}

static bool can_on_host(const struct cuda_engine *e, const struct fb_case *c,
			const struct fb_cuda_wires *w, char *reason)
{
	bool alone = w->far == FB_CUDA_NOTHING, tma = !strcmp(c->protocol, "tma");

	if (tma && !fb_cuda_has_tma(e))
		snprintf(reason, FB_REASON_CHARS, "tma needs compute capability 9.0, here and in "
			 "CUDA_ARCHS");
	else if ((tma || !strcmp(c->protocol, "striped")) && (w->near != FB_CUDA_PEER || !alone))
		snprintf(reason, FB_REASON_CHARS, "%s is between GPUs that reach each other",
			 c->protocol);
	else if (w->near == FB_CUDA_PEER && alone && !e->gpu.all_reach)
		snprintf(reason, FB_REASON_CHARS, "not every GPU reaches every other");
	else if (w->near == FB_CUDA_PEER && !e->nodes_reach)
		snprintf(reason, FB_REASON_CHARS, "not every GPU reaches every other of its node");
	else if (w->near == FB_CUDA_PINNED && alone && !fb_group_one_host(e->group))
		snprintf(reason, FB_REASON_CHARS, "shm does not reach other hosts");
	else if (w->near == FB_CUDA_PINNED && !strcmp(c->protocol, "direct") &&
		 strcmp(c->memory, "pinned"))
		snprintf(reason, FB_REASON_CHARS, "direct over shm needs memory pinned");
	else
		return true;
	return false;
}

bool fb_cuda_can_transport(const struct cuda_engine *e, const struct fb_case *c, char *reason)
{
	const struct fb_cuda_wires *w = fb_cuda_wires(c);

	if (!w)
		snprintf(reason, FB_REASON_CHARS, "GPUs have no transport %s", c->transport);
	else if (strchr(c->transport, '+') && e->group->nnodes == 1)
		snprintf(reason, FB_REASON_CHARS, "one node: %s would be %.*s", c->transport,
			 (int)strcspn(c->transport, "+"), c->transport);
	else if ((w->near == FB_CUDA_PINNED || w->far == FB_CUDA_PINNED) &&
		 !strcmp(c->protocol, "ll128"))
		snprintf(reason, FB_REASON_CHARS, "128-byte stores do not cross PCIe in one piece");
	else if (w->far == FB_CUDA_PINNED && !fb_group_one_host(e->group))
		snprintf(reason, FB_REASON_CHARS, "shm does not reach other hosts");
	else
		return can_on_host(e, c, w, reason) && fb_cuda_can_network(e, c, w, reason);
	return false;
}

bool fb_cuda_nodes_reach(const struct fb_group *w, const struct fb_gpu *gpu)
{
	int all = 1;

	for (int r = 0; r < w->nranks; r++)
		all &= w->node_of[r] != w->node || gpu->reaches[r];
	MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, w->comm);
	return all;
}

int fb_cuda_choose_via(struct cuda_request *r)
{
	const struct fb_group *w = r->engine->group;

	uint8_t far = r->wires->far == FB_CUDA_PINNED ? FB_GPU_FAR : FB_GPU_PROXIED;
	bool near = r->wires->near != FB_CUDA_NOTHING;

	if (r->wires->far == FB_CUDA_NOTHING)
		return FB_OK;
	/* Zero is near. */
	r->via = calloc((size_t)w->nranks, sizeof(*r->via));
	if (!r->via)
		return FB_ENOMEM;
	for (int i = 0; i < w->nranks; i++)
		if (i != w->rank && (!near || w->node_of[i] != w->node))
			r->via[i] = far;
	return FB_OK;
}

/* Kind of memory that links of a kind are in; the kind of user buffers decides which handles. */
static enum fb_gpu_memory memory_of(enum fb_cuda_wire wire, const struct fb_case *c)
{
	if (wire == FB_CUDA_PINNED)
		return FB_GPU_PINNED;
	if (!strcmp(c->memory, "fabric"))
		return FB_GPU_FABRIC;
	return strcmp(c->memory, "vmm") ? FB_GPU_DEVICE : FB_GPU_VMM;
}

int fb_cuda_open_links(struct cuda_request *r, const struct fb_case *c, size_t scratch_bytes)
{
	const struct fb_gpu *gpu = &r->engine->gpu;
	enum fb_gpu_memory near = memory_of(r->wires->near, c);
	int err = fb_gpu_segment_open(&r->links, gpu, near, r->layout.bytes);

	if (!err && r->via)
		err = fb_gpu_segment_open(&r->far_links, gpu, FB_GPU_PINNED, r->layout.far_bytes);
	if (!err && scratch_bytes)
		err = fb_gpu_segment_open(&r->scratch, gpu, near, scratch_bytes);
	if (!err)
		err = fb_cuda_open_slots(r);
	return err;
}

uint64_t fb_cuda_links_address(const void *arg, int rank, int peer)
{
	const struct cuda_request *r = arg;
	int self = r->engine->group->rank, other = rank == self ? peer : rank;
	bool far = r->via && r->via[other] != FB_GPU_NEAR;

	if (far && r->via[other] == FB_GPU_PROXIED)
		return (uint64_t)(uintptr_t)fb_segment_part(&r->far_links, self) +
		       (rank == self ? 0 : r->layout.proxied);
	return (uint64_t)(uintptr_t)fb_segment_part(far ? &r->far_links : &r->links, rank);
}

void fb_cuda_describe_links(const struct cuda_request *r, char *text, size_t n)
{
	static const char *const names[FB_CUDA_WIRES] = {
		[FB_CUDA_NOTHING] = "", [FB_CUDA_PEER] = "peer memory",
		[FB_CUDA_PINNED] = "pinned host memory"};
	const char *near = names[r->wires->near], *far = names[r->wires->far];
	static const char *const slots[] = {
		[FB_CUDA_STAGED] = ", host-staged", [FB_CUDA_DMABUF] = ", GPUDirect dma-buf",
		[FB_CUDA_PEERMEM] = ", GPUDirect peermem"};
	char network[FB_PATH_CHARS - 48] = "", stripes[32] = "", size[FB_SIZE_CHARS];

	if (r->proxy_added) {
		fb_cuda_describe_network(r, network, sizeof(network));
		far = network;
	}
	if (r->striped && r->on_stripes)
		snprintf(stripes, sizeof(stripes), ", stripes of %s",
			 fb_size_text(r->shape.geometry.stripe, size));
	else if (r->striped)
		snprintf(stripes, sizeof(stripes), ", not striped");
	snprintf(text, n, "%s%s%s%s%s%s%s", near, *near && *far ? "+" : "", far,
		 r->proxy_added ? slots[r->slots.base ? r->engine->slots : FB_CUDA_STAGED] : "",
		 r->fused ? ", fused" : "", r->tma && !r->shared ? ", unaligned: by loads" : "",
		 stripes);
}
