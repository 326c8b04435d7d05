/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From axis values to cases, and from a case to a job.
 *
 * The column `operation` is the pattern and `algorithm` the verb. Which ranks take part, and how
 * many messages are under way at once, are keys of the variant. A library chooses protocol and
 * transport itself: there they are "library".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/axes.h"
#include "common/error.h"
#include "common/sizes.h"
#include "common/variant.h"
#include "p2p/program.h"

enum {
	WINDOW_MOST = 64,	 /* messages under way, as the other suites have it */
	WINDOW_LEAST = 4,
	WINDOW_BYTES = 32 << 20, /* of a flow, in a call */
};

const char *const fb_p2p_memories[] = {
	[FB_P2P_HOST] = "host", [FB_P2P_HUGE] = "hugepage", [FB_P2P_HUGETLB] = "hugetlb",
	[FB_P2P_HUGETLB_1G] = "hugetlb_1g", [FB_P2P_DEVICE] = "device",
	[FB_P2P_VMM] = "vmm", [FB_P2P_FABRIC] = "fabric", [FB_P2P_PINNED] = "pinned",
	[FB_P2P_MEMORIES] = NULL};

static const char *const transports[] = {"shm", "tcp", "shm+tcp", "rdma", "p2p", NULL};
static const char *const launches[] = {"blocking", "stream", "graph", NULL};
static const char library[] = "library", automatic[] = "auto";

static int index_of(const char *const *names, const char *name)
{
	int i = 0;

	while (names[i] && strcmp(names[i], name))
		i++;
	return i;
}

size_t fb_p2p_engine_index(const char *name)
{
	size_t i = 0;

	while (fb_p2p_engines[i] && strcmp(fb_p2p_engines[i]->name, name))
		i++;
	return i;
}

enum fb_p2p_memory fb_p2p_memory_of(const struct fb_case *c)
{
	return (enum fb_p2p_memory)index_of(fb_p2p_memories, c->memory);
}

int fb_p2p_key(const char *variant, const char *key, int fallback)
{
	size_t length = strlen(key);

	for (const char *at = variant; *at; at += *at == ';') {
		if (!strncmp(at, key, length) && at[length] == '=')
			return atoi(at + length + 1);
		at += strcspn(at, ";");
	}
	return fallback;
}

static int window_of(const struct fb_p2p_state *state, uint64_t bytes)
{
	uint64_t window = state->own->window;

	if (window)
		return (int)window;
	window = WINDOW_BYTES / (bytes ? bytes : 1);
	if (window > WINDOW_MOST)
		window = WINDOW_MOST;
	return window < WINDOW_LEAST ? WINDOW_LEAST : (int)window;
}

static void add_flow(struct fb_job *job, int src, int dst)
{
	job->flows[job->nflows++] = (struct fb_flow){.src = src, .dst = dst};
}

/* The job's flows; there is room for them. */
static void make_flows(const struct fb_p2p_state *state, const struct fb_case *c,
		       struct fb_job *job)
{
	int pairs = fb_p2p_key(c->variant, "pairs", 0);
	int degree = fb_p2p_key(c->variant, "degree", 0), n = state->world->nranks;
	bool back = job->pattern == FB_PING_PONG || job->pattern == FB_TWO_WAY;

	for (int i = 1; i <= degree; i++) {
		int other = (c->root + i) % n;

		if (job->pattern == FB_FAN_IN)
			add_flow(job, other, c->root);
		else
			add_flow(job, c->root, other);
	}
	for (int i = 0; i < (pairs ? pairs : 1) && !degree; i++) {
		int src = pairs ? state->pairs.item[i].src : fb_p2p_key(c->variant, "src", 0);
		int dst = pairs ? state->pairs.item[i].dst : fb_p2p_key(c->variant, "dst", 1);

		add_flow(job, src, dst);
		if (back)
			add_flow(job, dst, src);
	}
}

/* The load: streams between the pairs after the first, which is the one that is measured. */
static void make_load(const struct fb_p2p_state *state, const struct fb_case *c,
		      struct fb_job *load)
{
	int pairs = fb_p2p_key(c->variant, "load", 0);

	load->pattern = FB_ONE_WAY;
	load->verb = FB_SEND;
	load->bytes = state->own->load_bytes;
	load->window = window_of(state, load->bytes);
	for (int i = 1; i <= pairs; i++)
		add_flow(load, state->pairs.item[i].src, state->pairs.item[i].dst);
}

size_t fb_p2p_jobs(const struct fb_p2p_state *state, const struct fb_case *c, struct fb_job *job,
		   struct fb_job *load)
{
	size_t most = 2 * (size_t)state->world->nranks + (size_t)state->pairs.count * 2;

