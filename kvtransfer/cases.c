/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of kv_reshard: what its lists of options come to, and what cannot be; see program.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/key.h"
#include "common/run/axes.h"
#include "common/transport/keys.h"
#include "kvtransfer/program.h"

enum { ENGINES = 32 };

/* As they are in `variant`; AUTO never is. */
static const char *const placements[] = {"auto", "disjoint", "shared", "shifted"};

/* The program's own axes. */
struct keys {
	uint64_t block, decode, dim, heads, layers, layout, page_run, placement, prefill, tokens;
};

#define KEY(name) {#name, FB_KEY_U64, offsetof(struct keys, name), NULL}

static const struct fb_key keys[] = {
	KEY(block),
	KEY(decode),
	KEY(dim),
	KEY(heads),
	KEY(layers),
	{"layout", FB_KEY_CHOICE, offsetof(struct keys, layout), fb_kv_layouts},
	KEY(page_run),
	{"placement", FB_KEY_CHOICE, offsetof(struct keys, placement), placements},
	KEY(prefill),
	KEY(tokens),
	{NULL, FB_KEY_U64, 0, NULL},
};

static enum fb_kv_placement placement_of(const struct fb_case *c)
{
	return (enum fb_kv_placement)FB_OWN_CONST(struct keys, c)->placement;
}

static struct fb_kv_shape shape_of(const struct fb_case *c)
{
	const struct keys *k = FB_OWN_CONST(struct keys, c);

	return (struct fb_kv_shape){
		.layers = (uint32_t)k->layers,
		.kv_heads = (uint32_t)k->heads,
		.head_dim = (uint32_t)k->dim,
		.element_bytes = (uint32_t)fb_datatype_size(c->datatype),
		.tokens = (uint32_t)k->tokens,
		.block_tokens = (uint32_t)k->block,
		.page_run = (uint32_t)k->page_run,
		.layout = (enum fb_kv_layout)k->layout,
		.tp = {(uint32_t)k->prefill, (uint32_t)k->decode},
	};
}

size_t fb_kv_engine_of(const struct fb_kv_state *state, const struct fb_case *c)
{
	size_t i = 0;

	while (strcmp(state->ops[i]->name, c->engine))
		i++;
	return i;
}

static enum fb_kv_mode mode_of(const struct fb_case *c)
{
	int mode = 0;

	while (mode + 1 < FB_KV_MODES && strcmp(fb_kv_modes[mode], c->algorithm))
		mode++;
	return (enum fb_kv_mode)mode;
}

int fb_kv_case_job(const struct fb_kv_state *state, const struct fb_case *c,
		   struct fb_kv_job *job)
{
	const struct fb_kv_shape shape = shape_of(c);
	const struct fb_group *w = state->context.world;
	enum fb_kv_placement placement = placement_of(c);
	int shift = placement == FB_KV_SHARED	 ? 0
		    : placement == FB_KV_SHIFTED ? w->nranks / 2
						 : (int)shape.tp[FB_KV_PREFILL];
	int err = fb_kv_job_open(job, &shape, mode_of(c), w->rank, w->nranks, shift);

	job->type = c->datatype;
	job->seed = state->context.settings->seed;
	return err;
}

static bool ranks_can(const struct fb_kv_state *state, const struct fb_case *c,
		      char reason[FB_REASON_CHARS])
{
	const struct fb_kv_shape s = shape_of(c);
	uint32_t p = s.tp[FB_KV_PREFILL], d = s.tp[FB_KV_DECODE], most = p > d ? p : d;
	uint32_t ranks = (uint32_t)state->context.world->nranks;

	if (placement_of(c) == FB_KV_DISJOINT)
		most = p + d;
	if (!fb_kv_divides(&s))
		snprintf(reason, FB_REASON_CHARS, "%u heads are not evenly on %u and %u ranks",
			 s.kv_heads, p, d);
	else if (most > ranks)
		snprintf(reason, FB_REASON_CHARS, "%u ranks are needed", most);
	else
		return true;
	return false;
}

static bool memory_can(const struct fb_kv_state *state, const struct fb_kv_job *job, bool device,
		       char reason[FB_REASON_CHARS])
{
	uint64_t most = device ? state->gpu.memory_bytes / 8 * 7 : state->memory_limit;
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (job->part_bytes <= most)
		return true;
	snprintf(reason, FB_REASON_CHARS, "pages and staging of a rank are %s, its memory %s",
		 fb_size_text((job->part_bytes >> 20 << 20) + (1 << 20), asked),
		 fb_size_text(most >> 20 << 20, limit));
	return false;
}

