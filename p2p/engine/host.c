/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host engine: messages between processors through the project's own transports, shared
 * memory inside a node and the network between nodes.
 *
 * Protocols: simple, ll and ll128 go through slots; direct writes into the receiver's buffer,
 * over tcp by the kernel, from and to the users' memory; split has both ends copy a half each.
 * put and get are plain copies by one end.
 *
 * It has loops of its own beside engines mover-shm and mover-tcp (over.c). Movers have neither
 * slots nor protocols, which are measured here, and they take longer with small messages. On two
 * EPYC cores, half a round trip of 8 bytes over tcp takes 3.2 us here and 6.65 by the mover. A put
 * of 8 bytes in shared memory takes 6 ns here and 8 by the mover, a get 5 and 7; with 64 KiB there
 * is no difference. Each figure is the least of the medians of 12 starts, taken in turn.
 */
#include "p2p/engine/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/keys.h"
#include "common/transport/tcp_run.h"

enum {
	DEFAULT_SLOT = 16 << 10, /* simple: both ends copy at once, and the first level holds it */
	DEFAULT_LL_SLOT = 8 << 10,
	DEFAULT_LL128_SLOT = 16 << 10,
	DEFAULT_TCP_SLOT = 128 << 10, /* loopback's packets are just under 64 KiB */
};

static const char *const host_protocols[] = {"simple", "ll", "ll128", "direct", "split", NULL};

static bool host_adjust(const struct fb_settings *settings, struct fb_case *c)
{
	if (strcmp(c->algorithm, fb_verbs[FB_SEND]))
		c->protocol = "direct"; /* there is no other way to write to, or read, memory */
	/* Messages over RDMA are engine rdma's. */
	if (!strcmp(settings->transport, "auto") && !strcmp(c->transport, "rdma"))
		c->transport = "tcp";
	fb_transport_keys(c, settings, false);
	return strcmp(c->transport, "rdma") != 0;
}

static int host_open(struct fb_p2p_engine *engine)
{
	struct fb_host_p2p *e = (struct fb_host_p2p *)engine;

	e->world = engine->group;
	e->settings = engine->session->settings;
	/* Options that this machine cannot carry out are found before anything is measured. */
	return fb_tcp_wants(&e->settings->tcp) ? fb_tcp_open(&e->tcp, e->world, &e->settings->tcp)
					       : FB_OK;
}

static void host_close(struct fb_p2p_engine *engine)
{
	struct fb_host_p2p *e = (struct fb_host_p2p *)engine;

	if (e->shm)
		e->shm->ops->close(e->shm);
	if (e->tcp)
		e->tcp->ops->close(e->tcp);
}

/* Whether the flow goes through shared memory. */
static bool uses_shm(const struct fb_host_p2p *e, const struct fb_case *c,
		     const struct fb_flow *flow)
{
	return strcmp(c->transport, "tcp") &&
	       e->world->node_of[flow->src] == e->world->node_of[flow->dst];
}

static bool is_direct(const struct fb_case *c)
{
	return !strcmp(c->protocol, "direct") || !strcmp(c->protocol, "split");
}

static bool host_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct fb_host_p2p *e = (const struct fb_host_p2p *)engine;
	bool shm = !strcmp(c->transport, "shm"), one_sided = job->verb != FB_SEND;
	bool far = false;

	for (int f = 0; f < job->nflows; f++)
		far |= !uses_shm(e, c, &job->flows[f]);
	if (shm && far)
		snprintf(reason, FB_REASON_CHARS, "shm does not reach the other node");
	else if (!strcmp(c->transport, "shm+tcp") && e->world->nnodes == 1)
		snprintf(reason, FB_REASON_CHARS, "one node: shm+tcp would be shm");
	else if (far && one_sided)
		snprintf(reason, FB_REASON_CHARS, "tcp has no %s", fb_verbs[job->verb]);
	else if (far && strcmp(c->protocol, "simple") && strcmp(c->protocol, "direct"))
		snprintf(reason, FB_REASON_CHARS, "tcp has no protocol %s", c->protocol);
	else
		return true;
	return false;
}

