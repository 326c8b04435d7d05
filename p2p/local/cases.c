/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cases of copies between a processor and its GPU: directions by engines by kinds of host
 * memory by sizes; see local.h.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/run/axes.h"
#include "p2p/local/local.h"

enum {
	WINDOW_MOST = 64, WINDOW_LEAST = 4, WINDOW_BYTES = 32 << 20,
	MAPPED_BYTES = 1 << 20,	    /* in a call: a processor reads a GPU's memory slowly */
	MANAGED_BYTES = 64 << 20,   /* pages of more would move back and forth for long */
};

static const char *const directions[] = {
	[FB_LOCAL_H2D] = "h2d", [FB_LOCAL_D2H] = "d2h", [FB_LOCAL_BOTH] = "h2d_d2h",
	[FB_LOCAL_D2D] = "d2d", [FB_LOCAL_PING_PONG] = "ping_pong", [FB_LOCAL_DIRECTIONS] = NULL};
static const char gdrcopy[] = "gdrcopy", blocking[] = "blocking";
static const char *const engines[] = {"copy", "cuda", gdrcopy, NULL};
static const char *const memories[] = {"pinned",   "registered", "pageable",   "managed",
				       "hugepage", "hugetlb",	  "hugetlb_1g", "file",
				       NULL};
static const char *const launches[] = {blocking, "stream", "graph", NULL};

static int index_of(const char *const *names, const char *name)
{
	int i = 0;

	while (names[i] && strcmp(names[i], name))
		i++;
	return i;
}

enum fb_local_direction fb_local_direction_of(const struct fb_case *c)
{
	return (enum fb_local_direction)index_of(directions, c->operation);
}

enum fb_memory_kind fb_local_memory_of(const struct fb_case *c)
{
	enum fb_memory_kind kind = fb_memory_of(c);

	return kind == FB_MEMORY_DEVICE ? FB_MEMORY_PINNED : kind; /* d2d needs none */
}

/* Whether the driver has to lock pages, or copy them to where they are locked, at each copy. */
static bool is_pageable(enum fb_memory_kind kind)
{
	return !fb_memory_by_gpu(kind) && kind != FB_MEMORY_REGISTERED;
}

bool fb_local_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	const struct fb_local_state *state = arg;
	const struct fb_place *place = fb_places_of(&state->stores.places, c);
	enum fb_memory_kind kind = fb_local_memory_of(c);
	bool kernel = !strcmp(c->engine, "cuda");
	uint64_t most = state->has_gpu ? state->gpu.memory_bytes / 4 : 0;
	char asked[FB_SIZE_CHARS];

	most = most && most < state->stores.limit / 2 ? most : state->stores.limit / 2;
	most = place->limit / 2 < most ? place->limit / 2 : most;
	if (!c->bytes)
		snprintf(reason, FB_REASON_CHARS, "messages of 0 bytes are not possible here");
	else if (c->bytes % fb_datatype_size(c->datatype))
		snprintf(reason, FB_REASON_CHARS, "%s is no whole number of %s",
			 fb_size_text(c->bytes, asked), fb_datatype_name(c->datatype));
	else if (kernel && is_pageable(kind))
		snprintf(reason, FB_REASON_CHARS, "kernels do not reach memory %s", c->memory);
	else if (is_pageable(kind) && !strcmp(c->launch, "graph"))
		snprintf(reason, FB_REASON_CHARS, "graphs need memory whose address stays the "
						  "same");
	else if (kind == FB_MEMORY_MANAGED && c->bytes > MANAGED_BYTES)
		snprintf(reason, FB_REASON_CHARS, "managed memory is measured up to %d MiB",
			 MANAGED_BYTES >> 20);
	else if (fb_local_direction_of(c) == FB_LOCAL_PING_PONG && c->bytes > FB_LOCAL_LL_BYTES)
		snprintf(reason, FB_REASON_CHARS, "messages to a running kernel have at most %d "
						  "bytes",
			 FB_LOCAL_LL_BYTES);
	else if (!state->has_gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", state->no_gpu);
	else if (!strcmp(c->engine, gdrcopy) && *state->no_gdr)
		snprintf(reason, FB_REASON_CHARS, "%s", state->no_gdr);
	else if (*place->reason)
		snprintf(reason, FB_REASON_CHARS, "%s", place->reason);
	else if (c->bytes > most)
		snprintf(reason, FB_REASON_CHARS, "%s is more than the memory for its buffers",
			 fb_size_text(c->bytes, asked));
	else
		return fb_memory_by_gpu(kind) ||
		       fb_stores_can(&state->stores, c, 2 * c->bytes, NULL, reason);
	return false;
}

