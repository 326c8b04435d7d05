/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host engine: runs any plan between ranks on processors, over shared memory inside a node
 * and over the network between nodes. See host_setup.c and host_run.c.
 */
#include "collectives/engine/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/plan_proof.h"
#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/transport/rdma.h"
#include "common/transport/tcp.h"

/* Whether --transport asks for RDMA. Unknown names are reported later, when cases are made. */
static bool asks_for_rdma(const char *list, const struct fb_group *group)
{
	char item[64];

	if (list && !strcmp(list, "auto"))
		return fb_group_takes_rdma(group);
	while (list && fb_option_next_item(&list, item, sizeof(item)) > 0)
		if (!strcmp(item, "all") || strstr(item, "rdma"))
			return true;
	return false;
}

static void host_close(struct fb_engine *engine)
{
	struct host_engine *e = (struct host_engine *)engine;

	if (e->shm)
		e->shm->ops->close(e->shm);
	if (e->tcp)
		e->tcp->ops->close(e->tcp);
	if (e->rdma)
		e->rdma->ops->close(e->rdma);
}

static int host_open(struct fb_engine *engine)
{
	struct host_engine *e = (struct host_engine *)engine;
	int err = FB_OK;

	e->group = engine->group;
	e->settings = engine->session->settings;
	e->topology = (struct fb_topology){
		.nranks = e->group->nranks, .nnodes = e->group->nnodes,
		.node_of = e->group->node_of, .local_rank_of = e->group->local_rank_of,
	};
	/* Opened now if the machine may refuse its options: before anything is measured. */
	if (fb_tcp_wants(&e->settings->tcp))
		err = fb_tcp_open(&e->tcp, e->group, &e->settings->tcp);
	if (!err && asks_for_rdma(e->settings->transport, e->group)) {
		/* Without RDMA its rows are skipped with the reason, which is no error. */
		err = fb_rdma_open(&e->rdma, e->group, &e->settings->rdma, e->no_rdma,
				   sizeof(e->no_rdma));
		err = err == FB_EUNSUPPORTED ? FB_OK : err;
	}
	return err;
}

static const struct fb_algorithm *find_algorithm(const struct fb_operation *op,
						 const struct fb_case *c, const char **stages)
{
	return fb_algorithm_of_text(op->collective, c->algorithm, stages);
}

static bool can_transport(const struct host_engine *e, const struct fb_case *c, char *reason)
{
	bool tcp_only = !strcmp(c->transport, "tcp"), both = strchr(c->transport, '+') != NULL;
	const char *polled = both			      ? "links in shared memory"
			     : !strcmp(c->protocol, "ll")     ? "ll, which is polled in memory"
			     : !strcmp(c->launch, "nonblocking") ? "calls that are tested"
								 : NULL;

	if (!strncmp(c->transport, "p2p", 3))
		snprintf(reason, FB_REASON_CHARS, "transport p2p connects GPUs, not processors");
	else if (!strcmp(c->transport, "shm") && e->group->nnodes > 1)
		snprintf(reason, FB_REASON_CHARS, "shm does not reach the other %d nodes",
			 e->group->nnodes - 1);
	else if (both && e->group->nnodes == 1)
		snprintf(reason, FB_REASON_CHARS, "one node: %s would be shm", c->transport);
	else if (fb_host_uses_rdma(c) && !e->rdma)
		snprintf(reason, FB_REASON_CHARS, "%s", e->no_rdma);
	else if (fb_host_uses_rdma(c) && fb_rdma_sleeps(&e->settings->rdma) && polled)
		snprintf(reason, FB_REASON_CHARS, "--rdma-wait: no sleep with %s", polled);
	else if (!strcmp(c->protocol, "tma") || !strcmp(c->protocol, "striped"))
		snprintf(reason, FB_REASON_CHARS, "%s is a protocol between GPUs", c->protocol);
	else if (tcp_only && strcmp(c->protocol, "simple"))
		snprintf(reason, FB_REASON_CHARS, "tcp has no protocol %s", c->protocol);
	else if (!both && fb_host_uses_rdma(c) && !e->rdma->ops->speaks(e->rdma, c->protocol))
		snprintf(reason, FB_REASON_CHARS, "rdma has no protocol %s", c->protocol);
	else
		return true;
	return false;
}

