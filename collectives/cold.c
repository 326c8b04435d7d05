/* SPDX-License-Identifier: BSD-3-Clause */
/* Cold caches of the collective programs: which ones have to be cleared for a case. */
#include "collectives/state.h"
#include "common/base/error.h"

/* GPUs map pinned memory, and may cache it as well. */
static bool gpu_caches(const struct fb_collective_instance *i)
{
	return i->ops->device || fb_memory_on_gpu(i->key);
}

int fb_cold_open(struct fb_collective_instance *i)
{
	struct fb_collective_state *s = i->state;
	int ranks, err = FB_OK;

	MPI_Comm_size(s->world->node_comm, &ranks);
	if (i->key->cold && !fb_memory_on_gpu(i->key) && !s->cache.memory)
		err = fb_cache_open(&s->cache, ranks);
	if (!err && i->key->cold && gpu_caches(i) && !s->gpu_cache.memory)
		err = fb_gpu_cache_open(&s->gpu_cache, &s->gpu);
	return fb_group_agree(s->world, err);
}

void fb_cold_close(struct fb_collective_state *state)
{
	fb_cache_close(&state->cache);
	fb_gpu_cache_close(&state->gpu_cache);
}

int fb_cold_clear(void *instance)
{
	struct fb_collective_instance *i = instance;

	if (!fb_memory_on_gpu(i->key))
		fb_cache_clear(&i->state->cache);
	return gpu_caches(i) ? fb_gpu_cache_clear(&i->state->gpu_cache) : FB_OK;
}
