/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the transport of each link of a request, and connects the links. Links inside a node use
 * shared memory if the case's transport names it. All other links use the network that it names.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/host.h"
#include "common/base/error.h"
#include "common/transport/tcp.h"

bool fb_host_uses_rdma(const struct fb_case *c)
{
	return strstr(c->transport, "rdma") != NULL;
}

static bool uses_shm(const struct fb_case *c)
{
	return !strncmp(c->transport, "shm", 3);
}

static bool uses_network(const struct fb_case *c)
{
	return strcmp(c->transport, "shm") != 0;
}

bool fb_host_uses_shm(const struct host_engine *e, const struct fb_case *c, int a, int b)
{
	return uses_shm(c) && e->group->node_of[a] == e->group->node_of[b];
}

/* The case's protocol, or "simple" on the links of a transport that does not have it. */
static const char *protocol_of(const struct fb_transport *t, const struct fb_case *c)
{
	return t->ops->speaks(t, c->protocol) ? c->protocol : "simple";
}

static int add_requests(const struct host_request *r, const struct fb_case *c, int channel,
			const struct fb_transport *t, struct fb_link_request *requests, int n)
{
	const struct host_channel *ch = &r->channels[channel];
	int self = r->engine->group->rank;
	bool near = t == r->engine->shm;

	for (int out = 0; out < 2; out++) {
		const struct fb_link *links = out ? ch->plan->out_links : ch->plan->in_links;
		int count = out ? ch->plan->n_out_links : ch->plan->n_in_links;

		for (int i = 0; i < count; i++) {
			if (fb_host_uses_shm(r->engine, c, self, links[i].peer) != near)
				continue;
			if (requests)
				requests[n] = (struct fb_link_request){
					.peer = links[i].peer, .sends = out,
					.id = (uint32_t)(channel * FB_MAX_LANES + links[i].lane),
					.slots = (uint32_t)r->engine->settings->slots,
					.slot_bytes = r->slot_bytes,
					.protocol = protocol_of(t, c),
				};
			n++;
		}
	}
	return n;
}

/* Hands the connected ports to the channels, in the order add_requests() asked for them. */
static int take_ports(struct host_request *r, const struct fb_case *c, int channel, bool near,
		      struct fb_port **ports, int n)
{
	struct host_channel *ch = &r->channels[channel];
	int self = r->engine->group->rank;

	for (int out = 0; out < 2; out++) {
		const struct fb_link *links = out ? ch->plan->out_links : ch->plan->in_links;
		int count = out ? ch->plan->n_out_links : ch->plan->n_in_links;

		for (int i = 0; i < count; i++)
			if (fb_host_uses_shm(r->engine, c, self, links[i].peer) == near)
				(out ? ch->out : ch->in)[i] = ports[n++];
	}
	return n;
}

static int connect_transport(struct host_request *r, const struct fb_case *c,
			     struct fb_transport *t, struct fb_port ***ports, int *count)
{
	struct fb_link_request *requests = NULL;
	int n = 0, at = 0, err, own;

	for (int i = 0; i < r->nchannels; i++)
		n = add_requests(r, c, i, t, NULL, n);
	requests = calloc((size_t)n + 1, sizeof(*requests));
	*ports = calloc((size_t)n + 1, sizeof(**ports));
	own = requests && *ports ? FB_OK : FB_ENOMEM;
	err = fb_group_agree(r->engine->group, own);
	for (int i = 0; i < r->nchannels && !err && !own; i++)
		at = add_requests(r, c, i, t, requests, at);
	if (!err && !own)
		err = t->ops->connect(t, requests, n, *ports);
	free(requests);
	if (err || own) {
		free(*ports);
		*ports = NULL;
		return err;
	}
	*count = n;
	at = 0;
	for (int i = 0; i < r->nchannels; i++)
		at = take_ports(r, c, i, t == r->engine->shm, *ports, at);
	return FB_OK;
}

/* The network of the case; rdma was opened with the engine. */
static int open_network(struct host_request *r, const struct fb_case *c)
{
	struct host_engine *e = r->engine;
	int err = FB_OK;

	if (!fb_host_uses_rdma(c) && !e->tcp)
		err = fb_tcp_open(&e->tcp, e->group, &e->settings->tcp);
	r->far = fb_host_uses_rdma(c) ? e->rdma : e->tcp;
	return err;
}

int fb_host_connect(struct host_request *r, const struct fb_case *c)
{
	struct host_engine *e = r->engine;
	int err = FB_OK;

	if (uses_shm(c)) {
		if (!e->shm)
			err = fb_transport_shm.open(&e->shm, e->group);
		if (!err)
			err = connect_transport(r, c, e->shm, &r->shm_ports, &r->n_shm);
	}
	if (!err && uses_network(c)) {
		err = open_network(r, c);
		if (!err)
			err = connect_transport(r, c, r->far, &r->far_ports, &r->n_far);
	}
	return err;
}

void fb_host_disconnect(struct host_request *r)
{
	if (r->shm_ports)
		r->engine->shm->ops->disconnect(r->engine->shm, r->shm_ports, r->n_shm);
	if (r->far_ports)
		r->far->ops->disconnect(r->far, r->far_ports, r->n_far);
	free(r->shm_ports);
	free(r->far_ports);
}
