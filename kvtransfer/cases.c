/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of kv_reshard: what its lists of options come to, and what cannot be; see program.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/variant.h"
#include "common/run/axes.h"
#include "kvtransfer/program.h"

enum { ENGINES = 32 };

/* As they are in `variant`; AUTO never is. */
static const char *const placements[] = {"auto", "disjoint", "shared", "shifted"};

static enum fb_kv_placement placement_of(const struct fb_case *c)
{
	int p = FB_KV_DISJOINT;
	char key[32];

	for (; p < FB_KV_PLACEMENTS; p++) {
		snprintf(key, sizeof(key), "placement=%s", placements[p]);
		if (strstr(c->variant, key))
			return (enum fb_kv_placement)p;
	}
	return FB_KV_DISJOINT;
}

static struct fb_kv_shape shape_of(const struct fb_kv_state *state, const struct fb_case *c)
{
	const char *v = c->variant;

	return (struct fb_kv_shape){
		.layers = (uint32_t)state->own->layers,
		.kv_heads = (uint32_t)state->own->kv_heads,
		.head_dim = (uint32_t)state->own->head_dim,
		.element_bytes = (uint32_t)fb_datatype_size(c->datatype),
		.tokens = (uint32_t)fb_variant_u64(v, "tokens", 1),
		.block_tokens = (uint32_t)fb_variant_u64(v, "block", 1),
		.page_run = (uint32_t)fb_variant_u64(v, "page_run", 1),
		.layout = strstr(v, "layout=nhd") ? FB_KV_NHD : FB_KV_HND,
		.tp = {(uint32_t)fb_variant_u64(v, "prefill", 1),
		       (uint32_t)fb_variant_u64(v, "decode", 1)},
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
	const struct fb_kv_shape shape = shape_of(state, c);
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
	const struct fb_kv_shape s = shape_of(state, c);
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
	const struct fb_kv_shape shape = shape_of(state, c);
	const struct fb_kv_engine_ops *ops = state->ops[fb_kv_engine_of(state, c)];
	char ignored[FB_REASON_CHARS];
	struct fb_kv_job job;

	/* "all" engines are those that this machine has; one that is named gets its rows. */
	if (ops->device && !state->has_gpu && !strcmp(state->context.settings->engine, "all"))
		return false;
	if (!(ops->modes & 1u << mode_of(c)))
		return false;
	c->bytes = fb_kv_bytes(&shape);
	c->memory = ops->device ? "device" : "host";
	c->launch = ops->device ? "stream" : "blocking";
	c->transport = ops->transport;
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
	const char *layout = fb_kv_layouts[at->layout];
	char keys[FB_VARIANT_CHARS];

	snprintf(keys, sizeof(keys), "block=%llu;decode=%llu;dim=%llu;heads=%llu;layers=%llu;"
		 "layout=%s;page_run=%llu;placement=%s;prefill=%llu;tokens=%llu",
		 (unsigned long long)own->block_tokens.value[at->block], (unsigned long long)d,
		 (unsigned long long)own->head_dim, (unsigned long long)own->kv_heads,
		 (unsigned long long)own->layers, layout, (unsigned long long)own->page_run,
		 placements[chosen(state, at->placement, p, d)], (unsigned long long)p,
		 (unsigned long long)own->tokens.value[at->tokens]);
	fb_variant_put(&base, keys);
	return fb_axes_expand(run, &base, choices, adjust, state);
}

int fb_kv_expand(struct fb_run *run, void *arg)
{
	struct fb_kv_state *state = arg;
	const struct fb_kv_settings *own = state->own;
	const char *engines[ENGINES] = {NULL};
	const struct fb_axes_choices choices = {.engines = engines, .algorithms = fb_kv_modes};
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
