/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a call of an engine over a mover: moves and waits; see over.c. */
#include <stdlib.h>

#include "common/base/error.h"
#include "p2p/engine/over.h"

enum { DONE_PUT = 1, DONE_GET = 2 }; /* notices */

/* Collective: finds the region of a segment, and adds it where the segment is new. */
static int add_segment(struct fb_over *e, const struct fb_segment *segment,
		       struct fb_region **found)
{
	struct fb_region **more;
	int err;

	for (int i = 0; i < e->regions; i++)
		if (e->region[i]->segment == segment) {
			*found = e->region[i];
			return FB_OK;
		}
	more = realloc(e->region, ((size_t)e->regions + 1) * sizeof(struct fb_region *));
	e->region = more ? more : e->region;
	err = fb_group_agree(e->engine.group, more ? FB_OK : FB_ENOMEM);
	if (!err)
		err = fb_mover_add(e->mover, segment, found);
	if (!err)
		e->region[e->regions++] = *found;
	return err;
}

static int other_end(const struct fb_over_request *r, const struct fb_flow *flow)
{
	return flow->src == r->engine->engine.group->rank ? flow->dst : flow->src;
}

static bool has_part(const struct fb_over_request *r, const struct fb_flow *flow)
{
	int rank = r->engine->engine.group->rank;

	return flow->src == rank || flow->dst == rank;
}

/* Collective: to the ranks that this one has flows with. */
static int connect_peers(const struct fb_over_request *r)
{
	const struct fb_group *group = r->engine->engine.group;
	int *peers = calloc((size_t)r->job->nflows + 1, sizeof(*peers)), n = 0;
	int err = fb_group_agree(group, peers ? FB_OK : FB_ENOMEM);

	for (int f = 0; f < r->job->nflows && peers; f++) {
		int peer = other_end(r, &r->job->flows[f]), known = 0;

		while (known < n && peers[known] != peer)
			known++;
		if (has_part(r, &r->job->flows[f]) && known == n)
			peers[n++] = peer;
	}
	if (!err && r->engine->mover->ops->connect)
		err = r->engine->mover->ops->connect(r->engine->mover, peers, n);
	free(peers);
	return err;
}

static struct fb_piece *pieces_of(const struct fb_over_request *r, const struct fb_flow *flow)
{
	return r->piece + (flow - r->job->flows) * r->job->regions;
}

static enum fb_move_verb verb_of(const struct fb_over_request *r, const struct fb_flow *flow)
{
	if (r->job->verb != FB_SEND)
		return r->job->verb == FB_PUT ? FB_MOVE_PUT : FB_MOVE_GET;
	return flow->src == r->engine->engine.group->rank ? FB_MOVE_SEND : FB_MOVE_RECV;
}

/* Whether this rank moves the flow's messages. */
static bool moves(const struct fb_over_request *r, const struct fb_flow *flow)
{
	return r->job->verb == FB_SEND ? has_part(r, flow)
				       : fb_job_origin(r->job, flow) ==
						 r->engine->engine.group->rank;
}

/* Adds the messages of a flow to a list of transfers. */
static uint32_t add_messages(const struct fb_over_request *r, const struct fb_flow *flow,
			     struct fb_region *region, struct fb_transfer *list)
{
	const struct fb_job *job = r->job;
	enum fb_move_verb verb = verb_of(r, flow);
	bool one_sided = job->verb != FB_SEND;
	struct fb_piece *piece = pieces_of(r, flow);

	for (int k = 0; k < job->regions; k++) {
		uint64_t from = flow->send_offset + (uint64_t)k * job->stride;
		uint64_t to = flow->receive_offset + (uint64_t)k * job->stride;
		bool gives = verb == FB_MOVE_PUT || verb == FB_MOVE_SEND;

		piece[k] = (struct fb_piece){gives ? from : to, gives ? to : from, job->bytes};
	}
	for (int k = 0; k < job->window; k++) {
		bool tells = one_sided && (!r->engine->mover->ops->ordered || k == job->window - 1);

		list[k] = (struct fb_transfer){
			.verb = verb, .peer = other_end(r, flow), .local = region,
			.remote = one_sided ? region : NULL, .piece = piece + k % job->regions,
			.pieces = 1,
			.notice = !tells ? 0 : verb == FB_MOVE_PUT ? DONE_PUT : DONE_GET};
	}
	return (uint32_t)job->window;
}

/* The notice by which this rank knows that a flow is complete which the other end moves. */
static int add_arrival(const struct fb_over_request *r, struct fb_over_step *s,
		       const struct fb_flow *flow)
{
	struct fb_mover *mover = r->engine->mover;
	int from = fb_job_origin(r->job, flow), i = 0;
	struct fb_over_arrival *a;

	while (i < s->arrivals && s->arrival[i].wait.from != from)
		i++;
	a = &s->arrival[i];
	a->each += mover->ops->ordered ? 1 : (uint64_t)r->job->window;
	if (i < s->arrivals)
		return FB_OK;
	s->arrivals++;
	a->wait = (struct fb_wait){from, r->job->verb == FB_PUT ? DONE_PUT : DONE_GET, 0};
	return mover->ops->arrived(mover, from, a->wait.notice, &a->base);
}

int fb_over_connect(struct fb_over_request *r, struct fb_region **region)
{
	int err = add_segment(r->engine, r->job->segment, region);

	return err ? err : connect_peers(r);
}

int fb_over_step_make(struct fb_over_request *r, int i, struct fb_region *region, const char *form,
		      int first, int end)
{
	struct fb_over_step *s = &r->step[i];
	const struct fb_job *job = r->job;
	struct fb_transfer *list = calloc((size_t)job->nflows * (size_t)job->window, sizeof(*list));
	int rank = r->engine->engine.group->rank, err = FB_OK;
	uint32_t n = 0;

	s->arrival = calloc((size_t)job->nflows, sizeof(*s->arrival));
	s->wait = calloc((size_t)job->nflows, sizeof(*s->wait));
	if (!list || !s->arrival || !s->wait)
		err = fb_error(FB_ENOMEM, "out of memory for %d messages", job->window);
	for (int sends = 0; sends < 2; sends++)
		for (int f = first; f < end && !err; f++) {
			const struct fb_flow *flow = &job->flows[f];

			if (!has_part(r, flow) || (flow->src == rank) != (sends == 1))
				continue;
			if (!moves(r, flow))
				err = add_arrival(r, s, flow);
			else
				n += add_messages(r, flow, region, list + n);
			s->needed |= moves(r, flow) && flow->dst == rank;
		}
	s->needed |= r->steps == 1;
	if (n && !err)
		err = fb_move_prepare(r->engine->mover, list, n, form, &s->move);
	free(list);
	return err;
}

