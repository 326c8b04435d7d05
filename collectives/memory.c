/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of the buffers: which kinds engines work in; see state.h. */
#include <stdio.h>
#include <string.h>

#include "collectives/state.h"

const char *const fb_memories[] = {"host",   "hugepage", "device",    "vmm", "fabric",
				   "pinned", "nccl",	 "symmetric", NULL};

static int open_library(void *arg, struct fb_segment *segment, size_t part_bytes)
{
	struct fb_engine *engine = arg;

	return engine->ops->segment(engine, segment, part_bytes);
}

int fb_collective_segment(struct fb_collective_state *state, const struct fb_case *c,
			  size_t need)
{
	return fb_stores_segment(&state->stores, c, need, open_library,
				 state->engines[fb_engine_index(c->engine)]);
}

static int open_members(void *instance, size_t part_bytes)
{
	const struct fb_collective_instance *i = instance;
	struct fb_engine *engine = i->state->engines[fb_engine_index(i->key->engine)];

	return i->ops->segment(engine, &i->state->members, part_bytes);
}

int fb_instance_segment(struct fb_collective_instance *i)
{
	struct fb_collective_state *state = i->state;

	if (i->ops->members)
		return fb_segment_fit(&state->members, &state->members_bytes, i->part_bytes,
				      open_members, i);
	return fb_collective_segment(state, i->key, i->part_bytes);
}

bool fb_memory_can(const struct fb_collective_state *state, const struct fb_case *c,
		   uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	const struct fb_engine_ops *ops = fb_engines[fb_engine_index(c->engine)];
	enum fb_memory_kind kind = fb_memory_of(c);
	char refused[FB_REASON_CHARS] = "";

	if (!ops->device && kind != FB_MEMORY_PINNED &&
	    (kind != FB_MEMORY_DEVICE || !ops->takes_device))
		snprintf(refused, sizeof(refused), ops->takes_device
			 ? "engine %s does not work in memory %s"
			 : "engine %s works in host memory", c->engine, c->memory);
	else if (fb_memory_by_library(kind) && (!ops->memory || strcmp(ops->memory, c->memory)))
		snprintf(refused, sizeof(refused), "memory %s is a library's: engine %s does not "
			 "work in it", c->memory, c->engine);
	return fb_stores_can(&state->stores, c, part_bytes, refused, reason);
}
