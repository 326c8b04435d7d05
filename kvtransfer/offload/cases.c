/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of offload; see offload.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/key.h"
#include "common/run/axes.h"
#include "kvtransfer/offload/offload.h"

enum { PAGE = 4096, FORMS = 16, MOST_CROSSOVER = 256 << 20 };

const char *const fb_tier_operations[] = {"evict", "onboard", "ttft", NULL};
const char *const fb_tier_orders[] = {"block", "layer", NULL};

/* The program's own axes. */
struct keys {
	uint64_t block, count, depth, hit, model, page_run, piece, tier, tokens;
};

#define KEY(name) {#name, FB_KEY_U64, offsetof(struct keys, name), NULL}

static const struct fb_key keys[] = {
	KEY(block),
	KEY(count),
	KEY(depth),
	KEY(hit),
	{"model", FB_KEY_CHOICE, offsetof(struct keys, model), fb_kv_model_names},
	KEY(page_run),
	KEY(piece),
	{"tier", FB_KEY_CHOICE, offsetof(struct keys, tier), fb_tier_orders},
	KEY(tokens),
	{NULL, FB_KEY_U64, 0, NULL},
};

/* One element of the product of the program's own axes. */
struct point {
	struct fb_tier_state *state;
	unsigned depth;
};

/* The backend of --engine auto: that of the path table, or else the default one. */
static struct fb_kv_backend *choose(struct fb_tier_state *state, const struct fb_case *c,
				    const char **form)
{
	struct fb_kv_machine *m = &state->machine;
	const struct fb_tier_job j = fb_tier_job_of(c);
	bool out = j.operation == FB_TIER_EVICT;
	double pieces = (double)(out ? fb_kv_blocks(&j.shape) : j.hits) *
			fb_kv_regions(&j.shape);
	const struct fb_path_best *best = fb_paths_best(&m->paths, true, !out, FB_ALONE, pieces,
							pieces * (double)j.page_bytes);
	struct fb_kv_backend *usual = NULL;

	for (int i = 0; i < m->backends; i++) {
		struct fb_kv_backend *b = &m->backend[i];
		bool form_can = best && (!*best->form || (b->ops->forms &&
					 fb_mover_form(b->ops, best->form) >= 0));

		if (b->device != m->has_gpu)
			continue;
		b->measured = b->mover && form_can && !strcmp(b->name, best->mover);
		if (b->measured) {
			*form = *best->form ? best->form : NULL;
			return b;
		}
		if (!strcmp(b->name, m->usual[m->has_gpu ? 2 : 0]))
			usual = b;
	}
	return usual ? usual : &m->backend[0];
}

struct fb_kv_backend *fb_tier_engine_of(struct fb_tier_state *state, const struct fb_case *c,
					const char **form)
{
	struct fb_kv_backend *b;

	*form = NULL;
	if (!strcmp(c->engine, "auto"))
		return choose(state, c, form);
	b = fb_kv_backend_of(&state->machine, c, NULL);
	if (b->ops->forms && strcmp(c->algorithm, "auto"))
		*form = c->algorithm;
	return b;
}

/* Makes a shape whose pages are the pieces: one token of one head in one region. */
static void equal_pieces(const struct keys *k, struct fb_tier_job *j)
{
	uint32_t element = j->shape.element_bytes;

	j->crossover = true;
	j->shape = (struct fb_kv_shape){
		.layers = 1, .kv_heads = 1, .parts = 1, .element_bytes = element, .block_tokens = 1,
		.head_dim = (uint32_t)(k->piece / element), .tokens = (uint32_t)k->count,
		.page_run = 1, .tp = {1, 1}};
}