#define KEY(name) {#name, FB_KEY_U64, offsetof(struct fb_local_keys, name), NULL}

static const struct fb_key keys[] = {
	KEY(channels), KEY(rounds), KEY(threads), KEY(window), {NULL, FB_KEY_U64, 0, NULL},
};

static void put_keys(struct fb_case *c, struct fb_local_keys own)
{
	/* What is 0 is the engine's choice, or has no meaning there: no key. */
	own.channels = own.channels ? own.channels : FB_KEY_NONE;
	own.rounds = own.rounds ? own.rounds : FB_KEY_NONE;
	own.threads = own.threads ? own.threads : FB_KEY_NONE;
	*FB_OWN(struct fb_local_keys, c) = own;
	fb_keys_put(c, keys);
}

/* The processor copies itself, one way at a time, and nothing is launched. */
static bool adapt_mapped(const struct fb_local_state *state, struct fb_case *c)
{
	enum fb_local_direction d = fb_local_direction_of(c);
	uint64_t window = MAPPED_BYTES / (c->bytes ? c->bytes : 1);

	/* "all" engines are those that this machine has; one that is named gets its rows. */
	if ((d != FB_LOCAL_H2D && d != FB_LOCAL_D2H) ||
	    (*state->no_gdr && !strcmp(state->settings->engine, "all")))
		return false;
	c->launch = blocking;
	window = window > WINDOW_MOST ? WINDOW_MOST : window ? window : 1;
	put_keys(c, (struct fb_local_keys){
			    .window = state->own->window ? state->own->window : window});
	return true;
}

/* fb_axes_adjust_fn */
static bool adjust(void *arg, struct fb_case *c)
{
	const struct fb_local_state *state = arg;
	bool ping_pong = fb_local_direction_of(c) == FB_LOCAL_PING_PONG;
	uint64_t window = state->own->window;
	struct fb_local_keys own = {.window = 0};

	if (!strcmp(c->engine, gdrcopy))
		return adapt_mapped(state, c);
	if (!strcmp(c->launch, blocking))
		return false;
	/* Messages to a kernel go through mapped memory, which pinned memory is. */
	if (ping_pong && (strcmp(c->engine, "cuda") || strcmp(c->launch, "stream") ||
			  strcmp(c->memory, memories[0])))
		return false;
	if (fb_local_direction_of(c) == FB_LOCAL_D2D)
		c->memory = "device";
	if (!window)
		window = WINDOW_BYTES / (c->bytes ? c->bytes : 1);
	window = window > WINDOW_MOST && !state->own->window ? WINDOW_MOST : window;
	window = window < WINDOW_LEAST && !state->own->window ? WINDOW_LEAST : window;
	own.window = ping_pong ? 1 : window;
	own.rounds = ping_pong ? state->own->rounds : 0;
	if (!strcmp(c->engine, "cuda")) {
		own.channels = ping_pong ? 0 : state->settings->channels;
		own.threads = state->settings->threads;
	}
	put_keys(c, own);
	return true;
}

/* An engine, launch or place that has no such direction has no case, which is no mistake. */
static bool has_direction(const struct fb_settings *s, enum fb_local_direction d,
			  const char *place)
{
	bool cuda = fb_option_names(s->engine, "cuda");
	bool stream = fb_option_names(s->launch, "stream");
	bool streams = (fb_option_names(s->engine, "copy") || cuda) &&
		       (fb_option_names(s->launch, "graph") || stream);

	if (d == FB_LOCAL_PING_PONG)
		return cuda && stream && fb_option_names(s->memory, "pinned");
	/* Within the device no host memory takes part. */
	if (d == FB_LOCAL_D2D)
		return streams && !strcmp(place, "any");
	return streams || d == FB_LOCAL_H2D || d == FB_LOCAL_D2H;
}

int fb_local_expand(struct fb_run *run, void *arg)
{
	const struct fb_local_state *state = arg;
	const struct fb_axes_accepted accepted = {
		.engines = engines, .memories = memories, .launches = launches};
	int err = FB_OK;

	for (int p = 0; p < state->stores.places.count; p++)
		for (int d = 0; directions[d] && !err; d++) {
			const char *place = state->stores.places.item[p].name;
			struct fb_case base = {.operation = directions[d],
					       .registration = "none"};

			if (!has_direction(fb_run_settings(run), (enum fb_local_direction)d, place))
				continue;
			fb_place_put(&state->stores.places.item[p], &base);
			err = fb_axes_expand(run, &base, &accepted, adjust, arg);
		}
	return err;
}