	*job = (struct fb_job){
		.pattern = (enum fb_pattern)index_of(fb_patterns, c->operation),
		.verb = (enum fb_verb)index_of(fb_verbs, c->algorithm),
		.window = fb_p2p_key(c->variant, "window", 1),
		.rounds = fb_p2p_rounds(state, c),
		.bytes = c->bytes,
		.base = FB_JOB_HEADER,
		.segment = &state->segment[fb_p2p_store_of(state, c)],
	};
	*load = (struct fb_job){.segment = job->segment};
	job->flows = calloc(most, sizeof(*job->flows));
	load->flows = calloc(most, sizeof(*load->flows));
	if (!job->flows || !load->flows)
		return 0;
	make_flows(state, c, job);
	load->base = fb_job_layout(job);
	if (fb_p2p_key(c->variant, "load", 0) == 0)
		return load->base;
	make_load(state, c, load);
	return fb_job_layout(load);
}

/* What is wrong with a case whatever its job is. */
static bool exists(const struct fb_p2p_state *state, const struct fb_case *c,
		   char reason[FB_REASON_CHARS])
{
	char asked[FB_SIZE_CHARS];

	if (state->world->nranks < 2)
		snprintf(reason, FB_REASON_CHARS, "a message needs two ranks");
	else if (!state->engines[fb_p2p_engine_index(c->engine)])
		snprintf(reason, FB_REASON_CHARS, "engine %s is not available here", c->engine);
	else if (!c->bytes)
		snprintf(reason, FB_REASON_CHARS, "no message without bytes");
	else if (c->bytes % fb_datatype_size(c->datatype))
		snprintf(reason, FB_REASON_CHARS, "%s is no whole number of %s",
			 fb_size_text(c->bytes, asked), fb_datatype_name(c->datatype));
	else
		return fb_p2p_memory_can(state, c, c->bytes, reason);
	return false;
}

/* can(), and what the case needs of the segment where it can. */
static bool judge(const struct fb_p2p_state *state, const struct fb_case *c, size_t *part_bytes,
		  char reason[FB_REASON_CHARS])
{
	const struct fb_p2p_engine *engine = state->engines[fb_p2p_engine_index(c->engine)];
	struct fb_job job, load;
	bool can = false;

	if (!exists(state, c, reason))
		return false;
	*part_bytes = fb_p2p_jobs(state, c, &job, &load);
	if (!*part_bytes)
		snprintf(reason, FB_REASON_CHARS, "out of memory for its flows");
	else
		can = fb_p2p_memory_can(state, c, *part_bytes, reason) &&
		      engine->ops->can(engine, c, &job, reason) &&
		      (!load.nflows || engine->ops->can(engine, c, &load, reason));
	free(job.flows);
	free(load.flows);
	return can;
}

bool fb_p2p_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	size_t ignored;

	return judge(state, c, &ignored, reason);
}

/* Makes protocol and transport the engine's own; false: it has no such case. */
static bool suit_engine(const struct fb_p2p_state *state, struct fb_case *c)
{
	size_t index = fb_p2p_engine_index(c->engine);
	const struct fb_p2p_engine_ops *ops = fb_p2p_engines[index];

	if (!ops->own) {
		c->protocol = c->transport = library;
		return true;
	}
	if (ops->device) {
		if (strcmp(c->algorithm, fb_verbs[FB_SEND]))
			c->protocol = "direct"; /* no other way to write to, or read, memory */
		return true;
	}
	/* "all" engines are those that this machine has; one that is named gets its rows. */
	if (ops->missing && state->engines[index] && ops->missing(state->engines[index]) &&
	    !strcmp(state->settings->engine, "all"))
		return false;
	return ops->protocols[index_of(ops->protocols, c->protocol)] &&
	       ops->adjust(state->settings, c);
}