struct fb_tier_job fb_tier_job_of(const struct fb_case *c)
{
	const struct keys *k = FB_OWN_CONST(struct keys, c);
	uint64_t hit = k->hit == FB_KEY_NONE ? 100 : k->hit;
	uint64_t model = k->model == FB_KEY_NONE ? 0 : k->model;
	struct fb_tier_job j = {
		.model = fb_kv_model_find(fb_kv_model_names[model]),
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
	if (k->piece != FB_KEY_NONE)
		equal_pieces(k, &j);
	j.hits = (uint32_t)(fb_kv_blocks(&j.shape) * hit / 100);
	j.page_bytes = (uint64_t)j.shape.kv_heads * j.shape.block_tokens * fb_kv_row(&j.shape);
	j.area = (fb_kv_area_bytes(&j.shape, FB_KV_PREFILL) + PAGE - 1) / PAGE * PAGE;
	return j;
}

bool fb_tier_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_tier_state *state = arg;
	const char *form;
	const struct fb_kv_backend *e = fb_tier_engine_of(state, c, &form);
	const struct fb_tier_job j = fb_tier_job_of(c);
	uint64_t most = fb_kv_most_bytes(&state->machine, e->device);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (!e->mover)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (fb_kv_model_unlike(j.model))
		snprintf(reason, FB_REASON_CHARS, "%s", fb_kv_model_unlike(j.model));
	else if (2 * j.area > most)
		snprintf(reason, FB_REASON_CHARS, "two caches need %s, a rank's memory is %s",
			 fb_size_text((2 * j.area >> 20 << 20) + (1 << 20), asked),
			 fb_size_text(most >> 20 << 20, limit));
	else if (form && strstr(form, "direct") && j.page_bytes % PAGE)
		snprintf(reason, FB_REASON_CHARS, "pages of %llu bytes are not whole ones of the "
			 "file, which O_DIRECT needs", (unsigned long long)j.page_bytes);
	else
		return !fb_store_below(e->mover) || !form ||
		       fb_store_can(fb_store_below(e->mover), form, reason);
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
	const char *form;
	struct fb_kv_backend *e;
	bool automatic = !strcmp(c->engine, "auto");
	char ignored[FB_REASON_CHARS];
	struct fb_tier_job j;

	c->memory = "-"; /* follows from the engine */
	e = fb_tier_engine_of(at->state, c, &form);
	if (automatic ? strcmp(c->algorithm, "auto") != 0
		      : strcmp(e->ops->name, c->engine) || !has_form(e->ops, c->algorithm))
		return false;
	/* --engine all means the engines of this machine; `auto` has rows only if it is named. */
	if (automatic && !strcmp(at->state->machine.settings->engine, "all"))
		return false;
	if (e->left_out)
		return false;
	if (!strncmp(c->algorithm, "uring", 5)) {
		FB_OWN(struct keys, c)->depth = at->depth;
		fb_keys_put(c, keys);
	}
	j = fb_tier_job_of(c);
	c->bytes = j.crossover ? fb_kv_bytes(&j.shape)
			       : fb_kv_model_bytes(j.model, j.shape.element_bytes,
						   j.shape.tokens, j.shape.block_tokens);
	c->memory = fb_mover_memory(e->ops, at->state->machine.settings, e->ops->device);
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

/* Cases of both directions, for all lists of equal pieces that fit into a rank's memory. */
static int expand_crossover(struct fb_run *run, struct fb_tier_state *state,
			    const struct fb_axes_accepted *accepted)
{
	const struct fb_tier_settings *own = state->own;
	struct point point = {state, (unsigned)own->depth.value[0]};
	const size_t count[] = {2, own->piece.count, own->count.count};
	size_t at[3] = {0};
	int err = FB_OK;

	do {
		struct fb_case base = {.operation = fb_tier_operations[at[0]],
				       .registration = "none"};
		uint64_t piece = own->piece.value[at[1]], n = own->count.value[at[2]];

		if (piece % 8 || piece * n > MOST_CROSSOVER)
			continue;
		*FB_OWN(struct keys, &base) = (struct keys){
			.block = FB_KEY_NONE, .count = n, .depth = FB_KEY_NONE, .hit = FB_KEY_NONE,
			.model = FB_KEY_NONE, .page_run = FB_KEY_NONE, .piece = piece,
			.tier = FB_TIER_BLOCK_FIRST, .tokens = FB_KEY_NONE};
		fb_keys_put(&base, keys);
		err = fb_axes_expand(run, &base, accepted, adjust, &point);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}

int fb_tier_expand(struct fb_run *run, void *arg)
{
	struct fb_tier_state *state = arg;
	const struct fb_tier_settings *own = state->own;
	const char *engines[FB_KV_BACKENDS + 2], *forms[FORMS] = {NULL};
	const struct fb_axes_accepted accepted = {
		.engines = engines, .algorithms = forms, .memories = fb_mover_memories};
	size_t models = 0, at[8] = {0};
	int err = FB_OK;

	while (fb_kv_model_names[models])
		models++;
	fb_kv_backend_names(&state->machine, engines);
	list_forms(state, forms);
	if (own->crossover)
		return expand_crossover(run, state, &accepted);
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
			.count = FB_KEY_NONE,
			.piece = FB_KEY_NONE,
			.depth = FB_KEY_NONE,
			.hit = at[1] == FB_TIER_TTFT ? own->hit.value[at[5]] : FB_KEY_NONE,
			.model = at[0],
			.page_run = own->page_run.value[at[7]],
			.tier = at[2],
			.tokens = own->tokens.value[at[3]],
		};
		fb_keys_put(&base, keys);
		err = fb_axes_expand(run, &base, &accepted, adjust, &point);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}
