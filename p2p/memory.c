/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that messages lie in: what there is of each kind, and getting it; see program.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sizes.h"
#include "p2p/program.h"

/* What kinds of host memory are made of, in the order of enum fb_p2p_memory. */
static const enum fb_pages pages_of[] = {
	[FB_P2P_HOST] = FB_PAGES_NORMAL,
	[FB_P2P_HUGE] = FB_PAGES_TRANSPARENT,
	[FB_P2P_HUGETLB] = FB_PAGES_HUGETLB,
	[FB_P2P_HUGETLB_1G] = FB_PAGES_HUGETLB_1G,
};

static const struct fb_p2p_engine_ops *ops_of(const struct fb_case *c)
{
	return fb_p2p_engines[fb_p2p_engine_index(c->engine)];
}

size_t fb_p2p_store_of(const struct fb_p2p_state *state, const struct fb_case *c)
{
	size_t store = (size_t)fb_places_of(&state->places, c)->store;

	return store * FB_P2P_MEMORIES + (size_t)fb_p2p_memory_of(c);
}

bool fb_p2p_on_gpu(const struct fb_case *c)
{
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);

	return kind >= FB_P2P_DEVICE && kind != FB_P2P_PINNED;
}

struct opening {
	struct fb_p2p_state *state;
	const struct fb_case *c;
};

static int open_segment(void *arg, size_t part_bytes)
{
	struct fb_p2p_state *state = ((struct opening *)arg)->state;
	const struct fb_case *c = ((struct opening *)arg)->c;
	const struct fb_place *place = fb_places_of(&state->places, c);
	struct fb_segment *segment = &state->segment[fb_p2p_store_of(state, c)];
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);
	int err;

	if (kind >= FB_P2P_DEVICE)
		return fb_gpu_segment_open(segment, &state->gpu,
					   (enum fb_gpu_memory)(kind - FB_P2P_DEVICE), part_bytes);
	err = fb_segment_open(segment, state->world, part_bytes, pages_of[kind]);
	/* Where pages go is a matter of their first touch; what they are, of all of them. */
	if (!err && (place->memory >= 0 || kind != FB_P2P_HOST))
		err = fb_group_agree(state->world, fb_place_part(&state->places, place, segment));
	if (err && segment->ops)
		fb_segment_close(segment);
	return err;
}

int fb_p2p_memory_open(struct fb_p2p_state *state, const struct fb_case *c, size_t need)
{
	size_t store = fb_p2p_store_of(state, c);
	struct opening opening = {.state = state, .c = c};

	return fb_segment_fit(&state->segment[store], &state->part_bytes[store], need,
			      open_segment, &opening);
}

static bool gpu_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
			   char reason[FB_REASON_CHARS])
{
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);

	if (!state->has_gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", state->no_gpu);
	else if (kind == FB_P2P_MANAGED && !(ops_of(c)->gpu_memory >> FB_GPU_MANAGED & 1))
		snprintf(reason, FB_REASON_CHARS, "memory managed cannot be mapped by other ranks, "
			 "as engine %s would have it", c->engine);
	else if (!(ops_of(c)->gpu_memory >> (kind - FB_P2P_DEVICE) & 1))
		snprintf(reason, FB_REASON_CHARS, "engine %s does not work in memory %s",
			 c->engine, c->memory);
	else if (kind == FB_P2P_PINNED && !fb_group_one_host(state->world))
		snprintf(reason, FB_REASON_CHARS, "memory pinned does not reach other hosts");
	else if (strcmp(fb_places_of(&state->places, c)->name, "any"))
		snprintf(reason, FB_REASON_CHARS, "--numa does not place memory %s", c->memory);
	else
		return fb_gpu_segment_can(&state->gpu, (enum fb_gpu_memory)(kind - FB_P2P_DEVICE),
					  reason, FB_REASON_CHARS);
	return false;
}

/* Whether there are huge pages of the kind for a part; they come whole. */
static bool huge_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
			    uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	const struct fb_place *place = fb_places_of(&state->places, c);
	enum fb_pages pages = pages_of[fb_p2p_memory_of(c)];
	uint64_t most = state->huge_share[pages];

	if (pages == FB_PAGES_TRANSPARENT && !state->huge_pages)
		snprintf(reason, FB_REASON_CHARS, "no huge pages for shared memory: "
			 "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	if (!fb_pages_explicit(pages))
		return pages != FB_PAGES_TRANSPARENT || state->huge_pages;
	most = place->huge_limit[pages] < most ? place->huge_limit[pages] : most;
	return fb_pages_fit(pages, c->bytes, part_bytes, most, reason, FB_REASON_CHARS);
}

bool fb_p2p_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
		       uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	const struct fb_place *place = fb_places_of(&state->places, c);
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);
	/* The harness needs some of a GPU's memory as well. */
	uint64_t most = fb_p2p_on_gpu(c) ? state->gpu.memory_bytes / 8 * 7 : state->memory_limit;
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (kind >= FB_P2P_DEVICE && !gpu_memory_can(state, c, reason))
		return false;
	if (*place->reason) {
		snprintf(reason, FB_REASON_CHARS, "%s", place->reason);
		return false;
	}
	if (kind < FB_P2P_DEVICE && !huge_memory_can(state, c, part_bytes, reason))
		return false;
	if (kind == FB_P2P_MANAGED)
		most = FB_GPU_MANAGED_MOST;
	most = place->limit < most ? place->limit : most;
	if (part_bytes <= most)
		return true;
	snprintf(reason, FB_REASON_CHARS, "%s is more than the memory for its buffers, %s",
		 fb_size_text(c->bytes, asked),
		 fb_size_text(most & ~((UINT64_C(1) << 20) - 1), limit));
	return false;
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

/* Those that have a part in the job, the first flow's sender and receiver first. */
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
	const struct fb_place *place = fb_places_of(&state->places, c);
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);
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
	if (kind != FB_P2P_HOST && kind < FB_P2P_DEVICE)
		fb_pages_text("/proc/self/smaps", fb_segment_part(job->segment, w->rank), pages);
	snprintf(text, FB_P2P_WHERE_CHARS, "%s%s%s", placed, *placed && *pages ? ", " : "", pages);
	return FB_OK;
}
