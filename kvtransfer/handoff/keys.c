/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of handoff's cases, and what they ask for; see handoff.h. */
#include <string.h>

#include "kvtransfer/handoff/handoff.h"

const char *const fb_handoff_operations[] = {"reshard", "fan", "fit", "handover", NULL};
const char *const fb_handoff_grains[] = {"request", "layer", "run", "block", "layer-block",
					 "head-slice", "chunk", NULL};
static const struct {
	bool by_layer;
	enum fb_kv_cut cut;
} grains[FB_GRAINS] = {
	[FB_GRAIN_REQUEST] = {false, FB_KV_CUT_NONE}, [FB_GRAIN_LAYER] = {true, FB_KV_CUT_NONE},
	[FB_GRAIN_RUN] = {false, FB_KV_CUT_RUN},      [FB_GRAIN_BLOCK] = {false, FB_KV_CUT_BLOCK},
	[FB_GRAIN_LAYER_BLOCK] = {true, FB_KV_CUT_BLOCK},
	[FB_GRAIN_HEAD_SLICE] = {true, FB_KV_CUT_HEAD}, [FB_GRAIN_CHUNK] = {false, FB_KV_CUT_CHUNK},
};
const char *const fb_handoff_algorithms[] = {"put", "get", "send", "direct", "batch", "strided",
					     "datatype", "pack", "layerwise", NULL};
enum { VERBS = 3 };
/* As they are in `variant`; auto never is. */
const char *const fb_kv_placements[] = {"auto", "disjoint", "shared", "shifted", NULL};
const char *const fb_handoff_builds[] = {"warm", "cold", NULL};
const char *const fb_handoff_besides[] = {"none", "computing", NULL};
const char *const fb_handoff_coalesces[] = {"yes", "no", NULL};
const char *const fb_handoff_forms[] = {"usual", "loop", "strided", "batch", "graph", "threads",
					"tma", "chained", "single", "sge", "put-signal", "put",
					"block", "warp", "thread", "block-tma",
					"buffered", "direct", "uring", "uring_direct", NULL};
const char *const fb_stream_starts[] = {"request", "layer", NULL};
const char *const fb_handoff_contents[] = {"cache", "weights", NULL};

#define KEY(name, type, names) {#name, type, offsetof(struct fb_handoff_keys, name), names}

const struct fb_key fb_handoff_keys[] = {
	KEY(beside, FB_KEY_CHOICE, fb_handoff_besides),
	KEY(block, FB_KEY_U64, NULL),
	KEY(build, FB_KEY_CHOICE, fb_handoff_builds),
	KEY(chunk, FB_KEY_U64, NULL),
	KEY(chunk_tokens, FB_KEY_U32, NULL),
	KEY(churn, FB_KEY_U32, NULL),
	KEY(coalesce, FB_KEY_CHOICE, fb_handoff_coalesces),
	KEY(content, FB_KEY_CHOICE, fb_handoff_contents),
	KEY(decode, FB_KEY_U64, NULL),
	KEY(decode_layout, FB_KEY_CHOICE, fb_kv_layouts),
	KEY(decode_run, FB_KEY_U32, NULL),
	KEY(dim, FB_KEY_U32, NULL),
	KEY(flight, FB_KEY_U32, NULL),
	KEY(form, FB_KEY_CHOICE, fb_handoff_forms),
	KEY(grain, FB_KEY_CHOICE, fb_handoff_grains),
	KEY(heads, FB_KEY_U32, NULL),
	KEY(layers, FB_KEY_U32, NULL),
	KEY(layout, FB_KEY_CHOICE, fb_kv_layouts),
	KEY(model, FB_KEY_CHOICE, fb_kv_model_names),
	KEY(notify, FB_KEY_CHOICE, fb_handoff_notifies),
	KEY(others, FB_KEY_U64, NULL),
	KEY(page_run, FB_KEY_U64, NULL),
	KEY(placement, FB_KEY_CHOICE, fb_kv_placements),
	KEY(prefill, FB_KEY_U64, NULL),
	{"register", FB_KEY_CHOICE, offsetof(struct fb_handoff_keys, registers),
	 fb_handoff_builds},
	KEY(staging, FB_KEY_CHOICE, fb_kv_stagings),
	KEY(start, FB_KEY_CHOICE, fb_stream_starts),
	KEY(tokens, FB_KEY_U64, NULL),
	KEY(wire, FB_KEY_CHOICE, fb_kv_wires),
	{NULL, FB_KEY_U64, 0, NULL},
};

