/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of offload; see offload.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/key.h"
#include "common/run/axes.h"
#include "kvtransfer/offload/offload.h"

enum { PAGE = 4096, FORMS = 16 };

const char *const fb_tier_operations[] = {"evict", "onboard", "ttft", NULL};
const char *const fb_tier_orders[] = {"block", "layer", NULL};

/* The program's own axes. */
struct keys {
	uint64_t block, depth, hit, model, page_run, tier, tokens;
};

#define KEY(name) {#name, FB_KEY_U64, offsetof(struct keys, name), NULL}

static const struct fb_key keys[] = {
	KEY(block),
	KEY(depth),
	KEY(hit),
	{"model", FB_KEY_CHOICE, offsetof(struct keys, model), fb_kv_model_names},
	KEY(page_run),
	{"tier", FB_KEY_CHOICE, offsetof(struct keys, tier), fb_tier_orders},
	KEY(tokens),
	{NULL, FB_KEY_U64, 0, NULL},
};

/* One element of the product of the program's own axes. */
struct point {
	struct fb_tier_state *state;
	unsigned depth;
};

struct fb_kv_backend *fb_tier_engine_of(struct fb_tier_state *state, const struct fb_case *c)
{
	return fb_kv_backend_of(&state->machine, c, NULL);
}

const char *fb_tier_form(const struct fb_mover_ops *ops, const struct fb_case *c)
{
	return ops->forms && strcmp(c->algorithm, "auto") ? c->algorithm : NULL;
}

struct fb_tier_job fb_tier_job_of(const struct fb_case *c)
{
	const struct keys *k = FB_OWN_CONST(struct keys, c);
	uint64_t hit = k->hit == FB_KEY_NONE ? 100 : k->hit;
	struct fb_tier_job j = {
		.model = fb_kv_model_find(fb_kv_model_names[k->model]),
		.depth = k->depth == FB_KEY_NONE ? FB_STORE_DEPTH : (unsigned)k->depth,
		.order = (enum fb_tier_order)k->tier,
	};

	while (fb_tier_operations[j.operation] &&
	       strcmp(fb_tier_operations[j.operation], c->operation))
		j.operation++;
	j.shape = fb_kv_model_shape(j.model, (uint32_t)fb_datatype_size(c->datatype));
	j.shape.tokens = (uint32_t)k->tokens;
	j.shape.block_tokens = (uint32_t)k->block;
	j.shape.page_run = (uint32_t)k->page_run;
	j.hits = (uint32_t)(fb_kv_blocks(&j.shape) * hit / 100);
	j.page_bytes = (uint64_t)j.shape.kv_heads * j.shape.block_tokens * fb_kv_row(&j.shape);
	j.area = (fb_kv_area_bytes(&j.shape, FB_KV_PREFILL) + PAGE - 1) / PAGE * PAGE;
	return j;
}

bool fb_tier_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_tier_state *state = arg;
	const struct fb_kv_backend *e = fb_tier_engine_of(state, c);
	const struct fb_tier_job j = fb_tier_job_of(c);
	uint64_t most = fb_kv_most_bytes(&state->machine, e->device);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (!e->mover)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (fb_kv_model_unlike(j.model))
		snprintf(reason, FB_REASON_CHARS, "%s", fb_kv_model_unlike(j.model));
	else if (2 * j.area > most)
		snprintf(reason, FB_REASON_CHARS, "two caches are %s, a rank's memory %s",
			 fb_size_text((2 * j.area >> 20 << 20) + (1 << 20), asked),
			 fb_size_text(most >> 20 << 20, limit));
	else if (strstr(c->algorithm, "direct") && j.page_bytes % PAGE)
		snprintf(reason, FB_REASON_CHARS, "pages of %llu bytes are not whole ones of the "
			 "file, which O_DIRECT needs", (unsigned long long)j.page_bytes);
	else
		return e->ops != &fb_mover_store || !fb_tier_form(e->ops, c) ||
		       fb_store_can(e->mover, c->algorithm, reason);
	return false;
}

