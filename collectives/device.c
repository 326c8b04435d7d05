/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of a case for GPU engines, and ranks of a process with several GPUs; see state.h. */
#include <stdio.h>
#include <string.h>

#include "collectives/buffers.h"
#include "collectives/program.h"
#include "collectives/state.h"
#include "collectives/engine/nccl/team.h"
#include "common/record/variant.h"

/* What `auto` means to GPU engines: the fastest that reaches all GPUs; without a GPU, any. */
static const char *usual_transport(const struct fb_collective_state *state)
{
	if (!state->has_gpu || state->gpu.all_reach)
		return "p2p";
	if (fb_group_one_host(state->world))
		return "shm";
	return fb_group_takes_rdma(state->world) ? "p2p+rdma" : "p2p+tcp";
}

/* Whether the launch is one of engines with several GPUs in a process. */
static bool is_of_members(const char *launch)
{
	bool graph;

	return fb_nccl_method_of_launch(launch, &graph) != FB_NCCL_METHODS;
}

void fb_members_key(const struct fb_settings *settings, struct fb_case *c)
{
	char key[48];

	snprintf(key, sizeof(key), "gpus_per_process=%llu",
		 (unsigned long long)settings->gpus_per_process);
	if (settings->gpus_per_process)
		fb_variant_put(c, key);
}

/*
 * A case of an engine with several GPUs in a process. It has launches of its own: if the user names
 * none, one thread launches for all GPUs.
 */
static bool members_case(const struct fb_collective_state *state, struct fb_case *c)
{
	/* --engine all includes such an engine only if the user gave --gpus-per-process. */
	if (!strcmp(state->engine_list, "all") && !state->settings->gpus_per_process)
		return false;
	if (!strcmp(c->launch, "blocking"))
		c->launch = "group";
	if (!is_of_members(c->launch))
		return false;
	c->memory = fb_memory_kinds[FB_MEMORY_NCCL].name;
	fb_members_key(state->settings, c);
	return true;
}

bool fb_device_case(const struct fb_collective_state *state, struct fb_case *c)
{
	const struct fb_settings *s = state->settings;
	bool streams = !strcmp(c->launch, "stream") || !strcmp(c->launch, "graph");
	char key[64];
	const struct {
		const char *name;
		uint64_t value, usual;
	} keys[] = {
		{"blocking_kernel", s->blocking_kernel, 0},
		{"channels", s->channels, 0}, {"copy_streams", s->copy_streams, 0},
		{"ll_line", s->ll_line, 16},
		{"no_overlap", s->no_gpu_overlap, 0},
		{"slot_bytes", s->slot_bytes, 0}, {"slots", s->slots, 8},
		{"threads", s->threads, 0},
	};

	if (fb_engines[fb_engine_index(c->engine)]->members)
		return members_case(state, c);
	/* Of the launches of engines with members, other engines have "graph" only. */
	if (!streams && is_of_members(c->launch))
		return false;
	if (!fb_engines[fb_engine_index(c->engine)]->device) {
		if (!strcmp(s->engine, FB_USUAL_ENGINES) && strcmp(state->engine_list, "all") &&
		    fb_memory_of(c) == FB_MEMORY_HOST)
			c->memory = fb_memory_kinds[FB_MEMORY_DEVICE].name; /* as the GPU engines */
		return !streams;
	}
	/* "all" stands for what this machine has; a named engine gets rows that say why not. */
	if (!strcmp(state->engine_list, "all") &&
	    (!state->has_gpu ||
	     (!strcmp(c->engine, "multimem") && s->multicast != FB_MULTICAST_ALLOW)))
		return false;
	if (!streams)
		c->launch = "stream";
	if (!fb_memory_by_gpu(fb_memory_of(c)))
		c->memory = fb_memory_kinds[FB_MEMORY_DEVICE].name;
	if (!strcmp(s->transport, "auto"))
		c->transport = usual_transport(state);
	if (s->accumulate == FB_ACCUMULATE_F32 && !strcmp(c->engine, "cuda") && c->redop >= 0 &&
	    fb_is_narrow_float(c->datatype))
		fb_variant_put(c, "accumulate=f32");
	if (s->nccl_force_by != FB_NCCL_BY_COMMUNICATOR && !strcmp(c->engine, "nccl")) {
		snprintf(key, sizeof(key), "nccl_force_by=%s",
			 fb_nccl_force_by_names[s->nccl_force_by]);
		fb_variant_put(c, key);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].value == keys[i].usual || *state->traffic.variant)
			continue;
		snprintf(key, sizeof(key), "%s=%llu", keys[i].name,
			 (unsigned long long)keys[i].value);
		fb_variant_put(c, key);
	}
	return true;
}

/* --- ranks ------------------------------------------------------------------------------------ */

static const struct fb_engine *engine_of(const struct fb_collective_instance *i)
{
	return i->state->engines[fb_engine_index(i->key->engine)];
}

static int prime_rank(void *arg, int rank)
{
	const struct fb_collective_instance *i = arg;

	return fb_buffers_prime(&i->op, &i->data, rank);
}

int fb_ranks_prime(struct fb_collective_instance *i)
{
	return fb_engine_each_rank(engine_of(i), prime_rank, i);
}

struct checking {
	const struct fb_collective_instance *i;
	int calls;
	struct fb_mismatch *bad;
};

static int check_rank(void *arg, int rank)
{
	const struct checking *c = arg;

	return fb_buffers_check(&c->i->op, &c->i->data, rank, c->calls, c->bad);
}

int fb_ranks_check(struct fb_collective_instance *i, int calls, struct fb_mismatch *bad)
{
	struct checking checking = {i, calls, bad};

	return fb_engine_each_rank(engine_of(i), check_rank, &checking);
}
