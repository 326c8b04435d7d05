/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes cases from axis values, and an operation from a case.
 *
 * Engines with plans take the product of algorithms, protocols and transports. A library selects
 * all three itself, so its keys are "library" and it has one case, whatever the options say:
 * --algorithm ring compares ring with the library's algorithm. --engine leaves the library out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/buffers.h"
#include "collectives/engine_options.h"
#include "collectives/fresh.h"
#include "collectives/state.h"
#include "common/base/error.h"
#include "common/record/key.h"
#include "common/record/variant.h"
#include "common/run/axes.h"
#include "common/transport/keys.h"

enum { ALGORITHM_CHARS = 128 };

static const char *const protocols[] = {"simple", "ll", "ll128", "direct", "tma", "striped",
					"auto", NULL};
static const char *const transports[] = {"shm", "tcp", "shm+tcp", "rdma", "shm+rdma", "p2p",
					 "p2p+shm", "p2p+tcp", "p2p+rdma", NULL};
static const char *const launches[] = {"blocking", "nonblocking", "persistent", "stream", "graph",
				       "init_all", "threads", "group", "graph_threads", NULL};
static const char library[] = "library", automatic[] = "auto";

size_t fb_engine_index(const char *name)
{
	size_t i = 0;

	while (fb_engines[i] && strcmp(fb_engines[i]->name, name))
		i++;
	return i;
}

/* Whether a rank's larger buffer has one block for each rank, not just one. */
static bool has_block_per_rank(const struct fb_collective_info *info)
{
	return info->in == FB_BLOCK_PER_RANK || info->out == FB_BLOCK_PER_RANK ||
	       info->in == FB_PER_RANK_AT_ROOT || info->out == FB_PER_RANK_AT_ROOT;
}

int fb_instance_fill(struct fb_collective_instance *i, struct fb_collective_state *state,
		     const struct fb_case *c)
{
	uint64_t size = fb_datatype_size(c->datatype), n;
	uint64_t whole = c->bytes / size;
	bool per_rank = has_block_per_rank(state->info);
	const struct fb_engine *engine = state->engines[fb_engine_index(c->engine)];
	int err;

	i->state = state;
	i->key = c;
	i->ops = fb_engines[fb_engine_index(c->engine)];
	i->nranks = engine ? fb_engine_ranks(engine) : state->world->nranks;
	n = (uint64_t)i->nranks;
	i->place = fb_places_of(&state->stores.places, c);
	i->tests = !strcmp(c->launch, "nonblocking");
	i->op = (struct fb_operation){
		.collective = state->collective,
		.datatype = c->datatype,
		.redop = c->redop >= 0 ? (enum fb_redop)c->redop : FB_SUM,
		.root = c->root >= 0 ? c->root : 0,
		.in_place = c->in_place,
		.ctas = FB_OWN_CONST(struct fb_collective_own, c)->ctas,
		.count = per_rank ? (c->bytes + size * n - 1) / (size * n) : whole,
		.segment = i->ops->members ? &state->members
			 : &state->stores.segment[fb_store_of(&state->stores, c)],
	};
	i->bytes = i->op.count * size * (per_rank ? n : 1);
	i->data = (struct fb_data){.seed = state->settings->seed, .type = c->datatype,
				   .op = i->op.redop, .reduces = state->info->reduces,
				   .nranks = i->nranks};
	if (!state->info->unequal)
		return FB_OK;
	if (state->collective == FB_ALL_TO_ALL_V)
		i->bytes = whole * size;
	else /* of one block, so that equal blocks give the case of all_gather or reduce_scatter */
		whole = i->op.count;
	err = fb_traffic_counts(&state->traffic, whole, &i->counts);
	if (err)
		return err;
	i->op.counts = &i->counts;
	i->op.count = i->counts.max;
	return FB_OK;
}

bool fb_instance_choose(struct fb_collective_instance *i, char reason[FB_REASON_CHARS])
{
	struct fb_collective_state *s = i->state;

	return fb_select(&s->selector, s->engines[fb_engine_index(i->key->engine)], i->key, &i->op,
			 &i->selection, reason);
}

void fb_instance_free(struct fb_collective_instance *instance)
{
	free(instance->counts.elements);
	instance->counts.elements = NULL;
}

static bool reduction_exists(const struct fb_case *c, char *reason)
{
	if (c->redop < 0 || fb_can_reduce(c->datatype, (enum fb_redop)c->redop))
		return true;
	snprintf(reason, FB_REASON_CHARS, "no %s of %s", fb_redop_name((enum fb_redop)c->redop),
		 fb_datatype_name(c->datatype));
	return false;
}

