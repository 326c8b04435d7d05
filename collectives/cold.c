/* SPDX-License-Identifier: BSD-3-Clause */
/* Cold caches of the collective programs: which ones have to be cleared for a case. */
#include "collectives/state.h"
#include "common/error.h"

/* Buffers in the memory of processors; GPUs map pinned memory, and may cache it as well. */
static bool is_host_memory(const struct fb_collective_instance *i)
{
	enum fb_memory_kind kind = fb_memory_of(i->key);

	return kind < FB_MEMORY_DEVICE || kind == FB_MEMORY_PINNED;
}

int fb_cold_open(struct fb_collective_instance *i)
{
	struct fb_collective_state *s = i->state;
	int ranks, err = FB_OK;

	MPI_Comm_size(s->world->node_comm, &ranks);
	if (i->key->cold && is_host_memory(i) && !s->cache.memory)
		err = fb_cache_open(&s->cache, ranks);
	if (!err && i->key->cold && i->ops->device && !s->gpu_cache.memory)
		err = fb_gpu_cache_open(&s->gpu_cache, &s->gpu);
	return fb_world_agree(s->world, err);
}

void fb_cold_close(struct fb_collective_state *state)
{
	fb_cache_close(&state->cache);
	fb_gpu_cache_close(&state->gpu_cache);
}

int fb_cold_clear(void *instance)
{
	struct fb_collective_instance *i = instance;

	if (is_host_memory(i))
		fb_cache_clear(&i->state->cache);
	return i->ops->device ? fb_gpu_cache_clear(&i->state->gpu_cache) : FB_OK;
}
