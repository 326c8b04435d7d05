/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the buffers: what there is of each kind on each NUMA node, and getting it; see
 * state.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/state.h"
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/memory/memory.h"

const char *const fb_memories[] = {
	[FB_MEMORY_HOST] = "host", [FB_MEMORY_HUGE] = "hugepage", [FB_MEMORY_DEVICE] = "device",
	[FB_MEMORY_VMM] = "vmm", [FB_MEMORY_FABRIC] = "fabric", [FB_MEMORY_PINNED] = "pinned",
	[FB_MEMORY_NCCL] = "nccl", [FB_MEMORY_KINDS] = NULL};

enum fb_memory_kind fb_memory_of(const struct fb_case *c)
{
	int kind = 0;

	while (fb_memories[kind] && strcmp(c->memory, fb_memories[kind]))
		kind++;
	return fb_memories[kind] ? (enum fb_memory_kind)kind : FB_MEMORY_HOST;
}

bool fb_memory_on_gpu(const struct fb_case *c)
{
	enum fb_memory_kind kind = fb_memory_of(c);

	return kind >= FB_MEMORY_DEVICE && kind != FB_MEMORY_PINNED;
}

size_t fb_store_of(const struct fb_collective_state *state, const struct fb_case *c)
{
	size_t store = (size_t)fb_places_of(&state->places, c)->store;

	return store * FB_MEMORY_KINDS + (size_t)fb_memory_of(c);
}

int fb_stores_open(struct fb_collective_state *state, const char *numa)
{
	int err = fb_places_open(&state->places, state->world, numa);
	size_t n = (size_t)state->places.stores * FB_MEMORY_KINDS;

	if (err)
		return err;
	fb_memory_survey(state->world, &state->memory_limit, &state->huge_pages);
	state->segment = calloc(n, sizeof(*state->segment));
	state->part_bytes = calloc(n, sizeof(*state->part_bytes));
	err = fb_group_agree(state->world,
			     state->segment && state->part_bytes ? FB_OK : FB_ENOMEM);
	return err ? fb_error(err, "out of memory") : FB_OK;
}

void fb_stores_close(struct fb_collective_state *state)
{
	for (int i = 0; state->segment && i < state->places.stores * FB_MEMORY_KINDS; i++)
		fb_segment_close(&state->segment[i]);
	free(state->segment);
	free(state->part_bytes);
	fb_places_close(&state->places);
}

struct opening {
	struct fb_collective_state *state;
	const struct fb_case *c;
};

static int open_segment(void *arg, size_t part_bytes)
{
	struct fb_collective_state *state = ((struct opening *)arg)->state;
	const struct fb_case *c = ((struct opening *)arg)->c;
	const struct fb_place *place = fb_places_of(&state->places, c);
	struct fb_engine *engine = state->engines[fb_engine_index(c->engine)];
	struct fb_segment *segment = &state->segment[fb_store_of(state, c)];
	enum fb_memory_kind kind = fb_memory_of(c);
	int err;

	if (kind == FB_MEMORY_NCCL)
		return engine->ops->segment(engine, segment, part_bytes);
	if (kind >= FB_MEMORY_DEVICE)
		return fb_gpu_segment_open(segment, &state->gpu,
					   (enum fb_gpu_memory)(kind - FB_MEMORY_DEVICE),
					   part_bytes);
	err = fb_segment_open(segment, state->world, part_bytes,
			      kind == FB_MEMORY_HUGE ? FB_PAGES_TRANSPARENT : FB_PAGES_NORMAL);
	if (!err && place->memory >= 0)
		err = fb_group_agree(state->world, fb_place_part(&state->places, place, segment));
	if (err && segment->ops)
		fb_segment_close(segment);
	return err;
}

int fb_collective_segment(struct fb_collective_state *state, const struct fb_case *c,
			  size_t need)
{
	size_t store = fb_store_of(state, c);
	struct opening opening = {.state = state, .c = c};

	return fb_segment_fit(&state->segment[store], &state->part_bytes[store], need,
			      open_segment, &opening);
}

/* Whether there is such memory that GPUs reach. */
static bool gpu_memory_exists(const struct fb_collective_state *state, const struct fb_case *c,
			      char *reason)
{
	const struct fb_engine_ops *ops = fb_engines[fb_engine_index(c->engine)];
	enum fb_memory_kind kind = fb_memory_of(c);

	if (!state->has_gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", state->no_gpu);
	else if (!ops->device && kind != FB_MEMORY_PINNED &&
		 (kind != FB_MEMORY_DEVICE || !ops->takes_device))
		snprintf(reason, FB_REASON_CHARS, ops->takes_device
			 ? "engine %s does not work in memory %s"
			 : "engine %s works in host memory", c->engine, c->memory);
	else if (kind == FB_MEMORY_NCCL && !ops->segment)
		snprintf(reason, FB_REASON_CHARS, "memory nccl is NCCL's: no other rank sees it");
	else if (strcmp(fb_places_of(&state->places, c)->name, "any"))
		snprintf(reason, FB_REASON_CHARS, "--numa does not place memory %s", c->memory);
	else if (kind == FB_MEMORY_NCCL)
		return true;
	else
		return fb_gpu_segment_can(&state->gpu,
					  (enum fb_gpu_memory)(kind - FB_MEMORY_DEVICE), reason,
					  FB_REASON_CHARS);
	return false;
}

bool fb_memory_can(const struct fb_collective_state *state, const struct fb_case *c,
		   uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	const struct fb_place *place = fb_places_of(&state->places, c);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];
	enum fb_memory_kind kind = fb_memory_of(c);
	bool on_device = fb_memory_on_gpu(c);
	/* Links and the harness need some of a GPU's memory as well. */
	uint64_t most = on_device ? state->gpu.memory_bytes / 8 * 7 : state->memory_limit;

	if (kind >= FB_MEMORY_DEVICE && !gpu_memory_exists(state, c, reason))
		return false;
	if (*place->reason) {
		snprintf(reason, FB_REASON_CHARS, "%s", place->reason);
		return false;
	}
	if (kind == FB_MEMORY_HUGE && !state->huge_pages) {
		snprintf(reason, FB_REASON_CHARS, "no huge pages for shared memory: "
			 "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
		return false;
	}
	most = place->limit < most ? place->limit : most;
	if (part_bytes <= most)
		return true;
	snprintf(reason, FB_REASON_CHARS, "%s a rank is more than the memory for its buffers, %s",
		 fb_size_text(c->bytes, asked),
		 fb_size_text(most & ~((UINT64_C(1) << 20) - 1), limit));
	return false;
}
