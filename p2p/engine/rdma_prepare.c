/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the rdma engine's lanes and requests of a job; see rdma.h. */
#include "p2p/engine/rdma.h"

#if FB_HAVE_VERBS

#include <stdlib.h>

#include "common/base/error.h"

void fb_raw_free(struct fb_raw_request *r)
{
	if (!r)
		return;
	free(r->ends);
	free(r->lanes);
	free(r->reach);
	free(r);
}

static enum fb_raw_role role_of(const struct fb_raw_request *r, bool sends)
{
	if (r->job->verb != FB_SEND)
		return sends == (r->job->verb == FB_PUT) ? FB_RAW_POSTS : FB_RAW_WAITS;
	if (sends)
		return FB_RAW_POSTS;
	return r->verb == FB_RAW_WRITE ? FB_RAW_WATCHES : FB_RAW_RECEIVES;
}

static void list_ends(struct fb_raw_request *r)
{
	int self = r->engine->world->rank;

	for (int f = 0; f < r->job->nflows; f++) {
		const struct fb_flow *flow = &r->job->flows[f];
		bool sends = flow->src == self;

		if (flow->src != self && flow->dst != self)
			continue;
		r->ends[r->nends++] = (struct fb_raw_end){
			.flow = flow, .peer = sends ? flow->dst : flow->src,
			.role = role_of(r, sends),
			.credits = r->job->verb == FB_SEND && r->job->pattern != FB_PING_PONG,
		};
	}
}

/* Distributes messages over queues, each of which may have `depth` requests under way. */
static int share_out(const struct fb_raw_request *r, uint32_t depth,
		     struct fb_raw_share shares[FB_RAW_LANES])
{
	const struct fb_raw_engine *e = r->engine;
	const struct fb_raw_deal deal = {
		.bytes = (size_t)r->job->bytes, .window = r->job->window, .rails = e->nrails,
		.qps = (int)e->qps, .stripe = e->settings->stripe,
		.depth = depth - FB_RAW_FLAGS,
	};

	return fb_raw_share_out(&deal, shares);
}

static bool goes_ahead(const struct fb_raw_request *r)
{
	return r->job->pattern == FB_PING_PONG;
}

/* Queues just deep enough for the job: with deeper ones lane_window() would be no larger. */
static struct fb_raw_depth depth_for(const struct fb_raw_request *r)
{
	struct fb_raw_share shares[FB_RAW_LANES];
	uint32_t each = (uint32_t)share_out(r, r->engine->deepest, shares), most, window = 1;
	struct fb_raw_depth depth;

	for (uint32_t l = 0; l < each; l++)
		window = shares[l].window > window ? shares[l].window : window;
	if (goes_ahead(r))
		window = FB_RAW_AHEAD;
	depth.send = goes_ahead(r) ? 2 * window : window + FB_RAW_FLAGS;
	/* A stream posts receives for several windows, so that few credit messages are needed. */
	depth.receive = r->job->verb != FB_SEND ? 1 : goes_ahead(r) ? 2 * window : 8 * window;
	most = depth.send > depth.receive ? depth.send : depth.receive;
	depth.completions = (2 * each * most + FB_RAW_BELLS) * (uint32_t)r->nends;
	return depth;
}

/* How many requests the lane may have under way, such that all completions find room. */
static uint32_t lane_window(const struct fb_raw_request *r, const struct fb_raw_end *end,
			    const struct fb_raw_share *share, int lanes)
{
	const struct fb_raw_engine *e = r->engine;
	uint32_t window = end->role == FB_RAW_RECEIVES ? e->depth.receive : share->window;
	uint32_t fair = e->completions[share->rail].entries / 2 / (uint32_t)lanes;

	if (end->role == FB_RAW_POSTS && goes_ahead(r))
		window = e->depth.send / 2 < FB_RAW_AHEAD ? e->depth.send / 2 : FB_RAW_AHEAD;
	window = window < fair ? window : fair;
	return window ? window : 1;
}