/* fb_program.can; if the case can run, *part_bytes is what it needs of each rank's memory. */
static bool judge(struct fb_collective_state *state, const struct fb_case *c,
		  size_t *part_bytes, char reason[FB_REASON_CHARS])
{
	struct fb_collective_instance i = {0};
	bool can = false;

	if (!state->engines[fb_engine_index(c->engine)]) {
		snprintf(reason, FB_REASON_CHARS, "engine %s is not available here", c->engine);
		return false;
	}
	if (state->producer != FB_PRODUCER_NONE &&
	    !fb_fresh_can(c, state->producer, state->collective, reason))
		return false;
	/* Unequal blocks are given for processes, and steps use one GPU of each process. */
	if (fb_engines[fb_engine_index(c->engine)]->members &&
	    (state->has_steps || state->info->unequal)) {
		snprintf(reason, FB_REASON_CHARS, "engine %s has no %s", c->engine,
			 state->has_steps ? "steps" : state->info->name);
		return false;
	}
	/* The size alone is checked first, because sums of such sizes may overflow below. */
	if (!reduction_exists(c, reason) || !fb_memory_can(state, c, c->bytes, reason))
		return false;
	if (fb_instance_fill(&i, state, c)) {
		snprintf(reason, FB_REASON_CHARS, "out of memory for the sizes of all blocks");
		return false;
	}
	*part_bytes = fb_buffers_layout(&i.op, i.nranks);
	can = fb_memory_can(state, c, *part_bytes, reason) && fb_instance_choose(&i, reason);
	fb_instance_free(&i);
	return can;
}

bool fb_collective_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	size_t ignored;

	return judge(state, c, &ignored, reason);
}

/* Makes --objective a key of the row, unless it is the usual one or the case has no auto. */
static void add_objective(const struct fb_collective_state *state, struct fb_case *c)
{
	enum fb_auto_objective usual = state->has_steps ? FB_OVERLAPPED : FB_ALONE;
	char key[32];

	if ((enum fb_auto_objective)state->settings->objective == usual ||
	    (strcmp(c->algorithm, automatic) && strcmp(c->protocol, automatic)))
		return;
	snprintf(key, sizeof(key), "objective=%s", fb_auto_objectives[state->settings->objective]);
	fb_variant_put(c, key);
}

/* Whether this machine has the protocol. Only engine cuda has tma and striped; tma needs sm_90. */
static bool has_protocol(const struct fb_collective_state *state, const struct fb_case *c)
{
	bool tma = !strcmp(c->protocol, "tma");

	if (!tma && strcmp(c->protocol, "striped"))
		return true;
	return !strcmp(c->engine, "cuda") && state->has_gpu && (!tma || state->gpu.major >= 9);
}

/* fb_axes_adjust_fn: also notes how large the segments have to be. */
static bool adjust(void *arg, struct fb_case *c)
{
	struct fb_collective_state *state = arg;
	size_t *most, part_bytes;
	char ignored[FB_REASON_CHARS];

	if (state->step_elements)
		c->bytes = state->step_elements * fb_datatype_size(c->datatype);
	if (!fb_device_case(state, c))
		return false;
	if (!fb_engines[fb_engine_index(c->engine)]->planned)
		fb_engine_options_apply(&state->engine_options,
					!strcmp(state->settings->memory, "host"), c);
	/*
	 * Planned engines prepare once for all starts in any case, so "persistent" would measure
	 * the same again. --protocol all stands for the protocols that this machine has.
	 */
	else if (!strcmp(c->algorithm, library) || !strcmp(c->launch, "persistent") ||
		 (!strcmp(state->settings->protocol, "all") && !has_protocol(state, c)))
		return false;
	fb_transport_keys(c, state->settings, !strcmp(c->engine, "cuda"));
	add_objective(state, c);
	if (state->collective == FB_BARRIER) {
		c->bytes = 0;
		c->datatype = FB_U8;
		c->memory = fb_memory_kinds[FB_MEMORY_HOST].name;
	}
	most = fb_engines[fb_engine_index(c->engine)]->members
		       ? &state->members_bytes
		       : &state->stores.part_bytes[fb_store_of(&state->stores, c)];
	if (judge(state, c, &part_bytes, ignored) && part_bytes > *most)
		*most = part_bytes;
	return true;
}

/*
 * Whether the parts of a composed algorithm exist and fit together. All algorithms can run on four
 * nodes of four ranks, so a refusal there is because of the parts.
 */
