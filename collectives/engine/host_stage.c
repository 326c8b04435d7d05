/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of remote steps beside the buffers: stages, tables, and registrations. */
#include <stdlib.h>
#include <sys/mman.h>

#include "collectives/engine/host_remote.h"
#include "common/base/error.h"

/* Bytes of stage that the lane's steps need at most. */
static size_t stage_need(const struct host_request *r, const struct host_channel *ch,
			 const struct host_lane *lane)
{
	size_t most = 0;

	for (uint32_t i = 0; i < lane->nsteps; i++) {
		const struct fb_step *s = &lane->steps[i];
		size_t need;

		if (s->kind != FB_RUN || !fb_host_is_transfer(ch, s))
			continue;
		need = ((size_t)s->nsrc + 1) * (fb_message_bound(&r->geometry, s->count) + 64);
		most = need > most ? need : most;
	}
	return (most + 63) / 64 * 64;
}

static int open_lane(struct host_lane *lane, size_t ends)
{
	struct host_transfer *t = &lane->transfer;

	t->from = calloc(ends + 1, sizeof(*t->from));
	t->to = calloc(ends + 1, sizeof(*t->to));
	t->stream = calloc(ends + 1, sizeof(*t->stream));
	t->tickets = calloc(ends + 1, sizeof(*t->tickets));
	return t->from && t->to && t->stream && t->tickets ? FB_OK : FB_ENOMEM;
}

/* Gives each lane its part of the stage. */
static int open_stage(struct host_request *r)
{
	size_t total = 0;
	char *at;

	for (int c = 0; c < r->nchannels; c++)
		for (int l = 0; l < r->channels[c].nlanes; l++)
			total += stage_need(r, &r->channels[c], &r->channels[c].lanes[l]);
	if (!total)
		return FB_OK;
	at = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return fb_error(FB_ENOMEM, "out of memory for a stage of %zu bytes", total);
	r->stage = at;
	r->stage_bytes = total;
	for (int c = 0; c < r->nchannels; c++)
		for (int l = 0; l < r->channels[c].nlanes; l++) {
			struct host_lane *lane = &r->channels[c].lanes[l];

			lane->transfer.stage = at;
			lane->transfer.stage_bytes = stage_need(r, &r->channels[c], lane);
			at += lane->transfer.stage_bytes;
		}
	return r->far->ops->direct->lend(r->far, r->stage, total);
}

int fb_host_remote_setup(struct host_request *r)
{
	const struct fb_direct_ops *direct = r->far->ops->direct;
	int rank = r->engine->group->rank, err = FB_OK;

	r->flights = calloc(HOST_FLIGHTS, sizeof(*r->flights));
	for (int c = 0; r->flights && c < r->nchannels && !err; c++)
		for (int l = 0; l < r->channels[c].nlanes && !err; l++)
			err = open_lane(&r->channels[c].lanes[l], r->channels[c].most_ends);
	if (!r->flights)
		err = FB_ENOMEM;
	if (!err)
		err = open_stage(r);
	err = fb_group_agree(r->engine->group, err);
	if (!err)
		err = direct->expose(r->far, fb_segment_part(r->op->segment, rank),
				     r->op->segment->part_bytes);
	if (!err && r->scratch.base)
		err = direct->expose(r->far, fb_segment_part(&r->scratch, rank),
				     r->scratch.part_bytes);
	return err;
}

void fb_host_remote_teardown(struct host_request *r)
{
	const struct fb_direct_ops *direct = r->far->ops->direct;

	if (r->scratch.base)
		direct->conceal(r->far, fb_segment_part(&r->scratch, r->engine->group->rank),
				r->scratch.part_bytes);
	if (r->stage) {
		direct->take_back(r->far, r->stage, r->stage_bytes);
		munmap(r->stage, r->stage_bytes);
	}
	for (int c = 0; r->channels && c < r->nchannels; c++)
		for (int l = 0; l < r->channels[c].nlanes; l++) {
			struct host_transfer *t = &r->channels[c].lanes[l].transfer;

			free(t->from);
			free(t->to);
			free(t->stream);
			free(t->tickets);
		}
	free(r->flights);
}
