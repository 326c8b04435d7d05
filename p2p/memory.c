/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that messages lie in: which kinds engines take, and where it is; see program.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "p2p/program.h"

bool fb_p2p_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
		       uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	unsigned takes = fb_p2p_engines[fb_p2p_engine_index(c->engine)]->gpu_memory;
	enum fb_memory_kind kind = fb_memory_of(c);
	char refused[FB_REASON_CHARS] = "";

	if (!fb_memory_by_gpu(kind))
		return fb_stores_can(&state->stores, c, part_bytes, refused, reason);
	takes >>= kind - FB_MEMORY_DEVICE;
	if (kind == FB_MEMORY_MANAGED && !(takes & 1))
		snprintf(refused, sizeof(refused), "memory managed cannot be mapped by other "
			 "ranks, as engine %s would have it", c->engine);
	else if (!(takes & 1))
		snprintf(refused, sizeof(refused), "engine %s does not work in memory %s",
			 c->engine, c->memory);
	else if (kind == FB_MEMORY_PINNED && !fb_group_one_host(state->world))
		snprintf(refused, sizeof(refused), "memory pinned does not reach other hosts");
	return fb_stores_can(&state->stores, c, part_bytes, refused, reason);
}

/* Where the buffers of this rank's messages lie. */
static uint64_t pages_of_job(const struct fb_job *job, int rank)
{
	size_t bytes = job->stride * (size_t)job->regions;
	uint64_t nodes = 0;

	for (int f = 0; f < job->nflows; f++) {
		const struct fb_flow *flow = &job->flows[f];

		if (flow->src == rank)
			nodes |= fb_numa_pages(fb_job_source(job, flow, 0), bytes);
		if (flow->dst == rank)
			nodes |= fb_numa_pages(fb_job_target(job, flow, 0), bytes);
	}
	return nodes;
}

/* Lists the ranks that have a part in the job, beginning with the first flow's two ranks. */
static int list_ends(const struct fb_job *job, const struct fb_placed *all, int nranks,
		     struct fb_placed *ends)
{
	const struct fb_flow *first = &job->flows[0];
	int n = 0;

	ends[n++] = all[first->src];
	ends[n++] = all[first->dst];
	for (int r = 0; r < nranks; r++) {
		bool has = false;

		for (int f = 0; f < job->nflows; f++)
			has |= job->flows[f].src == r || job->flows[f].dst == r;
		if (has && r != first->src && r != first->dst)
			ends[n++] = all[r];
	}
	return n;
}

int fb_p2p_where(const struct fb_p2p_state *state, const struct fb_case *c,
		 const struct fb_job *job, char text[FB_P2P_WHERE_CHARS])
{
	const struct fb_group *w = state->world;
	const struct fb_place *place = fb_places_of(&state->stores.places, c);
	enum fb_memory_kind kind = fb_memory_of(c);
	struct fb_placed own = {0}, *all, *ends;
	char placed[FB_PLACED_CHARS] = "", pages[FB_PAGES_CHARS] = "";
	int err, node = fb_numa_thread();

	text[0] = '\0';
	if (place->memory >= 0) {
		all = calloc((size_t)w->nranks, sizeof(*all));
		ends = calloc((size_t)w->nranks, sizeof(*ends));
		err = fb_group_agree(w, all && ends ? FB_OK : FB_ENOMEM);
		own.thread = node < 0 ? 0 : UINT64_C(1) << node;
		own.pages = pages_of_job(job, w->rank);
		if (!err && all && ends) {
			MPI_Allgather(&own, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, w->comm);
			fb_placed_text(ends, list_ends(job, all, w->nranks, ends), placed);
		}
		free(all);
		free(ends);
		if (err)
			return err;
	}
	if (kind != FB_MEMORY_HOST && !fb_memory_by_gpu(kind))
		fb_pages_text("/proc/self/smaps", fb_segment_part(job->segment, w->rank), pages);
	snprintf(text, FB_P2P_WHERE_CHARS, "%s%s%s", placed, *placed && *pages ? ", " : "", pages);
	return FB_OK;
}