static size_t slot_limit(const struct fb_host_p2p *e, const struct fb_case *c, bool tcp)
{
	if (e->settings->slot_bytes)
		return e->settings->slot_bytes;
	if (tcp)
		return DEFAULT_TCP_SLOT;
	if (!strcmp(c->protocol, "ll"))
		return DEFAULT_LL_SLOT;
	return strcmp(c->protocol, "ll128") ? DEFAULT_SLOT : DEFAULT_LL128_SLOT;
}

/* The address of a flow's messages at this rank if all have the same one; else NULL. */
static char *own_memory(const struct fb_job *job, const struct fb_flow *flow, bool sends)
{
	if (job->regions > 1)
		return NULL;
	return sends ? fb_job_source(job, flow, 0) : fb_job_target(job, flow, 0);
}

/* Enters this rank's ends of the flows. */
static void list_ends(struct fb_host_p2p_request *r, const struct fb_case *c)
{
	int self = r->engine->world->rank;

	for (int f = 0; f < r->job->nflows; f++) {
		const struct fb_flow *flow = &r->job->flows[f];
		bool tcp = !uses_shm(r->engine, c, flow);
		size_t limit = slot_limit(r->engine, c, tcp);

		if (flow->src != self && flow->dst != self)
			continue;
		r->ends[r->nends++] = (struct fb_host_end){
			.job = r->job, .flow = flow, .sends = flow->src == self, .tcp = tcp,
			.piece = r->job->bytes < limit ? (size_t)r->job->bytes : limit,
			.step = fb_host_step(c, r->job, flow->src == self, tcp),
			.memory = own_memory(r->job, flow, flow->src == self),
		};
	}
}

/* Connects the ends that go through one of the transports. */
static int connect_ends(struct fb_host_p2p_request *r, const struct fb_case *c, bool tcp)
{
	struct fb_transport **t = tcp ? &r->engine->tcp : &r->engine->shm;
	struct fb_link_request *requests = calloc((size_t)r->nends + 1, sizeof(*requests));
	struct fb_port **ports = calloc((size_t)r->nends + 1, sizeof(struct fb_port *));
	int n = 0, err = fb_group_agree(r->engine->world, requests && ports ? FB_OK : FB_ENOMEM);

	if (!err && !*t)
		err = tcp ? fb_tcp_open(t, r->engine->world, &r->engine->settings->tcp)
			  : fb_transport_shm.open(t, r->engine->world);
	for (int i = 0; i < r->nends && !err && requests; i++) {
		const struct fb_host_end *end = &r->ends[i];

		if (end->tcp != tcp)
			continue;
		requests[n++] = (struct fb_link_request){
			.peer = end->sends ? end->flow->dst : end->flow->src,
			.id = (uint32_t)(end->flow - r->job->flows), .sends = end->sends,
			.slots = (uint32_t)r->engine->settings->slots,
			.slot_bytes = is_direct(c) ? (size_t)r->job->bytes : end->piece,
			.posted = tcp && is_direct(c), .headroom = true,
			.protocol = tcp ? "simple" : is_direct(c) ? "direct" : c->protocol,
		};
	}
	if (!err)
		err = (*t)->ops->connect(*t, requests, n, ports);
	free(requests);
	if (err) {
		free(ports);
		return err;
	}
	n = 0;
	for (int i = 0; i < r->nends && ports; i++)
		if (r->ends[i].tcp == tcp)
			r->ends[i].port = ports[n++];
	*(tcp ? &r->tcp_ports : &r->shm_ports) = ports;
	*(tcp ? &r->n_tcp : &r->n_shm) = n;
	return FB_OK;
}

static void host_release(struct fb_p2p_request *request)
{
	struct fb_host_p2p_request *r = (struct fb_host_p2p_request *)request;

	r->engine->last = NULL;
	if (r->shm_ports)
		r->engine->shm->ops->disconnect(r->engine->shm, r->shm_ports, r->n_shm);
	if (r->tcp_ports)
		r->engine->tcp->ops->disconnect(r->engine->tcp, r->tcp_ports, r->n_tcp);
	free(r->shm_ports);
	free(r->tcp_ports);
	free(r->ends);
	free(r);
}

