/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different where messages pass between GPUs: their memory, how engines are launched,
 * and the columns that say what the device saw.
 *
 * Engines on GPUs take what is said for processors, which is also the default, to mean the
 * nearest thing there is, as the collectives do.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/sizes.h"
#include "common/variant.h"
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
			  fb_option_names(state->settings->engine, fb_p2p_engines[i]->name);
	if (!wanted)
		return FB_OK;
	err = fb_gpu_open(&state->gpu, state->world, state->no_gpu);
	state->has_gpu = !err;
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

int fb_p2p_memory_open(struct fb_p2p_state *state, enum fb_p2p_memory kind)
{
	struct fb_segment *segment = &state->segment[kind];
	size_t part_bytes = state->part_bytes[kind];

	if (segment->ops)
		return FB_OK;
	if (kind < FB_P2P_DEVICE)
		return fb_segment_open(segment, state->world, part_bytes, kind == FB_P2P_HUGE);
	return fb_gpu_segment_open(segment, &state->gpu,
				   (enum fb_gpu_memory)(kind - FB_P2P_DEVICE), part_bytes);
}

static bool gpu_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
			   char reason[FB_REASON_CHARS])
{
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);

	if (!state->has_gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", state->no_gpu);
	else if (!ops_of(c)->device && kind != FB_P2P_PINNED &&
		 !(ops_of(c)->device_memory && kind == FB_P2P_DEVICE))
		snprintf(reason, FB_REASON_CHARS, "engine %s works in host memory", c->engine);
	else if (kind == FB_P2P_PINNED && !fb_world_one_host(state->world))
		snprintf(reason, FB_REASON_CHARS, "memory pinned does not reach other hosts");
	else
		return fb_gpu_segment_can(&state->gpu, (enum fb_gpu_memory)(kind - FB_P2P_DEVICE),
					  reason, FB_REASON_CHARS);
	return false;
}

bool fb_p2p_memory_can(const struct fb_p2p_state *state, const struct fb_case *c,
		       uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	enum fb_p2p_memory kind = fb_p2p_memory_of(c);
	bool on_device = kind >= FB_P2P_DEVICE && kind != FB_P2P_PINNED;
	/* The harness needs some of a GPU's memory as well. */
	uint64_t most = on_device ? state->gpu.memory_bytes / 8 * 7 : state->memory_limit;
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (kind >= FB_P2P_DEVICE && !gpu_memory_can(state, c, reason))
		return false;
	if (kind == FB_P2P_HUGE && !state->huge_pages) {
		snprintf(reason, FB_REASON_CHARS, "no huge pages for shared memory: "
			 "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
		return false;
	}
	if (part_bytes <= most)
		return true;
	snprintf(reason, FB_REASON_CHARS, "%s is more than the memory for its buffers, %s",
		 fb_size_text(c->bytes, asked), fb_size_text(most, limit));
	return false;
}

static bool in_list(const char *const *list, const char *name)
{
	while (list && *list && strcmp(*list, name))
		list++;
	return !list || *list;
}

bool fb_p2p_suit(const struct fb_p2p_state *state, struct fb_case *c)
{
	const struct fb_p2p_engine_ops *ops = ops_of(c);
	bool streams = !strcmp(c->launch, "stream") || !strcmp(c->launch, "graph");
	bool one_sided = strcmp(c->algorithm, fb_verbs[FB_SEND]) != 0;

	if (!ops->device)
		return !streams;
	/* "all" engines are those that this machine has; one that is named gets its rows. */
	if (!state->has_gpu && !strcmp(state->settings->engine, "all"))
		return false;
	if (one_sided && !ops->one_sided)
		return false;
	if (!one_sided && ops->own && !in_list(ops->protocols, c->protocol))
		return false;
	/* Lines with flags are for messages one by one. */
	if (!one_sided && strcmp(c->operation, fb_patterns[FB_PING_PONG]) &&
	    !strcmp(c->protocol, "ll"))
		return false;
	if (!streams)
		c->launch = "stream";
	if (fb_p2p_memory_of(c) < FB_P2P_DEVICE)
		c->memory = fb_p2p_memories[FB_P2P_DEVICE];
	c->transport = strcmp(c->memory, "pinned") ? "p2p" : "shm";
	if (!ops->own)
		c->registration = "none";
	return true;
}

void fb_p2p_suit_variant(const struct fb_p2p_state *state, struct fb_case *c)
{
	const struct fb_settings *s = state->settings;
	const struct {
		const char *name;
		uint64_t value;
	} keys[] = {
		{"channels", s->channels}, {"rounds", state->own->rounds},
		{"threads", s->threads},
	};
	char text[64], ignored[FB_REASON_CHARS];

	for (size_t i = 0; ops_of(c)->device && i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!keys[i].value)
			continue;
		snprintf(text, sizeof(text), "%s=%llu", keys[i].name,
			 (unsigned long long)keys[i].value);
		(void)fb_variant_add(c->variant, text, ignored, sizeof(ignored));
	}
}

int fb_p2p_rounds(const struct fb_p2p_state *state, const struct fb_case *c)
{
	const struct fb_p2p_engine_ops *ops = ops_of(c);

	if (!ops->device || strcmp(c->operation, fb_patterns[FB_PING_PONG]))
		return 1;
	if (state->own->rounds)
		return (int)state->own->rounds;
	/* A probe is a call of its own. */
	return state->program->grouping == FB_UNDER_LOAD ? PROBE_ROUNDS : ops->rounds;
}