bool fb_kv_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	const struct fb_kv_state *state = arg;
	size_t e = fb_kv_engine_of(state, c);
	const char *missing = state->ops[e]->missing(state->engines[e]);
	struct fb_kv_job job;
	bool can;

	if (missing) {
		snprintf(reason, FB_REASON_CHARS, "%s", missing);
		return false;
	}
	if (!ranks_can(state, c, reason))
		return false;
	can = fb_kv_case_job(state, c, &job) == FB_OK;
	if (!can)
		snprintf(reason, FB_REASON_CHARS, "out of memory");
	else
		can = memory_can(state, &job, state->ops[e]->device, reason) &&
		      state->ops[e]->can(state->engines[e], &job, reason);
	fb_kv_job_close(&job);
	return can;
}

/* fb_axes_adjust_fn. Sizes follow from tokens. */
static bool adjust(void *arg, struct fb_case *c)
{
	struct fb_kv_state *state = arg;
	const struct fb_kv_shape shape = shape_of(c);
	const struct fb_kv_engine_ops *ops = state->ops[fb_kv_engine_of(state, c)];
	char ignored[FB_REASON_CHARS];
	struct fb_kv_job job;

	/* "all" engines are those that this machine has; one that is named gets its rows. */
	if (ops->device && !state->has_gpu && !strcmp(state->context.settings->engine, "all"))
		return false;
	if (!(ops->modes & 1u << mode_of(c)))
		return false;
	c->bytes = fb_kv_bytes(&shape);
	c->memory = fb_mover_memory(ops->mover, state->context.settings, ops->device);
	c->launch = ops->device ? "stream" : "blocking";
	c->transport = ops->transport;
	fb_transport_keys(c, state->context.settings, ops->device);
	if (fb_kv_can(state, c, ignored)) {
		uint64_t *most = &state->part_bytes[ops->device];

		if (fb_kv_case_job(state, c, &job) == FB_OK && job.part_bytes > *most)
			*most = job.part_bytes;
		fb_kv_job_close(&job);
	}
	return true;
}

static enum fb_kv_placement chosen(const struct fb_kv_state *state, int placement, uint64_t p,
				   uint64_t d)
{
	if (placement != FB_KV_AUTO)
		return (enum fb_kv_placement)placement;
	return p + d <= (uint64_t)state->context.world->nranks ? FB_KV_DISJOINT : FB_KV_SHIFTED;
}

/* What is no axis of the harness's. */
struct point {
	size_t tokens, block, prefill, decode;
	int layout, placement;
};

static int add(struct fb_run *run, struct fb_kv_state *state,
	       const struct fb_axes_choices *choices, const struct point *at)
{
	const struct fb_kv_settings *own = state->own;
	uint64_t p = own->prefill_tp.value[at->prefill], d = own->decode_tp.value[at->decode];
	struct fb_case base = {.operation = "handover", .registration = "none"};

	*FB_OWN(struct keys, &base) = (struct keys){
		.block = own->block_tokens.value[at->block],
		.decode = d,
		.dim = own->head_dim,
		.heads = own->kv_heads,
		.layers = own->layers,
		.layout = (uint64_t)at->layout,
		.page_run = own->page_run,
		.placement = chosen(state, at->placement, p, d),
		.prefill = p,
		.tokens = own->tokens.value[at->tokens],
	};
	fb_keys_put(&base, keys);
	return fb_axes_expand(run, &base, choices, adjust, state);
}

int fb_kv_expand(struct fb_run *run, void *arg)
{
	struct fb_kv_state *state = arg;
	const struct fb_kv_settings *own = state->own;
	const char *engines[ENGINES] = {NULL};
	const struct fb_axes_choices choices = {.engines = engines, .algorithms = fb_kv_modes,
						.memories = fb_mover_memories};
	const size_t count[] = {own->tokens.count, own->block_tokens.count, own->prefill_tp.count,
				own->decode_tp.count, FB_KV_LAYOUTS, FB_KV_PLACEMENTS};
	size_t at[sizeof(count) / sizeof(count[0])] = {0};
	int err = FB_OK;

	for (size_t i = 0; state->ops[i] && i + 1 < ENGINES; i++)
		engines[i] = state->ops[i]->name;
	do {
		const struct point point = {at[0], at[1], at[2], at[3], (int)at[4], (int)at[5]};

		if ((own->layouts >> point.layout & 1) && (own->placements >> point.placement & 1))
			err = add(run, state, &choices, &point);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}