void fb_handoff_keys_clear(struct fb_handoff_keys *keys)
{
	memset(keys, 0xff, sizeof(*keys));
}

/* A member, or what it stands for where the case has none. */
static uint32_t value(uint64_t member, uint32_t fallback)
{
	return member == FB_KEY_NONE ? fallback : (uint32_t)member;
}

static uint32_t narrow(uint32_t member, uint32_t fallback)
{
	return member == UINT32_MAX ? fallback : member;
}

int fb_handoff_mode_of(const char *algorithm)
{
	int k = 0;

	while (fb_handoff_algorithms[k + 1] && strcmp(fb_handoff_algorithms[k], algorithm))
		k++;
	return k < VERBS ? -1 : k - VERBS;
}

/* What of a handoff's shape is not the model's. */
static bool put_own_shape(const struct fb_handoff_keys *keys, struct fb_kv_shape *s)
{
	s->layers = narrow(keys->layers, s->layers);
	s->kv_heads = narrow(keys->heads, s->kv_heads);
	s->head_dim = narrow(keys->dim, s->head_dim);
	return keys->layers != UINT32_MAX || keys->heads != UINT32_MAX || keys->dim != UINT32_MAX;
}

/* The request, its tables, and the groups of ranks. */
static void put_request(const struct fb_handoff_keys *keys, struct fb_kv_shape *s)
{
	uint32_t layout = value(keys->layout, FB_KV_NHD);

	s->layout[FB_KV_PREFILL] = (enum fb_kv_layout)layout;
	s->layout[FB_KV_DECODE] = (enum fb_kv_layout)value(keys->decode_layout, layout);
	s->tokens = value(keys->tokens, 1);
	s->block_tokens = value(keys->block, 1);
	s->page_run = value(keys->page_run, 1);
	s->decode_run = narrow(keys->decode_run, 0);
	s->churn = narrow(keys->churn, 0);
	s->tp[FB_KV_PREFILL] = value(keys->prefill, 1);
	s->tp[FB_KV_DECODE] = value(keys->decode, 1);
}

struct fb_handoff_plan fb_handoff_plan_of(const struct fb_case *c)
{
	const struct fb_handoff_keys *keys = FB_OWN_CONST(struct fb_handoff_keys, c);
	uint32_t grain = value(keys->grain, FB_GRAIN_REQUEST);
	struct fb_handoff_plan p = {
		.operation = !strcmp(c->operation, "fit")   ? FB_HANDOFF_FIT
			     : !strcmp(c->operation, "fan") ? FB_HANDOFF_FAN
			     : !strcmp(c->operation, "handover")
				     ? FB_HANDOFF_HANDOVER
				     : FB_HANDOFF_RESHARD,
		.by_layer = grains[grain].by_layer, .cut = grains[grain].cut,
		.chunk_tokens = narrow(keys->chunk_tokens, 0),
		.get = !strcmp(c->algorithm, "get"),
		.send = !strcmp(c->algorithm, "send"), .apart = value(keys->coalesce, 0) == 1,
		.notify = (enum fb_handoff_notify)value(keys->notify, FB_NOTIFY_EACH),
		.cold = value(keys->build, 1) == 1, .registers = value(keys->registers, 0) == 1,
		.wire = (enum fb_kv_wire)value(keys->wire, FB_KV_WIRE_PAGES),
		.staging = (enum fb_kv_staging)value(keys->staging, FB_KV_STAGING_NONE),
		.chunk = keys->chunk == FB_KEY_NONE ? UINT64_MAX : keys->chunk};
	const struct fb_kv_model *model;
	bool own;

	if (p.operation == FB_HANDOFF_HANDOVER) {
		p.mode = (enum fb_kv_mode)fb_handoff_mode_of(c->algorithm);
		p.placement = (enum fb_kv_placement)keys->placement;
	}
	if (keys->form != FB_KEY_NONE)
		p.form = fb_handoff_forms[keys->form];
	model = fb_kv_model_find(fb_kv_model_names[value(keys->model, 0)]);
	if (value(keys->beside, 0))
		p.beside = model;
	if (p.operation == FB_HANDOFF_FIT)
		return p;
	p.shape = fb_kv_model_shape(model, (uint32_t)fb_datatype_size(c->datatype));
	own = put_own_shape(keys, &p.shape);
	put_request(keys, &p.shape);
	p.flight = (int)narrow(keys->flight, 1);
	p.lists = 1;
	p.list[0] = p.shape;
	if (value(keys->content, 0)) {
		p.lists = fb_kv_model_weights(model, &p.shape, p.list);
		if (p.cut > FB_KV_CUT_RUN)
			p.unlike = "weights have no blocks, heads and chunks of tokens";
		return p;
	}
	/* Layers of an own shape are alike. */
	if (own)
		return p;
	if (p.operation != FB_HANDOFF_HANDOVER)
		p.lists = fb_kv_model_lists(model, &p.shape, p.list);
	else
		p.unlike = fb_kv_model_unlike(model);
	if (p.operation == FB_HANDOFF_HANDOVER && model->windowed && p.shape.tokens > model->window)
		p.unlike = "layers with a window keep fewer tokens than handover moves";
	return p;
}