/* The share's lane, of the end's flow. */
static void make_lane(struct fb_raw_request *r, struct fb_raw_end *end,
		      const struct fb_raw_share *share, struct fb_raw_lane *lane, uint32_t window)
{
	struct fb_raw_engine *e = r->engine;
	const struct fb_job *job = r->job;
	const struct fb_flow *flow = end->flow;
	bool receives = flow->dst == e->world->rank;
	const struct fb_rdma_region *region =
		fb_rdma_find(&e->cache, fb_segment_part(job->segment, e->world->rank), 1);
	char *local = receives ? fb_job_target(job, flow, 0) : fb_job_source(job, flow, 0);
	uint64_t remote = r->reach[end->peer].base +
			  (receives ? flow->send_offset : flow->receive_offset);

	*lane = (struct fb_raw_lane){
		.queue = &e->links[end->peer].queues[(size_t)share->rail * e->settings->qps +
						     (size_t)share->queue],
		.share = *share, .window = window, .regions = (uint32_t)job->regions,
		.stride = job->stride, .id = (int)(lane - r->lanes), .verb = r->verb,
		.device = r->device,
	};
	fb_raw_lane_build(lane, local + share->offset, region->mr[share->rail]->lkey,
			  remote + share->offset, r->reach[end->peer].rkey[share->rail],
			  end->role == FB_RAW_RECEIVES, e->settings);
	fb_raw_lane_expect(r, end, lane);
}

static int make_lanes(struct fb_raw_request *r)
{
	struct fb_raw_share shares[FB_RAW_LANES];
	int each = share_out(r, r->engine->depth.send, shares), at = 0;

	r->lanes = calloc((size_t)each * (size_t)r->nends + 1, sizeof(*r->lanes));
	if (!r->lanes)
		return fb_error(FB_ENOMEM, "rdma: out of memory for %d queues", each * r->nends);
	for (int i = 0; i < r->nends; i++) {
		struct fb_raw_end *end = &r->ends[i];
		const struct fb_raw_link *link = &r->engine->links[end->peer];

		end->base = end->role == FB_RAW_POSTS ? link->sent : link->received;
		end->lanes = r->lanes + at;
		end->nlanes = end->role == FB_RAW_WAITS ? 0 : each;
		for (int l = 0; l < end->nlanes; l++, at++)
			make_lane(r, end, &shares[l],
				  &r->lanes[at],
				  lane_window(r, end, &shares[l], each * r->nends));
	}
	for (int l = 0; l < each; l++)
		r->rails |= 1u << shares[l].rail;
	r->nlanes = at;
	r->each = each;
	return FB_OK;
}

static int make_request(struct fb_raw_engine *e, const struct fb_case *c,
			const struct fb_job *job, struct fb_raw_request **made)
{
	struct fb_raw_request *r = calloc(1, sizeof(*r));

	if (r) {
		r->ends = calloc((size_t)job->nflows + 1, sizeof(*r->ends));
		r->reach = calloc((size_t)e->world->nranks, sizeof(*r->reach));
	}
	if (fb_group_agree(e->world, r && r->ends && r->reach ? FB_OK : FB_ENOMEM)) {
		fb_raw_free(r);
		return FB_ENOMEM;
	}
	r->request.engine = &e->engine;
	r->engine = e;
	r->job = job;
	r->device = job->segment->ops->device;
	r->verb = fb_raw_verb_of(c->protocol);
	r->wait = job->wait;
	/* The load beside a ping-pong of WRITEs: its receiver needs completions. */
	if (r->verb == FB_RAW_WRITE && job->verb == FB_SEND && job->pattern != FB_PING_PONG)
		r->verb = FB_RAW_WRITE_IMM;
	list_ends(r);
	*made = r;
	return FB_OK;
}

int fb_raw_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
		   const struct fb_job *job, struct fb_p2p_request **request)
{
	struct fb_raw_engine *e = (struct fb_raw_engine *)engine;
	struct fb_raw_request *r = NULL;
	struct fb_raw_depth need;
	int err = make_request(e, c, job, &r), *peers;

	if (err)
		return err;
	peers = calloc((size_t)r->nends + 1, sizeof(*peers));
	for (int i = 0; peers && i < r->nends; i++)
		peers[i] = r->ends[i].peer;
	err = fb_group_agree(e->world, peers ? FB_OK : FB_ENOMEM);
	need = depth_for(r);
	if (!err)
		err = fb_raw_connect(e, job, peers, r->nends, &need, r->reach);
	free(peers);
	if (!err)
		err = fb_group_agree(e->world, make_lanes(r));
	if (err) {
		fb_raw_free(r);
		return err;
	}
	if (job->verb != FB_SEND) {
		if (fb_raw_counter(r, e->world->rank))
			atomic_store(fb_raw_counter(r, e->world->rank), 0);
		MPI_Barrier(e->world->comm);
	}
	*request = &r->request;
	return FB_OK;
}

#endif
