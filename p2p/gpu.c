/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the programs that differ for messages between GPUs: their memory, how engines are
 * launched, and the columns that say what the device saw.
 *
 * Options that name something for processors (which are also the defaults) mean the closest
 * equivalent for engines on GPUs: memory `host` is GPU memory there, for example. Collectives do
 * the same.
 */
#include <stdio.h>
#include <string.h>

#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "common/mover/mover.h"
#include "common/record/variant.h"
#include "p2p/program.h"

enum { PROBE_ROUNDS = 10 };

const struct fb_column fb_p2p_gpu_columns[FB_P2P_GPU_COLUMNS] = {
	[FB_P2P_EVENT_US] = {"event_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			     "time of a message by CUDA events around a call, median"},
	[FB_P2P_DEVICE_US] = {"device_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			      "time of a message by the device's clock inside the kernel, median"},
	[FB_P2P_THREADS] = {"threads", FB_COLUMN_VALUE, FB_COLUMN_U64, "", "threads of a block"},
	[FB_P2P_SM_MHZ] = {"sm_MHz", FB_COLUMN_VALUE, FB_COLUMN_F64, "MHz",
			   "clock of the multiprocessors right after the last call"},
	[FB_P2P_MEMORY_MHZ] = {"memory_MHz", FB_COLUMN_VALUE, FB_COLUMN_F64, "MHz",
			       "clock of the GPU's memory"},
	[FB_P2P_THROTTLE] = {"throttle", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			     "why clocks are not higher, as NVML's bits"},
};

static const struct fb_p2p_engine_ops *ops_of(const struct fb_case *c)
{
	return fb_p2p_engines[fb_p2p_engine_index(c->engine)];
}

int fb_p2p_gpu_open(struct fb_p2p_state *state)
{
	bool wanted = strcmp(state->settings->memory, "host") != 0;
	int err;

	for (size_t i = 0; fb_p2p_engines[i]; i++)
		wanted |= fb_p2p_engines[i]->device &&
			  fb_option_names(state->engine_list, fb_p2p_engines[i]->name);
	if (!wanted)
		return FB_OK;
	err = fb_gpu_view_open(&state->gpu, state->session, state->world, state->no_gpu);
	state->has_gpu = !err;
	state->stores.gpu = err ? NULL : &state->gpu;
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static bool in_list(const char *const *list, const char *name)
{
	while (list && *list && strcmp(*list, name))
		list++;
	return !list || *list;
}

bool fb_p2p_adapt_case(const struct fb_p2p_state *state, struct fb_case *c)
{
	const struct fb_p2p_engine_ops *ops = ops_of(c);
	bool streams = !strcmp(c->launch, "stream") || !strcmp(c->launch, "graph");
	bool one_sided = strcmp(c->algorithm, fb_verbs[FB_SEND]) != 0;
	enum fb_memory_kind usual = FB_MEMORY_DEVICE;

	if (!ops->registers)
		c->registration = "registered";
	if (!ops->device)
		return !streams;
	/* "all" means the engines that this machine has. A named engine gets skipped rows. */
	if (!state->has_gpu && state->any)
		return false;
	if (one_sided && !ops->one_sided)
		return false;
	if (!one_sided && ops->own && !in_list(ops->protocols, c->protocol))
		return false;
	/* Protocol ll has one set of lines, so only one message at a time can be under way. */
	if (!one_sided && strcmp(c->operation, fb_patterns[FB_PING_PONG]) &&
	    !strcmp(c->protocol, "ll"))
		return false;
	/* Movers are posted by the host, unless a stream is asked for; see over.c. */
	if (ops->mover && streams && (!ops->mover->streams || strcmp(c->launch, "stream")))
		return false;
	if (!streams && !ops->mover)
		c->launch = "stream";
	/* NCCL lets peers map only memory that cuMemCreate has made. */
	if (ops->registers && strcmp(c->registration, fb_nccl_registrations[FB_NCCL_NONE]))
		usual = FB_MEMORY_VMM;
	/* A mover may have memory of its own. */
	if (ops->mover && ops->mover->segment)
		c->memory = fb_memory_kinds[FB_MEMORY_SYMMETRIC].name;
	else if (!fb_memory_by_gpu(fb_memory_of(c)))
		c->memory = fb_memory_kinds[usual].name;
	c->transport = strcmp(c->memory, "pinned") ? "p2p" : "shm";
	return true;
}

void fb_p2p_adapt_variant(const struct fb_p2p_state *state, struct fb_case *c)
{
	const struct fb_settings *s = state->settings;
	const struct {
		const char *name;
		uint64_t value;
	} keys[] = {
		{"channels", s->channels},
		{"rounds", ops_of(c)->mover ? 0 : state->own->rounds}, {"threads", s->threads},
	};
	char text[64];

	for (size_t i = 0; ops_of(c)->device && i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!keys[i].value)
			continue;
		snprintf(text, sizeof(text), "%s=%llu", keys[i].name,
			 (unsigned long long)keys[i].value);
		fb_variant_put(c, text);
	}
}

int fb_p2p_rounds(const struct fb_p2p_state *state, const struct fb_case *c)
{
	const struct fb_p2p_engine_ops *ops = ops_of(c);

	if (!ops->device || ops->mover || strcmp(c->operation, fb_patterns[FB_PING_PONG]))
		return 1;
	if (state->own->rounds)
		return (int)state->own->rounds;
	/* A probe is a call of its own. */
	return state->program->grouping == FB_UNDER_LOAD ? PROBE_ROUNDS : ops->rounds;
}