static uint32_t unless_zero(const struct fb_sizes *list, size_t at)
{
	return list->value[at] ? (uint32_t)list->value[at] : UINT32_MAX;
}

/* The shape of pages, of a cache. */
static void put_pages(const struct fb_handoff_settings *own, const size_t *at,
		      struct fb_handoff_keys *keys)
{
	uint32_t decode_run = (uint32_t)own->decode_run.value[at[9]];
	uint32_t churn = (uint32_t)own->churn.value[at[10]];

	keys->layers = unless_zero(&own->layers, at[16]);
	keys->heads = unless_zero(&own->kv_heads, at[17]);
	keys->dim = unless_zero(&own->head_dim, at[18]);
	keys->layout = at[2];
	if (at[26] && at[26] != at[2] + 1)
		keys->decode_layout = at[26] - 1;
	keys->block = own->block_tokens.value[at[4]];
	keys->tokens = own->tokens.value[at[5]];
	if (churn)
		keys->churn = churn;
	else
		keys->page_run = own->page_run.value[at[8]];
	if (!churn && decode_run)
		keys->decode_run = decode_run;
}

/* The keys of a handover: where the shape is all its own, no model. */
static void put_handover(const struct fb_handoff_settings *own, const size_t *at, uint64_t ranks,
			 struct fb_case *c)
{
	struct fb_handoff_keys *keys = FB_OWN(struct fb_handoff_keys, c);

	keys->prefill = own->prefill.value[at[6]];
	keys->decode = own->decode.value[at[7]];
	keys->placement = at[19] != FB_KV_AUTO			    ? at[19]
			  : keys->prefill + keys->decode <= ranks ? FB_KV_DISJOINT
								    : FB_KV_SHIFTED;
	put_pages(own, at, keys);
	if (keys->layers == UINT32_MAX || keys->heads == UINT32_MAX || keys->dim == UINT32_MAX)
		keys->model = at[0];
	fb_keys_put(c, fb_handoff_keys);
}

void fb_handoff_put_keys(const struct fb_handoff_settings *own, const size_t *at, uint64_t ranks,
			 struct fb_case *c)
{
	struct fb_handoff_keys *keys = FB_OWN(struct fb_handoff_keys, c);

	fb_handoff_keys_clear(keys);
	if (at[1] == FB_HANDOFF_HANDOVER) {
		put_handover(own, at, ranks, c);
		return;
	}
	if (at[15])
		keys->form = at[15];
	if (at[23])
		keys->beside = at[23];
	if (at[1] == FB_HANDOFF_FIT) {
		/* Lists have no model, but what is computed beside them has. */
		if (at[23])
			keys->model = at[0];
		fb_keys_put(c, fb_handoff_keys);
		return;
	}
	keys->model = at[0];
	keys->grain = at[3];
	if (at[3] == FB_GRAIN_CHUNK)
		keys->chunk_tokens = (uint32_t)own->chunk_tokens.value[at[22]];
	keys->prefill = own->prefill.value[at[6]];
	keys->decode = own->decode.value[at[7]];
	keys->build = at[11];
	/* One is what rows without the key have. */
	if (own->flight.value[at[12]] > 1)
		keys->flight = (uint32_t)own->flight.value[at[12]];
	if (at[24])
		keys->coalesce = at[24];
	if (at[27])
		keys->notify = at[27];
	if (at[25])
		keys->registers = keys->build = at[25];
	if (at[14])
		keys->wire = at[14];
	if (at[20])
		keys->staging = at[20];
	if (at[20] == FB_KV_STAGING_PIPELINED)
		keys->chunk = own->staging_bytes.value[at[21]];
	if (at[13])
		keys->content = at[13];
	else
		put_pages(own, at, keys);
	fb_keys_put(c, fb_handoff_keys);
}
