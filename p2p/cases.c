/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the job of a case and checks that it can run; expand.c makes the cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sizes.h"
#include "common/mover/mover.h"
#include "p2p/program.h"

enum {
	WINDOW_MOST = 64,	 /* messages under way, as the other suites have it */
	WINDOW_LEAST = 4,
	WINDOW_BYTES = 32 << 20, /* of a flow, in a call */
};

const char *const fb_p2p_memories[] = {"host",	"hugepage", "hugetlb", "hugetlb_1g", "device",
				       "vmm",	"fabric",   "pinned",  "managed",    NULL};

int fb_p2p_index(const char *const *names, const char *name)
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

#define KEY(name) {#name, FB_KEY_U64, offsetof(struct fb_p2p_keys, name), NULL}

const struct fb_key fb_p2p_keys[] = {
	KEY(degree), KEY(dst), KEY(load), KEY(load_bytes), KEY(load_service_level),
	KEY(load_traffic_class), KEY(pairs),
	{"rdma_wait", FB_KEY_CHOICE, offsetof(struct fb_p2p_keys, rdma_wait), fb_rdma_wait_names},
	KEY(span), KEY(src), KEY(window),
	{NULL, FB_KEY_U64, 0, NULL},
};

enum fb_rdma_wait fb_p2p_wait_of(const struct fb_case *c)
{
	uint64_t wait = FB_OWN_CONST(struct fb_p2p_keys, c)->rdma_wait;

	return wait == FB_KEY_NONE ? FB_RDMA_WAIT_POLL : (enum fb_rdma_wait)wait;
}

/* A member, or what it stands for where the case has none. */
static int value(uint64_t member, int fallback)
{
	return member == FB_KEY_NONE ? fallback : (int)member;
}

int fb_p2p_window(const struct fb_p2p_state *state, uint64_t bytes)
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
	const struct fb_p2p_keys *keys = FB_OWN_CONST(struct fb_p2p_keys, c);
	int pairs = value(keys->pairs, 0), degree = value(keys->degree, 0);
	int n = state->world->nranks;
	bool back = job->pattern == FB_PING_PONG || job->pattern == FB_TWO_WAY;

	for (int i = 1; i <= degree; i++) {
		int other = (c->root + i) % n;

		if (job->pattern == FB_FAN_IN)
			add_flow(job, other, c->root);
		else
			add_flow(job, c->root, other);
	}
	for (int i = 0; i < (pairs ? pairs : 1) && !degree; i++) {
		int src = pairs ? state->pairs.item[i].src : value(keys->src, 0);
		int dst = pairs ? state->pairs.item[i].dst : value(keys->dst, 1);

		add_flow(job, src, dst);
		if (back)
			add_flow(job, dst, src);
	}
}

/*
 * The load: streams between all pairs but the first, which is the measured one. A mover without
 * SEND uses PUT.
 */
static void make_load(const struct fb_p2p_state *state, const struct fb_case *c,
		      struct fb_job *load)
{
	const struct fb_mover_ops *mover = fb_p2p_engines[fb_p2p_engine_index(c->engine)]->mover;
	int pairs = value(FB_OWN_CONST(struct fb_p2p_keys, c)->load, 0);

	load->pattern = FB_ONE_WAY;
	load->verb = mover && !(mover->verbs >> FB_MOVE_SEND & 1) ? FB_PUT : FB_SEND;
	load->bytes = state->own->load_bytes;
	load->window = fb_p2p_window(state, load->bytes);
	load->class_of_packets = &state->own->load_class;
	for (int i = 1; i <= pairs; i++)
		add_flow(load, state->pairs.item[i].src, state->pairs.item[i].dst);
}

size_t fb_p2p_jobs(const struct fb_p2p_state *state, const struct fb_case *c, struct fb_job *job,
		   struct fb_job *load)
{
	const struct fb_p2p_keys *keys = FB_OWN_CONST(struct fb_p2p_keys, c);
	size_t most = 2 * (size_t)state->world->nranks + (size_t)state->pairs.count * 2;

	*job = (struct fb_job){
		.pattern = (enum fb_pattern)fb_p2p_index(fb_patterns, c->operation),
		.verb = (enum fb_verb)fb_p2p_index(fb_verbs, c->algorithm),
		.window = value(keys->window, 1),
		.rounds = fb_p2p_rounds(state, c),
		.bytes = c->bytes,
		.span = (size_t)state->own->span,
		.base = FB_JOB_HEADER,
		.wait = fb_p2p_wait_of(c),
		.segment = &state->stores.segment[fb_store_of(&state->stores, c)],
	};
	*load = (struct fb_job){.segment = job->segment, .wait = job->wait};
	job->flows = calloc(most, sizeof(*job->flows));
	load->flows = calloc(most, sizeof(*load->flows));
	if (!job->flows || !load->flows)
		return 0;
	make_flows(state, c, job);
	load->base = fb_job_layout(job);
	if (value(keys->load, 0) == 0)
		return load->base;
	make_load(state, c, load);
	return fb_job_layout(load);
}

static bool marks_load(const struct fb_case *c)
{
	const struct fb_p2p_keys *keys = FB_OWN_CONST(struct fb_p2p_keys, c);

	return keys->load_service_level != FB_KEY_NONE || keys->load_traffic_class != FB_KEY_NONE;
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
	else if (marks_load(c) && strcmp(c->engine, "rdma"))
		snprintf(reason, FB_REASON_CHARS, "only engine rdma marks the packets of its load");
	else if (!c->bytes)
		snprintf(reason, FB_REASON_CHARS, "messages of 0 bytes are not possible here");
	else if (c->bytes % fb_datatype_size(c->datatype))
		snprintf(reason, FB_REASON_CHARS, "%s is no whole number of %s",
			 fb_size_text(c->bytes, asked), fb_datatype_name(c->datatype));
	else
		return fb_p2p_memory_can(state, c, c->bytes, reason);
	return false;
}

bool fb_p2p_judge(const struct fb_p2p_state *state, const struct fb_case *c, size_t *part_bytes,
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

	return fb_p2p_judge(state, c, &ignored, reason);
}