static bool parts_fit(const struct fb_algorithm *algorithm, const char *stages)
{
	enum { NODES = 4, PER_NODE = 4, RANKS = NODES * PER_NODE };
	int node_of[RANKS], local_rank_of[RANKS];
	const struct fb_topology topology = {.nranks = RANKS, .nnodes = NODES,
					     .node_of = node_of, .local_rank_of = local_rank_of};
	const struct fb_shape shape = {
		.collective = algorithm->collective, .nranks = RANKS, .topology = &topology,
		.nchannels = algorithm->channels ? algorithm->channels : 1, .stages = stages,
	};
	char ignored[FB_REASON_CHARS];

	for (int i = 0; i < RANKS; i++) {
		node_of[i] = i / PER_NODE;
		local_rank_of[i] = i % PER_NODE;
	}
	return *stages && fb_algorithm_can(algorithm, &shape, ignored, sizeof(ignored));
}

/*
 * The names --algorithm accepts: the registry's, "library", "auto", and composed ones of the
 * user's own ("hierarchical:ring+tree+ring", kept in `composed`) if the registry has all their
 * parts.
 */
static void list_algorithms(const struct fb_collective_state *state, const char **names,
			    char (*composed)[ALGORITHM_CHARS])
{
	const char *cursor = state->settings->algorithm;
	char *item = *composed;

	for (int i = 0; i < fb_algorithm_count; i++)
		if (fb_algorithms[i]->collective == state->collective)
			*names++ = fb_algorithms[i]->name;
	*names++ = library;
	*names++ = automatic;
	while (fb_option_next_item(&cursor, item, ALGORITHM_CHARS) > 0) {
		char *colon = strchr(item, ':');
		const struct fb_algorithm *algorithm;

		if (!colon)
			continue;
		*colon = '\0';
		algorithm = fb_algorithm_find(state->collective, item);
		if (!algorithm || !parts_fit(algorithm, colon + 1))
			continue;
		*colon = ':';
		*names++ = item;
		item = *++composed;
	}
	*names = NULL;
}

/* An upper bound of the number of items in a list. */
static size_t items(const char *list)
{
	size_t n = 1;

	for (; *list; list++)
		n += *list == ',';
	return n;
}

/* Expands the cases once for each place of --numa. */
static int expand_places(struct fb_run *run, struct fb_collective_state *state,
			 const struct fb_axes_accepted *accepted)
{
	int err = FB_OK;

	for (int i = 0; i < state->stores.places.count && !err; i++) {
		struct fb_case base = {.operation = state->operation,
				       .registration = "registered"};

		snprintf(base.variant, sizeof(base.variant), "%s", state->variant);
		FB_OWN(struct fb_collective_own, &base)->pass = state->pass;
		fb_place_put(&state->stores.places.item[i], &base);
		if (state->producer != FB_PRODUCER_NONE) {
			char key[32];

			snprintf(key, sizeof(key), "producer=%s", fb_producers[state->producer]);
			fb_variant_put(&base, key);
		}
		err = fb_engine_options_expand(run, &base, accepted, adjust, state, state->ctas,
					       &state->engine_options);
	}
	return err;
}

int fb_collective_expand(struct fb_run *run, void *arg)
{
	struct fb_collective_state *state = arg;
	size_t own = items(state->settings->algorithm), engines = 0;
	size_t known = (size_t)fb_algorithm_count + 3;
	const char **names = calloc(known + own, sizeof(*names));
	const char **engine_names;
	char (*composed)[ALGORITHM_CHARS] = calloc(own + 1, sizeof(*composed));
	struct fb_axes_accepted accepted = {
		.algorithms = names,
		.protocols = protocols,
		.transports = transports,
		.memories = fb_memories,
		.launches = launches,
		.engine_list = state->engine_list,
		.has_redop = state->info->reduces && state->collective != FB_BARRIER,
		.has_root = state->info->has_root,
		.has_in_place = state->info->in_place && !state->has_steps,
	};
	int err = FB_ENOMEM;

	while (fb_engines[engines])
		engines++;
	engine_names = calloc(engines + 1, sizeof(*engine_names));
	if (!names || !composed || !engine_names) {
		fb_error(err, "out of memory for the names of algorithms");
		goto free_names;
	}
	for (size_t i = 0; i < engines; i++)
		engine_names[i] = fb_engines[i]->name;
	accepted.engines = engine_names;
	list_algorithms(state, names, composed);
	err = expand_places(run, state, &accepted);
free_names:
	free(engine_names);
	free(composed);
	free(names);
	return err;
}
