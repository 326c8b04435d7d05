/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From axis values to cases.
 *
 * The column `operation` is the pattern and `algorithm` the verb. Which ranks take part, and how
 * many messages are under way at once, are keys of the variant. A library chooses protocol and
 * transport itself: there they are "library".
 */
#include <stdio.h>
#include <string.h>

#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "common/run/axes.h"
#include "p2p/program.h"

static const char *const transports[] = {"shm", "tcp", "shm+tcp", "rdma", "p2p", NULL};
static const char *const launches[] = {"blocking", "stream", "graph", NULL};
static const char library[] = "library", automatic[] = "auto";

/* Sets the protocol and the transport that the engine uses; false: it has no such case. */
static bool adapt_to_engine(const struct fb_p2p_state *state, struct fb_case *c)
{
	size_t index = fb_p2p_engine_index(c->engine);
	const struct fb_p2p_engine_ops *ops = fb_p2p_engines[index];

	if (fb_p2p_wait_of(c) != FB_RDMA_WAIT_POLL && !ops->sleeps)
		return false;
	if (!ops->own) {
		c->protocol = c->transport = library;
		return true;
	}
	if (ops->device && !ops->mover) {
		if (strcmp(c->algorithm, fb_verbs[FB_SEND]))
			c->protocol = "direct"; /* no other way to write to, or read, memory */
		return true;
	}
	/* "all" means the engines that this machine has. A named engine gets skipped rows. */
	if (ops->missing && state->engines[index] && ops->missing(state->engines[index]) &&
	    state->any)
		return false;
	return ops->protocols[fb_p2p_index(ops->protocols, c->protocol)] &&
	       ops->adjust(state->settings, c);
}

/* Makes it a case of its engine's, and notes how large the segments have to be. */
static bool adjust_named(struct fb_p2p_state *state, struct fb_case *c)
{
	bool one_sided = strcmp(c->algorithm, fb_verbs[FB_SEND]) != 0;
	struct fb_p2p_keys *keys = FB_OWN(struct fb_p2p_keys, c);
	const bool mover = fb_p2p_engines[fb_p2p_engine_index(c->engine)]->mover != NULL;
	char ignored[FB_REASON_CHARS] = "";
	size_t part_bytes, *most;

	if (!fb_p2p_adapt_case(state, c))
		return false;
	if (!strcmp(c->operation, fb_patterns[FB_PING_PONG])) {
		/*
		 * Puts and gets have no answer, so the latency is the time of one operation. A
		 * mover's put gives its receiver a notice, which the receiver can answer.
		 */
		if (one_sided && !(mover && !strcmp(c->algorithm, fb_verbs[FB_PUT])))
			c->operation = fb_patterns[FB_ONE_WAY];
		keys->window = 1;
	} else {
		keys->window = (uint64_t)fb_p2p_window(state, c->bytes);
		if (state->own->span != FB_JOB_SPAN)
			keys->span = state->own->span;
	}
	fb_keys_put(c, fb_p2p_keys);
	if (!adapt_to_engine(state, c))
		return false;
	fb_p2p_adapt_variant(state, c);
	most = &state->stores.part_bytes[fb_store_of(&state->stores, c)];
	if (fb_p2p_judge(state, c, &part_bytes, ignored) && part_bytes > *most)
		*most = part_bytes;
	return true;
}

/* fb_axes_adjust_fn. Protocol auto is the first of the engine's that does what is asked. */
static bool adjust(void *arg, struct fb_case *c)
{
	const char *const *own = fb_p2p_engines[fb_p2p_engine_index(c->engine)]->protocols;
	const struct fb_case asked = *c;

	if (strcmp(c->protocol, automatic))
		return adjust_named(arg, c);
	if (!own)
		c->protocol = library;
	for (; own && *own; own++) {
		*c = asked;
		c->protocol = *own;
		if (adjust_named(arg, c))
			return true;
	}
	return !own && adjust_named(arg, c);
}

static const struct fb_p2p_keys no_keys = {
	FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE,
	FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE, FB_KEY_NONE,
};

struct expansion {
	struct fb_run *run;
	struct fb_p2p_state *state;
	struct fb_axes_accepted accepted;
	const char *pattern, *registration;
	enum fb_rdma_wait wait;
};

/* With each place of --numa. */
static int expand_keys(const struct expansion *e, const struct fb_p2p_keys *keys)
{
	const struct fb_places *places = &e->state->stores.places;
	int err = FB_OK;

	for (int i = 0; i < places->count && !err; i++) {
		struct fb_case base = {.operation = e->pattern, .registration = e->registration};

		*FB_OWN(struct fb_p2p_keys, &base) = *keys;
		if (e->wait != FB_RDMA_WAIT_POLL)
			FB_OWN(struct fb_p2p_keys, &base)->rdma_wait = (uint64_t)e->wait;
		fb_keys_put(&base, fb_p2p_keys);
		fb_place_put(&places->item[i], &base);
		err = fb_axes_expand(e->run, &base, &e->accepted, adjust, e->state);
	}
	return err;
}