static bool has_form(const struct fb_mover_ops *ops, const char *form)
{
	if (!strcmp(form, "auto"))
		return true;
	if (!ops->forms)
		return !strcmp(form, "plain");
	return fb_mover_form(ops, form) >= 0;
}

/* fb_axes_adjust_fn. Sizes follow from tokens. */
static bool adjust(void *arg, struct fb_case *c)
{
	const struct point *at = arg;
	struct fb_kv_backend *e = fb_tier_engine_of(at->state, c);
	char ignored[FB_REASON_CHARS];
	struct fb_tier_job j;

	if (strcmp(e->ops->name, c->engine) || !has_form(e->ops, c->algorithm))
		return false;
	/* "all" engines are those that this machine has; one that is named gets its rows. */
	if (fb_kv_left_out(&at->state->machine, e))
		return false;
	if (!strncmp(c->algorithm, "uring", 5)) {
		FB_OWN(struct keys, c)->depth = at->depth;
		fb_keys_put(c, keys);
	}
	j = fb_tier_job_of(c);
	c->bytes = fb_kv_model_bytes(j.model, j.shape.element_bytes, j.shape.tokens);
	c->memory = e->ops->device ? "device" : "host";
	c->transport = e->ops->transport;
	c->launch = "blocking";
	if (fb_tier_can(at->state, c, ignored) && 2 * j.area > e->part_bytes)
		e->part_bytes = 2 * j.area;
	return true;
}

/* The forms of all movers, each name once. */
static void list_forms(const struct fb_tier_state *state, const char *list[FORMS])
{
	int n = 0;

	list[n++] = "auto";
	for (int e = 0; e < state->machine.backends; e++) {
		static const char *const plain[] = {"plain", NULL};
		const char *const *forms = state->machine.backend[e].ops->forms;

		for (forms = forms ? forms : plain; *forms && n + 1 < FORMS; forms++) {
			int i = 0;

			while (i < n && strcmp(list[i], *forms))
				i++;
			list[n] = i == n ? *forms : list[n];
			n += i == n;
		}
	}
}

int fb_tier_expand(struct fb_run *run, void *arg)
{
	struct fb_tier_state *state = arg;
	const struct fb_tier_settings *own = state->own;
	const char *engines[FB_KV_BACKENDS + 2], *forms[FORMS] = {NULL};
	const struct fb_axes_choices choices = {.engines = engines + 1, .algorithms = forms};
	size_t models = 0, at[8] = {0};
	int err = FB_OK;

	while (fb_kv_model_names[models])
		models++;
	fb_kv_backend_names(&state->machine, engines);
	list_forms(state, forms);
	const size_t count[] = {models, FB_TIER_OPERATIONS, FB_TIER_ORDERS, own->tokens.count,
				own->block_tokens.count, own->hit.count, own->depth.count,
				own->page_run.count};
	do {
		struct fb_case base = {.operation = fb_tier_operations[at[1]],
				       .registration = "none"};
		struct point point = {state, (unsigned)own->depth.value[at[6]]};

		if (!(own->models >> at[0] & 1) || !(own->operations >> at[1] & 1) ||
		    !(own->orders >> at[2] & 1))
			continue;
		*FB_OWN(struct keys, &base) = (struct keys){
			.block = own->block_tokens.value[at[4]],
			.depth = FB_KEY_NONE,
			.hit = at[1] == FB_TIER_TTFT ? own->hit.value[at[5]] : FB_KEY_NONE,
			.model = at[0],
			.page_run = own->page_run.value[at[7]],
			.tier = at[2],
			.tokens = own->tokens.value[at[3]],
		};
		fb_keys_put(&base, keys);
		err = fb_axes_expand(run, &base, &choices, adjust, &point);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}