/* Makes it a case of its engine's, and notes how large the segments have to be. */
static bool adjust_named(struct fb_p2p_state *state, struct fb_case *c)
{
	bool one_sided = strcmp(c->algorithm, fb_verbs[FB_SEND]) != 0;
	size_t used = strlen(c->variant), part_bytes, *most;
	char ignored[FB_REASON_CHARS] = "";

	if (!fb_p2p_suit(state, c))
		return false;
	if (!strcmp(c->operation, fb_patterns[FB_PING_PONG])) {
		/* Nobody answers what is read or written: the time of one is the latency. */
		if (one_sided)
			c->operation = fb_patterns[FB_ONE_WAY];
		snprintf(c->variant + used, sizeof(c->variant) - used, ";window=1");
	} else {
		snprintf(c->variant + used, sizeof(c->variant) - used, ";window=%d",
			 window_of(state, c->bytes));
	}
	if (!suit_engine(state, c))
		return false;
	fb_p2p_suit_variant(state, c);
	most = &state->part_bytes[fb_p2p_store_of(state, c)];
	if (judge(state, c, &part_bytes, ignored) && part_bytes > *most)
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

struct expansion {
	struct fb_p2p_state *state;
	struct fb_axes_choices choices;
	const char *pattern;
};

/* With each place of --numa. */
static int expand_variant(const struct expansion *e, const char *variant)
{
	const struct fb_places *places = &e->state->places;
	int err = FB_OK;

	for (int i = 0; i < places->count && !err; i++) {
		struct fb_case base = {.operation = e->pattern, .registration = "registered"};

		snprintf(base.variant, sizeof(base.variant), "%s", variant);
		fb_place_put(&places->item[i], &base);
		err = fb_axes_expand(e->state->run, &base, &e->choices, adjust, e->state);
	}
	return err;
}

/* 1, 2, 4, ... and `most` itself. */
static int expand_counts(const struct expansion *e, const char *key, int most)
{
	char variant[64];
	int err = FB_OK;

	for (int n = 1; n <= most && !err; n = n < most && 2 * n > most ? most : 2 * n) {
		snprintf(variant, sizeof(variant), "%s=%d", key, n);
		err = expand_variant(e, variant);
	}
	return err;
}

static int expand_pairs(const struct expansion *e)
{
	bool both_ways = strcmp(e->pattern, fb_patterns[FB_ONE_WAY]) != 0;
	const struct fb_pairs *pairs = &e->state->pairs;
	char variant[64];
	int err = FB_OK;

	for (int i = 0; i < pairs->count && !err; i++) {
		const struct fb_pair *p = &pairs->item[i];
		bool again = false;

		/* 1-0 is the same as 0-1 where messages go both ways. */
		for (int k = 0; k < i && both_ways; k++)
			again |= pairs->item[k].src == p->dst && pairs->item[k].dst == p->src;
		if (again)
			continue;
		snprintf(variant, sizeof(variant), "dst=%d;src=%d", p->dst, p->src);
		err = expand_variant(e, variant);
	}
	return err;
}

/* 0, 1, 2, 4, ... of the pairs that share no rank with each other or with the first. */
static int expand_load(const struct expansion *e)
{
	int most = fb_pairs_disjoint(&e->state->pairs) - 1, err = FB_OK;
	const struct fb_pair *probe = &e->state->pairs.item[0];
	char variant[96];

	for (int n = 0, next; n <= most && !err; n = next) {
		next = n == 0 ? 1 : n < most && 2 * n > most ? most : 2 * n;
		snprintf(variant, sizeof(variant), "dst=%d;load=%d;load_bytes=%llu;src=%d",
			 probe->dst, n, (unsigned long long)e->state->own->load_bytes, probe->src);
		err = expand_variant(e, variant);
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
			if (!list[index_of(list, *own)] && count + 1 < n)
				list[count++] = *own;
	}
}

int fb_p2p_expand(struct fb_run *run, void *arg)
{
	enum { ENGINES = 16, PROTOCOLS = 64 };
	struct fb_p2p_state *state = arg;
	const char *engines[ENGINES] = {NULL}, *protocols[PROTOCOLS] = {NULL};
	struct expansion e = {
		.state = state,
		.choices = {
			.engines = engines, .algorithms = fb_verbs, .protocols = protocols,
			.transports = transports, .memories = fb_p2p_memories,
			.launches = launches,
			.has_root = state->program->grouping == FB_AROUND_ROOT,
		},
	};
	int err = FB_OK, others = state->world->nranks - 1;

	(void)run;
	for (size_t i = 0; fb_p2p_engines[i] && i + 1 < ENGINES; i++)
		engines[i] = fb_p2p_engines[i]->name;
	list_protocols(protocols, PROTOCOLS);
	for (const enum fb_pattern *p = state->program->patterns; *p != FB_PATTERNS && !err; p++) {
		e.pattern = fb_patterns[*p];
		if (state->program->grouping == FB_ONE_BY_ONE)
			err = expand_pairs(&e);
		else if (state->program->grouping == FB_AT_ONCE)
			err = expand_counts(&e, "pairs", fb_pairs_disjoint(&state->pairs));
		else if (state->program->grouping == FB_AROUND_ROOT)
			err = expand_counts(&e, "degree", others ? others : 1);
		else
			err = expand_load(&e);
	}
	return err;
}
