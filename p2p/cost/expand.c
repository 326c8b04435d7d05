/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of a program of costs; see state.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/variant.h"
#include "common/run/axes.h"
#include "common/transport/keys.h"
#include "common/transport/rdma_choice.h"
#include "p2p/cost/state.h"

/* Values of --memory, in the order of enum fb_pages and behind these of enum fb_gpu_memory. */
static const char *const memories[] = {"host",   "hugepage", "hugetlb", "hugetlb_1g",
				       "device", "vmm",	     NULL};
/* Where no cost has memory. */
static const char *const no_memories[] = {"host", NULL};

int fb_cost_gpu_memory_of(const char *name)
{
	enum fb_memory_kind kind = fb_memory_kind_of(name);

	return fb_memory_by_gpu(kind) ? (int)(kind - FB_MEMORY_DEVICE) : -1;
}

/* Whether the action works on memory of that name. A library's own is as it likes. */
static bool takes_memory(const struct fb_cost *cost, const char *memory)
{
	int kind = fb_cost_gpu_memory_of(memory);

	if (kind >= 0)
		return cost->gpu_memory >> kind & 1;
	return !cost->sized || cost->paged ||
	       (!cost->gpu_memory && !strcmp(memory, memories[FB_PAGES_NORMAL]));
}

/* Puts the options of the network into the variant, because rows of this program measure them. */
static void add_network(const struct fb_cost_state *state, struct fb_case *c)
{
	const struct fb_settings *settings = state->context.settings;
	struct fb_rdma_rail_name named[FB_RDMA_RAILS];
	char added[32];
	int n = state->rails;

	fb_transport_keys(c, settings, fb_cost_gpu_memory_of(c->memory) >= 0);
	if (strcmp(c->transport, "rdma"))
		return;
	/* `path` names the devices. Their number is a key, because it multiplies the cost. */
	if (!n && !fb_rdma_parse_auto(settings->rdma.device))
		n = fb_rdma_parse_rails(settings->rdma.device, named);
	snprintf(added, sizeof(added), "rdma_rails=%d", n);
	fb_variant_put(c, n > 1 ? added : "");
}

static bool only_gpu(const struct fb_cost *cost)
{
	return cost->gpu_memory && !cost->paged;
}

/*
 * Whether the options ask for the cost: --engine names its engine, and --memory a kind of memory
 * on which it works. A cost of GPU memory alone needs no such --memory if its engine is named.
 */
static bool is_asked(const struct fb_settings *settings, const struct fb_cost *cost)
{
	bool any = !cost->sized || (only_gpu(cost) && strcmp(settings->engine, "all"));

	for (int k = 0; memories[k]; k++)
		any |= fb_option_names(settings->memory, memories[k]) &&
		       takes_memory(cost, memories[k]);
	return any && fb_option_names(settings->engine, cost->engine);
}

/* fb_axes_adjust_fn: a cost belongs to one engine and one transport. */
static bool adjust(void *arg, struct fb_case *c)
{
	const struct fb_cost_state *state = arg;
	const struct fb_cost *cost = state->adding;

	if (strcmp(c->engine, cost->engine))
		return false;
	if (only_gpu(cost) && fb_cost_gpu_memory_of(c->memory) < 0)
		c->memory = fb_memory_kinds[FB_MEMORY_DEVICE].name;
	if (!takes_memory(cost, c->memory))
		return false;
	c->transport = cost->transport;
	c->datatype = FB_U8;
	if (!cost->sized) {
		c->bytes = 0;
		c->memory = "-";
	}
	add_network(state, c);
	return true;
}

/* The engines of the list, each once, ending in NULL. */
static void list_engines(const struct fb_cost *cost, const char **engines, size_t n)
{
	size_t count = 0;

	for (; cost->operation; cost++) {
		bool known = false;

		for (size_t i = 0; i < count; i++)
			known |= !strcmp(engines[i], cost->engine);
		if (!known && count + 1 < n)
			engines[count++] = cost->engine;
	}
	engines[count] = NULL;
}

/* The cases of the cost that is being added. */
static int expand_cost(struct fb_run *run, struct fb_cost_state *state,
		       const struct fb_axes_accepted *accepted)
{
	int err = FB_OK;

	for (int i = 0; i < state->stores.places.count && !err; i++) {
		struct fb_case base = {.operation = state->adding->operation,
				       .registration = "none"};

		fb_place_put(&state->stores.places.item[i], &base);
		err = fb_axes_expand(run, &base, accepted, adjust, state);
	}
	return err;
}

int fb_cost_expand(struct fb_run *run, void *arg)
{
	struct fb_cost_state *state = arg;
	const struct fb_settings *settings = state->context.settings;
	const char *engines[16];
	struct fb_axes_accepted accepted = {.engines = engines, .memories = no_memories};
	bool any = false;
	int err = FB_OK;

	list_engines(state->program->costs, engines, sizeof(engines) / sizeof(engines[0]));
	for (const struct fb_cost *cost = state->program->costs; cost->operation; cost++)
		if (cost->paged)
			accepted.memories = memories;
	for (state->adding = state->program->costs; state->adding->operation && !err;
	     state->adding++) {
		/* A cost of an engine or memory not asked for has no case, which is no mistake. */
		if (!is_asked(settings, state->adding))
			continue;
		err = expand_cost(run, state, &accepted);
		any = true;
	}
	state->adding = state->program->costs;
	/* No engine that there is: what is wrong with them, the axes say. */
	return any ? err : expand_cost(run, state, &accepted);
}