/* 1, 2, 4, ... and `most` itself. */
static int expand_counts(const struct expansion *e, bool pairs, int most)
{
	int err = FB_OK;

	for (int n = 1; n <= most && !err; n = n < most && 2 * n > most ? most : 2 * n) {
		struct fb_p2p_keys keys = no_keys;

		*(pairs ? &keys.pairs : &keys.degree) = (uint64_t)n;
		err = expand_keys(e, &keys);
	}
	return err;
}

static int expand_pairs(const struct expansion *e)
{
	bool both_ways = strcmp(e->pattern, fb_patterns[FB_ONE_WAY]) != 0;
	const struct fb_pairs *pairs = &e->state->pairs;
	int err = FB_OK;

	for (int i = 0; i < pairs->count && !err; i++) {
		const struct fb_pair *p = &pairs->item[i];
		struct fb_p2p_keys keys = no_keys;
		bool again = false;

		/* 1-0 is the same as 0-1 where messages go both ways. */
		for (int k = 0; k < i && both_ways; k++)
			again |= pairs->item[k].src == p->dst && pairs->item[k].dst == p->src;
		if (again)
			continue;
		keys.src = (uint64_t)p->src;
		keys.dst = (uint64_t)p->dst;
		err = expand_keys(e, &keys);
	}
	return err;
}

/* The service level and traffic class of the load, if they differ from those of the messages. */
static void put_class(const struct fb_job_class *load, struct fb_p2p_keys *keys)
{
	if (load->service_level >= 0)
		keys->load_service_level = (uint64_t)load->service_level;
	if (load->traffic_class >= 0)
		keys->load_traffic_class = (uint64_t)load->traffic_class;
}

/* 0, 1, 2, 4, ... of the pairs that share no rank with each other or with the first. */
static int expand_load(const struct expansion *e)
{
	int most = fb_pairs_disjoint(&e->state->pairs) - 1, err = FB_OK;
	const struct fb_pair *probe = &e->state->pairs.item[0];

	for (int n = 0, next; n <= most && !err; n = next) {
		struct fb_p2p_keys keys = no_keys;

		next = n == 0 ? 1 : n < most && 2 * n > most ? most : 2 * n;
		keys.src = (uint64_t)probe->src;
		keys.dst = (uint64_t)probe->dst;
		keys.load = (uint64_t)n;
		keys.load_bytes = e->state->own->load_bytes;
		if (n)
			put_class(&e->state->own->load_class, &keys);
		err = expand_keys(e, &keys);
	}
	return err;
}

/* Auto, and those of all engines, each once, ending in NULL. */
static void list_protocols(const char **list, size_t n)
{
	size_t count = 1;

	list[0] = automatic;

	for (size_t i = 0; fb_p2p_engines[i]; i++) {
		const char *const *own = fb_p2p_engines[i]->protocols;

		for (; own && *own; own++)
			if (!list[fb_p2p_index(list, *own)] && count + 1 < n)
				list[count++] = *own;
	}
}

/* The cases of all patterns. */
static int expand_patterns(struct expansion *e)
{
	struct fb_p2p_state *state = e->state;
	int err = FB_OK, others = state->world->nranks - 1;

	for (const enum fb_pattern *p = state->program->patterns; *p != FB_PATTERNS && !err; p++) {
		e->pattern = fb_patterns[*p];
		if (state->program->grouping == FB_ONE_BY_ONE)
			err = expand_pairs(e);
		else if (state->program->grouping == FB_AT_ONCE)
			err = expand_counts(e, true, fb_pairs_disjoint(&state->pairs));
		else if (state->program->grouping == FB_AROUND_ROOT)
			err = expand_counts(e, false, others ? others : 1);
		else
			err = expand_load(e);
	}
	return err;
}

int fb_p2p_expand(struct fb_run *run, void *arg)
{
	enum { ENGINES = 40, PROTOCOLS = 64 };
	struct fb_p2p_state *state = arg;
	const char *engines[ENGINES] = {NULL}, *protocols[PROTOCOLS] = {NULL};
	struct expansion e = {
		.run = run,
		.state = state,
		.accepted =
			{
				.engines = engines,
				.engine_list = state->engine_list,
				.algorithms = fb_verbs,
				.protocols = protocols,
				.transports = transports,
				.memories = fb_p2p_memories,
				.launches = launches,
				.has_root = state->program->grouping == FB_AROUND_ROOT,
			},
	};
	struct fb_axis registrations = {0};
	int err;

	for (size_t i = 0; fb_p2p_engines[i] && i + 1 < ENGINES; i++)
		engines[i] = fb_p2p_engines[i]->name;
	list_protocols(protocols, PROTOCOLS);
	err = fb_axis_open(&registrations, "registration", state->settings->registration,
			   fb_nccl_registrations, state->world->rank ? NULL : stderr);
	for (size_t i = 0; i < registrations.count && !err; i++) {
		e.registration = fb_nccl_registrations[registrations.index[i]];
		for (int wait = 0; fb_rdma_wait_names[wait] && !err; wait++) {
			e.wait = (enum fb_rdma_wait)wait;
			if (state->settings->rdma.waits >> wait & 1)
				err = expand_patterns(&e);
		}
	}
	fb_axis_close(&registrations);
	return err;
}