/* Whether each rank has at most one peer, and at most one flow in each direction. */
static bool in_pairs(const struct fb_job *job)
{
	for (int i = 0; i < job->nflows; i++)
		for (int k = 0; k < i; k++) {
			const struct fb_flow *a = &job->flows[i], *b = &job->flows[k];
			bool back = a->src == b->dst && a->dst == b->src;

			if (!back && (a->src == b->src || a->src == b->dst || a->dst == b->src ||
				      a->dst == b->dst))
				return false;
		}
	return true;
}

/*
 * Whether the request's messages go without frames (tcp_run.h). Both ends of a flow get the same
 * answer. Small messages of a stream keep their frames, because their row shows the rate of
 * separate messages, each with a header.
 */
static bool may_run(const struct fb_host_p2p_request *r, const struct fb_case *c)
{
	bool long_enough = r->job->pattern == FB_PING_PONG || r->job->bytes >= FB_TCP_LARGE;

	for (int i = 0; i < r->n_tcp; i++)
		if (!fb_tcp_may_run(r->tcp_ports[i]))
			return false;
	return r->job->verb == FB_SEND && !strcmp(c->protocol, "direct") && long_enough &&
	       r->n_tcp == r->nends && in_pairs(r->job);
}

static int host_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
			const struct fb_job *job, struct fb_p2p_request **request)
{
	struct fb_host_p2p *e = (struct fb_host_p2p *)engine;
	struct fb_host_p2p_request *r = calloc(1, sizeof(*r));
	int err;

	if (r)
		r->ends = calloc((size_t)job->nflows, sizeof(*r->ends));
	err = fb_group_agree(e->world, r && r->ends ? FB_OK : FB_ENOMEM);
	if (err || !r || !r->ends)
		goto free_request;
	r->request.engine = engine;
	r->engine = e;
	r->job = job;
	list_ends(r, c);
	e->last = NULL;
	if (job->verb == FB_SEND && strcmp(c->transport, "tcp"))
		err = connect_ends(r, c, false);
	if (!err && job->verb == FB_SEND && strcmp(c->transport, "shm"))
		err = connect_ends(r, c, true);
	if (err) {
		host_release(&r->request);
		return err;
	}
	r->runs = may_run(r, c);
	if (job->verb != FB_SEND) {
		atomic_store(fb_job_completed(job, e->world->rank), 0);
		MPI_Barrier(e->world->comm);
	}
	*request = &r->request;
	return FB_OK;
free_request:
	if (r)
		free(r->ends);
	free(r);
	return err;
}

static void host_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	struct fb_host_p2p_request *r = (struct fb_host_p2p_request *)request;
	bool shm = false;
	char tcp[FB_PATH_CHARS - 8] = "", name[64];

	for (int i = 0; i < r->nends; i++) {
		const struct fb_host_end *end = &r->ends[i];
		int peer = end->sends ? end->flow->dst : end->flow->src;

		if (!end->tcp)
			shm = true;
		else if (!tcp[0])
			r->engine->tcp->ops->describe(r->engine->tcp, peer, tcp, sizeof(tcp));
	}
	/* "tcp eth0 10.0.0.1": for whoever looks for the adapter of a slow rank. */
	if (sscanf(tcp, "tcp %63s", name) == 1)
		fb_launch_fact(r->request.engine->session, "rank.tcp", "%s", name);
	snprintf(traits->path, sizeof(traits->path), "%s%s%s", shm ? "shm" : "",
		 shm && tcp[0] ? "+" : "", tcp);
	traits->channels = 1;
}

const struct fb_p2p_engine_ops fb_p2p_host = {
	.name = "host",
	.own = true,
	.gpu_memory = 1 << FB_GPU_PINNED,
	.protocols = host_protocols,
	.adjust = host_adjust,
	.bytes = sizeof(struct fb_host_p2p),
	.open = host_open,
	.close = host_close,
	.can = host_can,
	.prepare = host_prepare,
	.run = fb_host_run,
	.describe = host_describe,
	.release = host_release,
};
