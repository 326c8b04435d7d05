/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a rank's ends of a job in the ucx engine; see ucx.h. */
#include "p2p/engine/ucx.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { AHEAD = 2, CELL_BYTES = 4096 };

const char *const fb_ucx_verbs[] = {
	[FB_UCX_TAG] = "tag", [FB_UCX_AM] = "am", [FB_UCX_PUT] = "put", [FB_UCX_GET] = "get",
	[FB_UCX_VERBS] = NULL,
};

enum fb_ucx_verb fb_ucx_verb_of(const char *protocol)
{
	int verb = 0;

	while (fb_ucx_verbs[verb] && strcmp(fb_ucx_verbs[verb], protocol))
		verb++;
	return (enum fb_ucx_verb)verb;
}

static void free_request(struct fb_ucx_request *r)
{
	if (!r)
		return;
	for (int i = 0; i < r->nends; i++) {
		free(r->ends[i].pending);
		free(r->ends[i].headers);
	}
	free(r->ends);
	free(r);
}

static enum fb_ucx_role role_of(const struct fb_ucx_request *r, const struct fb_flow *flow)
{
	const struct fb_job *job = r->job;
	int rank = r->engine->world->rank;

	if (job->verb != FB_SEND)
		return fb_job_origin(job, flow) == rank ? FB_UCX_POSTS : FB_UCX_WAITS;
	if (flow->src == rank)
		return FB_UCX_POSTS;
	return r->verb == FB_UCX_TAG ? FB_UCX_RECEIVES : FB_UCX_ARRIVES;
}

/* All but the keys; true: there is memory. */
static bool make_end(struct fb_ucx_request *r, uint32_t index)
{
	struct fb_ucx_engine *e = r->engine;
	const struct fb_job *job = r->job;
	const struct fb_flow *flow = &job->flows[index];
	struct fb_ucx_end *end = &r->ends[r->nends++];
	bool source = flow->src == e->world->rank;

	*end = (struct fb_ucx_end){
		.request = r, .index = index,
		.peer = source ? flow->dst : flow->src, .role = role_of(r, flow),
		.local = source ? fb_job_source(job, flow, 0) : fb_job_target(job, flow, 0),
		.remote = source ? flow->receive_offset : flow->send_offset,
		.depth = (uint64_t)job->window < AHEAD ? AHEAD : (uint64_t)job->window,
	};
	/* One message is under way at a time, if it is posted; receives go ahead. */
	if (end->role == FB_UCX_POSTS)
		end->depth = (uint64_t)job->window;
	end->link = &e->links[end->peer];
	end->pending = calloc(end->depth + AHEAD, sizeof(fb_ucx_pending));
	end->headers = calloc(end->depth + AHEAD, sizeof(*end->headers));
	return end->pending && end->headers;
}

static int make_request(struct fb_ucx_engine *e, const struct fb_case *c,
			const struct fb_job *job, struct fb_ucx_request **made)
{
	struct fb_ucx_request *r = calloc(1, sizeof(*r));
	bool enough;

	if (!r)
		return FB_ENOMEM;
	r->request.engine = &e->engine;
	r->engine = e;
	r->job = job;
	r->serial = e->serial;
	r->verb = fb_ucx_verb_of(c->protocol);
	/* Probes by put or get have a load that uses send. */
	if (job->verb == FB_SEND && r->verb >= FB_UCX_PUT && job->pattern != FB_PING_PONG)
		r->verb = FB_UCX_TAG;
	r->ends = calloc((size_t)job->nflows + 1, sizeof(*r->ends));
	enough = r->ends != NULL;
	for (int f = 0; f < job->nflows && enough; f++)
		if (job->flows[f].src == e->world->rank || job->flows[f].dst == e->world->rank)
			enough = make_end(r, (uint32_t)f);
	if (!enough) {
		free_request(r);
		return FB_ENOMEM;
	}
	*made = r;
	return FB_OK;
}

static int connect_peers(struct fb_ucx_request *r)
{
	int *peers = calloc((size_t)r->nends + 1, sizeof(*peers));
	int err = fb_group_agree(r->engine->world, peers ? FB_OK : FB_ENOMEM);

	for (int i = 0; i < r->nends && peers; i++)
		peers[i] = r->ends[i].peer;
	if (!err)
		err = fb_ucx_connect(r->engine, peers, r->nends);
	free(peers);
	return err;
}

/* Collective: for put and get, the job's memory; for ping-pong by put the cells too. */
static int share(struct fb_ucx_request *r)
{
	struct fb_ucx_engine *e = r->engine;
	const struct fb_segment *segment = r->job->segment;
	size_t bytes = (size_t)e->world->nranks * sizeof(*e->cells);
	int index = fb_ucx_share_memory(e, fb_segment_part(segment, e->world->rank),
					segment->part_bytes), err = FB_OK;

	if (index < 0)
		return index;
	if (r->job->verb == FB_SEND && !e->cells) {
		bytes = (bytes + CELL_BYTES - 1) / CELL_BYTES * CELL_BYTES;
		e->cells = aligned_alloc(CELL_BYTES, bytes);
		err = fb_group_agree(e->world, e->cells ? FB_OK : FB_ENOMEM);
		if (err || !e->cells)
			return err;
		memset(e->cells, 0, bytes);
		e->cells_share = fb_ucx_share_memory(e, e->cells, bytes);
		if (e->cells_share < 0)
			return e->cells_share;
	}
	for (int i = 0; i < r->nends && !err; i++) {
		struct fb_ucx_end *end = &r->ends[i];

		end->remote += e->share[index].bases[end->peer];
		if (end->role == FB_UCX_POSTS)
			err = fb_ucx_reach(e, index, end->peer, &end->rkey);
	}
	return fb_group_agree(e->world, err);
}

static void set_live(struct fb_ucx_engine *e, const struct fb_ucx_request *was,
		     struct fb_ucx_request *is)
{
	int i = 0;

	while (i < FB_UCX_REQUESTS - 1 && e->live[i] != was)
		i++;
	e->live[i] = is;
}

int fb_ucx_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
		   const struct fb_job *job, struct fb_p2p_request **request)
{
	struct fb_ucx_engine *e = (struct fb_ucx_engine *)engine;
	struct fb_ucx_request *r = NULL;
	int err;

	e->serial++;
	err = fb_group_agree(e->world, make_request(e, c, job, &r));
	if (!err)
		err = connect_peers(r);
	if (!err && (r->verb == FB_UCX_PUT || r->verb == FB_UCX_GET))
		err = share(r);
	if (err || !r) {
		free_request(r);
		return err;
	}
	fb_ucx_path(&e->ucx, r->nends ? r->ends[0].link->ep : NULL, r->path, sizeof(r->path));
	if (job->verb != FB_SEND && !job->segment->ops->device)
		atomic_store(fb_job_completed(job, e->world->rank), 0);
	set_live(e, NULL, r);
	/* After this barrier messages may arrive. */
	err = fb_ucx_barrier(e);
	if (err) {
		fb_ucx_release(&r->request);
		return err;
	}
	*request = &r->request;
	return FB_OK;
}

void fb_ucx_release(struct fb_p2p_request *request)
{
	struct fb_ucx_request *r = (struct fb_ucx_request *)request;

	set_live(r->engine, r, NULL);
	free_request(r);
}