static bool host_can(const struct fb_engine *engine, const struct fb_case *c,
		     const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct host_engine *e = (const struct host_engine *)engine;
	const char *stages;
	const struct fb_algorithm *a = find_algorithm(op, c, &stages);
	const struct fb_collective_info *info = fb_collective_info(op->collective);
	bool direct = !strcmp(c->protocol, "direct");
	struct fb_shape shape;
	unsigned wanted = direct ? FB_DIRECT_PROTOCOL : FB_FIFO_PROTOCOLS;

	if (!a) {
		snprintf(reason, FB_REASON_CHARS, "%s has no algorithm %s", info->name,
			 c->algorithm);
		return false;
	}
	shape = fb_host_shape(e, op, stages, 0, fb_host_channels(e, op, a));
	if (!fb_algorithm_can(a, &shape, reason, FB_REASON_CHARS))
		return false;
	if (a->protocols && !(a->protocols & wanted)) {
		snprintf(reason, FB_REASON_CHARS, "%s does not work over %s links", a->name,
			 direct ? "direct" : "slotted");
		return false;
	}
	if (info->reduces && op->collective != FB_BARRIER &&
	    !fb_can_reduce(op->datatype, op->redop)) {
		snprintf(reason, FB_REASON_CHARS, "no %s of %s", fb_redop_name(op->redop),
			 fb_datatype_name(op->datatype));
		return false;
	}
	return can_transport(e, c, reason);
}

static int host_prepare(struct fb_request *request, const struct fb_case *c,
			const struct fb_operation *op)
{
	struct host_request *r = (struct host_request *)request;

	r->engine = (struct host_engine *)request->engine;
	r->op = op;
	r->algorithm = find_algorithm(op, c, &r->stages);
	r->nchannels = fb_host_channels(r->engine, op, r->algorithm);
	return fb_host_setup(r, c);
}

static int host_start(struct fb_request *request)
{
	struct host_request *r = (struct host_request *)request;

	fb_host_start(r);
	return fb_host_progress(r);
}

static int host_test(struct fb_request *request, bool *done)
{
	struct host_request *r = (struct host_request *)request;
	int err = fb_host_done(r) ? FB_OK : fb_host_progress(r);

	*done = fb_host_done(r);
	return err;
}

static int host_wait(struct fb_request *request)
{
	struct host_request *r = (struct host_request *)request;
	struct fb_spin spin = {.yields = r->engine->group->oversubscribed,
			       .calls = r->far && r->far == r->engine->tcp && !r->n_shm};
	bool rests = r->far && r->far == r->engine->rdma &&
		     fb_rdma_sleeps(&r->engine->settings->rdma);
	int err = FB_OK;

	while (!err && !fb_host_done(r)) {
		uint64_t before = r->steps;
		bool idle = false;

		err = fb_host_progress(r);
		if (r->steps != before)
			spin.looks = 0;
		else if (!err && rests)
			err = r->far->ops->rest(r->far, &idle);
		else
			idle = fb_spin_again(&spin);
		if (!err && idle)
			err = fb_alive(request->engine->session, "waiting for peers' messages");
	}
	return err;
}

static void host_describe(struct fb_request *request, struct fb_traits *traits)
{
	struct host_request *r = (struct host_request *)request;
	const struct fb_group *w = r->engine->group;
	char far[FB_PATH_CHARS - 8] = "", name[64];

	traits->channels = r->nchannels;
	for (int rank = 0; rank < w->nranks && r->n_far && !far[0]; rank++)
		if (w->node_of[rank] != w->node || !r->n_shm)
			r->far->ops->describe(r->far, rank, far, sizeof(far));
	/* From "tcp eth0 10.0.0.1": the adapter of each rank, to find that of a slow rank. */
	if (sscanf(far, "tcp %63s", name) == 1)
		fb_launch_fact(request->engine->session, "rank.tcp", "%s", name);
	else if (sscanf(far, "rdma %63s", name) == 1)
		fb_launch_fact(request->engine->session, "rank.rdma", "%s", name);
	snprintf(traits->path, sizeof(traits->path), "%s%s%s", r->n_shm ? "shm" : "",
		 r->n_shm && r->n_far ? "+" : "", far);
}

static int host_check_plan(struct fb_engine *engine, const struct fb_case *c,
			   const struct fb_operation *op, FILE *report)
{
	const struct host_engine *e = (const struct host_engine *)engine;
	const char *stages;
	const struct fb_algorithm *a = find_algorithm(op, c, &stages);
	enum fb_direct_links direct = strcmp(c->protocol, "direct") ? FB_NO_DIRECT_LINKS
				      : fb_host_uses_rdma(c) ? FB_ALL_DIRECT_LINKS
							     : FB_NODE_DIRECT_LINKS;
	struct fb_shape shape = fb_host_shape(e, op, stages, 0, fb_host_channels(e, op, a));

	return fb_prove_plans(c, a, &shape, direct, (int)e->settings->slots, report);
}

const struct fb_engine_ops fb_engine_host = {
	.name = "host",
	.planned = true,
	.bytes = sizeof(struct host_engine),
	.request_bytes = sizeof(struct host_request),
	.open = host_open,
	.close = host_close,
	.can = host_can,
	.prepare = host_prepare,
	.start = host_start,
	.test = host_test,
	.wait = host_wait,
	.describe = host_describe,
	.release = fb_host_teardown,
	.check_plan = host_check_plan,
};
