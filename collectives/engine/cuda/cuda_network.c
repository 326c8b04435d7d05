/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA engine's links over networks: the transport, its proxy (proxy_links.h), and
 * the links of a request. Sockets are opened when the first case needs them, RDMA devices with
 * the engine, because rows are to say where there is none. Bytes are staged in pinned host memory,
 * or RDMA devices reach them in GPU memory (cuda_direct.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/cuda/cuda_engine.h"
#include "collectives/engine/cuda/proxy.h"
#include "common/base/error.h"
#include "common/transport/rdma.h"
#include "common/transport/tcp.h"

static bool is_network(enum fb_cuda_wire wire)
{
	return wire == FB_CUDA_TCP || wire == FB_CUDA_RDMA;
}

static int open_rdma(struct cuda_engine *e)
{
	return fb_rdma_open(&e->network[FB_CUDA_RDMA], e->group, &e->rdma, e->no_rdma,
			    sizeof(e->no_rdma));
}

int fb_cuda_network_open(struct cuda_engine *e)
{
	const char *asked = e->settings->transport;
	bool usual = !strcmp(asked, "auto") && fb_group_takes_rdma(e->group) && !e->gpu.all_reach;
	int err;

	if (!usual && !strstr(asked, "rdma") && strcmp(asked, "all") != 0)
		return FB_OK;
	e->rdma = e->settings->rdma;
	e->rdma.near = e->gpu.bus_id;
	err = open_rdma(e);
	if (!err)
		err = fb_group_agree(e->group, fb_cuda_choose_slots(e));
	if (!err && e->slots != FB_CUDA_STAGED && e->rdma.notify != FB_RDMA_NOTIFY_IMM) {
		/* Completions only: proxy_links.h. */
		e->network[FB_CUDA_RDMA]->ops->close(e->network[FB_CUDA_RDMA]);
		e->network[FB_CUDA_RDMA] = NULL;
		e->rdma.notify = FB_RDMA_NOTIFY_IMM;
		err = open_rdma(e);
	}
	/* That there is none is no error: its rows say so. */
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

void fb_cuda_network_close(struct cuda_engine *e)
{
	for (int i = 0; i < FB_CUDA_WIRES; i++) {
		fb_gpu_proxy_close(e->proxy[i]);
		if (e->network[i])
			e->network[i]->ops->close(e->network[i]);
	}
}

bool fb_cuda_can_network(const struct cuda_engine *e, const struct fb_case *c,
			 const struct fb_cuda_wires *w, char *reason)
{
	bool near = w->near != FB_CUDA_NOTHING;

	if (!is_network(w->far))
		return true;
	if (w->far == FB_CUDA_RDMA && !e->network[FB_CUDA_RDMA])
		snprintf(reason, FB_REASON_CHARS, "%s", e->no_rdma);
	else if (w->far == FB_CUDA_RDMA && fb_rdma_sleeps(&e->settings->rdma))
		snprintf(reason, FB_REASON_CHARS, "--rdma-wait: the thread that carries GPUs' "
			 "messages polls");
	else if (strcmp(c->protocol, "simple") && (!near || strcmp(c->protocol, "direct")))
		snprintf(reason, FB_REASON_CHARS, "between GPUs %s has no protocol %s",
			 w->far == FB_CUDA_RDMA ? "rdma" : "tcp", c->protocol);
	else
		return true;
	return false;
}

/* The transport and its thread, the first time. Collective. */
static int open_wire(struct cuda_engine *e, enum fb_cuda_wire wire)
{
	int err = FB_OK;

	if (!e->network[wire])
		err = fb_tcp_open(&e->network[wire], e->group, &e->settings->tcp);
	if (!err && !e->proxy[wire])
		err = fb_gpu_proxy_open(&e->proxy[wire], e->network[wire]);
	return fb_group_agree(e->group, err);
}

static int poll_proxied(void *arg)
{
	const struct cuda_request *r = arg;

	return fb_gpu_proxy_state(r->engine->proxy[r->wires->far]);
}

int fb_cuda_connect(struct cuda_request *r)
{
	struct cuda_engine *e = r->engine;
	enum fb_cuda_wire wire = r->wires->far;
	int err;

	if (!is_network(wire))
		return FB_OK;
	err = open_wire(e, wire);
	fb_cuda_proxied_slots(r);
	if (!err)
		err = fb_gpu_proxy_add(e->proxy[wire], &r->proxied, (uint32_t)e->settings->slots);
	r->proxy_added = !err;
	return err;
}

void fb_cuda_watch(struct cuda_request *r)
{
	if (r->proxy_added)
		fb_gpu_stream_watch(r->on.stream, poll_proxied, r);
}

void fb_cuda_disconnect(struct cuda_request *r)
{
	if (r->proxy_added)
		fb_gpu_proxy_remove(r->engine->proxy[r->wires->far], &r->proxied);
	fb_gpu_proxy_links_close(&r->proxied);
}

void fb_cuda_describe_network(const struct cuda_request *r, char *text, size_t n)
{
	const struct fb_group *w = r->engine->group;
	const struct fb_transport *t = r->engine->network[r->wires->far];

	text[0] = '\0';
	for (int rank = 0; rank < w->nranks && !text[0]; rank++)
		if (rank != w->rank && r->via[rank] == FB_GPU_PROXIED)
			t->ops->describe(t, rank, text, n);
}
