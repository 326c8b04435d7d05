/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of handoff; see handoff.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"
#include "common/run/axes.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "common/transport/keys.h"
#include "kvtransfer/handoff/handoff.h"

const char *const fb_handoff_operations[] = {"reshard", "fan", "fit", NULL};
const char *const fb_handoff_grains[] = {"request", "layer", "run", NULL};
const char *const fb_handoff_verbs[] = {"put", "get", "send", NULL};
const char *const fb_handoff_builds[] = {"warm", "cold", NULL};
const char *const fb_handoff_forms[] = {"usual", "loop", "strided", "batch", "graph", "threads",
					"tma", "chained", "single", "sge", "put-signal", "put",
					"block", "warp", "thread", "block-tma",
					NULL};
const char *const fb_stream_starts[] = {"request", "layer", NULL};
const char *const fb_handoff_contents[] = {"cache", "weights", NULL};

#define KEY(name, type, names) {#name, type, offsetof(struct fb_handoff_keys, name), names}

const struct fb_key fb_handoff_keys[] = {
	KEY(block, FB_KEY_U64, NULL),
	KEY(build, FB_KEY_CHOICE, fb_handoff_builds),
	KEY(churn, FB_KEY_U64, NULL),
	KEY(content, FB_KEY_CHOICE, fb_handoff_contents),
	KEY(decode, FB_KEY_U64, NULL),
	KEY(decode_run, FB_KEY_U64, NULL),
	KEY(dim, FB_KEY_U32, NULL),
	KEY(flight, FB_KEY_U32, NULL),
	KEY(form, FB_KEY_CHOICE, fb_handoff_forms),
	KEY(grain, FB_KEY_CHOICE, fb_handoff_grains),
	KEY(heads, FB_KEY_U32, NULL),
	KEY(layers, FB_KEY_U32, NULL),
	KEY(layout, FB_KEY_CHOICE, fb_kv_layouts),
	KEY(model, FB_KEY_CHOICE, fb_kv_model_names),
	KEY(page_run, FB_KEY_U64, NULL),
	KEY(prefill, FB_KEY_U64, NULL),
	KEY(tokens, FB_KEY_U64, NULL),
	KEY(wire, FB_KEY_CHOICE, fb_kv_wires),
	{NULL, FB_KEY_U64, 0, NULL},
};

const struct fb_key fb_stream_keys[] = {
	KEY(block, FB_KEY_U64, NULL),
	KEY(build, FB_KEY_CHOICE, fb_handoff_builds),
	KEY(grain, FB_KEY_CHOICE, fb_handoff_grains),
	KEY(model, FB_KEY_CHOICE, fb_kv_model_names),
	KEY(others, FB_KEY_U64, NULL),
	KEY(page_run, FB_KEY_U64, NULL),
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

/* What of a handoff's shape is not the model's. */
static bool put_own_shape(const struct fb_handoff_keys *keys, struct fb_kv_shape *s)
{
	s->layers = narrow(keys->layers, s->layers);
	s->kv_heads = narrow(keys->heads, s->kv_heads);
	s->head_dim = narrow(keys->dim, s->head_dim);
	return keys->layers != UINT32_MAX || keys->heads != UINT32_MAX || keys->dim != UINT32_MAX;
}

int fb_handoff_open(struct fb_run *run, void **result)
{
	struct fb_kv_machine *machine;
	struct fb_handoff_state *state;
	int err = fb_kv_machine_new(&machine, run, sizeof(*state));

	if (err)
		return err;
	state = (struct fb_handoff_state *)machine;
	state->own = run->program->option_values;
	fb_kv_machine_add_movers(machine,
				  1u << FB_MOVE_PUT | 1u << FB_MOVE_GET | 1u << FB_MOVE_SEND);
	err = fb_kv_machine_open(machine, true);
	if (!err)
		err = fb_kv_trace_open(machine, state->own->trace_out);
	if (err)
		fb_kv_machine_close(machine);
	else
		*result = state;
	return err;
}

/* Of a pair: heads are cut out of tokens in nhd, else runs of pages are whole. */
static double pieces_of(const struct fb_kv_shape *s)
{
	uint32_t run = s->churn ? 1 : s->page_run ? s->page_run : UINT32_MAX;
	uint32_t whole = fb_kv_blocks(s) / run + 1;

	return (double)fb_kv_regions(s) *
	       (s->layout == FB_KV_NHD && s->tp[0] != s->tp[1] ? s->tokens : whole);
}

struct fb_kv_backend *fb_handoff_engine_of(struct fb_handoff_state *state,
					   const struct fb_case *c)
{
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	struct fb_kv_need need = {.get = p.get};

	if (p.operation != FB_HANDOFF_FIT) {
		need.bytes = (double)fb_handoff_bytes(&p);
		for (int l = 0; l < (p.list[0].whole ? p.lists : 1); l++)
			need.pieces += pieces_of(p.list[0].whole ? &p.list[l] : &p.shape);
		need.bytes = (double)fb_kv_wire_bytes(p.wire, (uint64_t)need.bytes);
		if (p.wire)
			need.pieces = p.grain == FB_GRAIN_LAYER ? p.shape.layers : 1;
	}
	return fb_kv_backend_of(&state->machine, c, &need);
}

struct fb_handoff_plan fb_handoff_plan_of(const struct fb_case *c)
{
	const struct fb_handoff_keys *keys = FB_OWN_CONST(struct fb_handoff_keys, c);
	struct fb_handoff_plan p = {
		.operation = !strcmp(c->operation, "fit")   ? FB_HANDOFF_FIT
			     : !strcmp(c->operation, "fan") ? FB_HANDOFF_FAN
							    : FB_HANDOFF_RESHARD,
		.grain = (enum fb_handoff_grain)value(keys->grain, FB_GRAIN_RUN),
		.get = !strcmp(c->algorithm, "get"),
		.send = !strcmp(c->algorithm, "send"),
		.cold = value(keys->build, 1) == 1,
		.wire = (enum fb_kv_wire)value(keys->wire, FB_KV_WIRE_PAGES)};
	const struct fb_kv_model *model;
	bool own = false;

	if (strcmp(c->operation, "stream") && keys->form != FB_KEY_NONE)
		p.form = fb_handoff_forms[keys->form];
	if (p.operation == FB_HANDOFF_FIT)
		return p;
	model = fb_kv_model_find(fb_kv_model_names[keys->model]);
	p.shape = fb_kv_model_shape(model, (uint32_t)fb_datatype_size(c->datatype));
	if (strcmp(c->operation, "stream"))
		own = put_own_shape(keys, &p.shape);
	p.shape.layout = (enum fb_kv_layout)value(keys->layout, FB_KV_LAYOUTS - 1);
	p.shape.tokens = value(keys->tokens, 1);
	p.shape.block_tokens = value(keys->block, 1);
	p.shape.page_run = value(keys->page_run, 1);
	p.shape.decode_run = value(keys->decode_run, 0);
	p.shape.churn = value(keys->churn, 0);
	p.shape.tp[FB_KV_PREFILL] = value(keys->prefill, 1);
	p.shape.tp[FB_KV_DECODE] = value(keys->decode, 1);
	p.flight = (int)narrow(keys->flight, 1);
	p.lists = 1;
	p.list[0] = p.shape;
	if (value(keys->content, 0)) {
		p.lists = fb_kv_model_weights(model, &p.shape, p.list);
		if (!p.lists)
			p.unlike = "the model's table has only the experts that a token passes";
		return p;
	}
	/* Layers of an own shape are alike. What is streamed has one move for each layer. */
	if (own)
		return p;
	if (strcmp(c->operation, "stream"))
		p.lists = fb_kv_model_lists(model, &p.shape, p.list);
	else
		p.unlike = fb_kv_model_unlike(model);
	return p;
}

static enum fb_move_verb verb_of(const struct fb_handoff_plan *p)
{
	return p->get ? FB_MOVE_GET : p->send ? FB_MOVE_SEND : FB_MOVE_PUT;
}

bool fb_handoff_lacks(const struct fb_handoff_state *state, const struct fb_kv_backend *e,
		      const struct fb_handoff_plan *p)
{
	const struct fb_settings *s = state->machine.settings;

	return !(e->ops->verbs >> verb_of(p) & 1) &&
	       (!strcmp(s->engine, "all") || !strcmp(s->algorithm, "all"));
}

bool fb_handoff_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_handoff_state *state = arg;
	const struct fb_kv_backend *e = fb_handoff_engine_of(state, c);
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	uint32_t ranks = p.operation == FB_HANDOFF_FIT ? 2 : p.shape.tp[0] + p.shape.tp[1];
	const struct fb_kv_shape *uneven = NULL;
	uint64_t most = fb_kv_most_bytes(&state->machine, e->device);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];
	bool bf16 = c->datatype == FB_BF16;
	enum fb_move_verb verb = verb_of(&p);

	for (int l = 0; l < p.lists; l++)
		bf16 &= p.list[l].element_bytes == 2;
	for (int l = 0; l < p.lists && p.operation == FB_HANDOFF_RESHARD && !uneven; l++)
		uneven = fb_kv_divides(&p.list[l]) ? NULL : &p.list[l];
	if (!e->mover)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (p.unlike)
		snprintf(reason, FB_REASON_CHARS, "%s", p.unlike);
	else if (!(e->ops->verbs >> verb & 1))
		snprintf(reason, FB_REASON_CHARS, "mover %s has no %s", e->ops->name,
			 fb_move_verbs[verb]);
	else if (ranks > (uint32_t)state->machine.world->nranks)
		snprintf(reason, FB_REASON_CHARS, "%u ranks are needed", ranks);
	else if (uneven)
		snprintf(reason, FB_REASON_CHARS, "%u heads are not evenly on %u and %u ranks",
			 uneven->kv_heads, uneven->tp[0], uneven->tp[1]);
	else if (p.wire == FB_KV_WIRE_FP8 && !bf16)
		snprintf(reason, FB_REASON_CHARS, "fp8 on the wire is made of bf16 pages");
	else if (fb_handoff_part_bytes(&p) > most)
		snprintf(reason, FB_REASON_CHARS, "pages of a rank are %s, its memory %s",
			 fb_size_text((fb_handoff_part_bytes(&p) >> 20 << 20) + (1 << 20), asked),
			 fb_size_text(most >> 20 << 20, limit));
	else
		return true;
	return false;
}

/* fb_axes_adjust_fn. Sizes follow from tokens. */
static bool adjust(void *arg, struct fb_case *c)
{
	struct fb_handoff_state *state = arg;
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	char ignored[FB_REASON_CHARS];
	struct fb_kv_backend *e;

	c->memory = "-"; /* follows from the engine */
	e = fb_handoff_engine_of(state, c);
	if (p.operation == FB_HANDOFF_FIT && (p.get || p.send || !strcmp(c->engine, "auto")))
		return false;
	if (fb_kv_left_out(&state->machine, e) || fb_handoff_lacks(state, e, &p) ||
	    ((p.send || p.form) && !strcmp(c->engine, "auto")) ||
	    (p.form && fb_mover_form(e->ops, p.form) < 0))
		return false;
	c->bytes = p.operation == FB_HANDOFF_FIT ? 0 : fb_handoff_bytes(&p);
	c->memory = fb_mover_memory(e->ops, state->machine.settings, e->ops->device);
	c->transport = e->ops->transport;
	fb_transport_keys(c, state->machine.settings, e->ops->device);
	c->launch = "blocking";
	if (fb_handoff_can(state, c, ignored) && fb_handoff_part_bytes(&p) > e->part_bytes)
		e->part_bytes = fb_handoff_part_bytes(&p);
	return true;
}

static uint32_t unless_zero(const struct fb_sizes *list, size_t at)
{
	return list->value[at] ? (uint32_t)list->value[at] : UINT32_MAX;
}

/* The keys of one element of the product; fit has none. */
static void put_keys(const struct fb_handoff_settings *own, const size_t *at, struct fb_case *c)
{
	struct fb_handoff_keys *keys = FB_OWN(struct fb_handoff_keys, c);
	uint64_t decode_run = own->decode_run.value[at[9]], churn = own->churn.value[at[10]];

	fb_handoff_keys_clear(keys);
	if (at[15])
		keys->form = at[15];
	if (at[1] == FB_HANDOFF_FIT) {
		fb_keys_put(c, fb_handoff_keys);
		return;
	}
	keys->model = at[0];
	keys->grain = at[3];
	keys->prefill = own->prefill.value[at[6]];
	keys->decode = own->decode.value[at[7]];
	keys->build = at[11];
	/* One is what rows without the key have. */
	if (own->flight.value[at[12]] > 1)
		keys->flight = (uint32_t)own->flight.value[at[12]];
	if (at[14])
		keys->wire = at[14];
	if (at[13]) {
		keys->content = at[13];
		fb_keys_put(c, fb_handoff_keys);
		return;
	}
	keys->layers = unless_zero(&own->layers, at[16]);
	keys->heads = unless_zero(&own->kv_heads, at[17]);
	keys->dim = unless_zero(&own->head_dim, at[18]);
	keys->layout = at[2];
	keys->block = own->block_tokens.value[at[4]];
	keys->tokens = own->tokens.value[at[5]];
	if (churn)
		keys->churn = churn;
	else
		keys->page_run = own->page_run.value[at[8]];
	if (!churn && decode_run)
		keys->decode_run = decode_run;
	fb_keys_put(c, fb_handoff_keys);
}

/* Weights have neither tokens nor tables: they are in the product once. */
static bool first_of_tables(const struct fb_handoff_settings *own, const size_t *at)
{
	return !(own->layouts & ((UINT64_C(1) << at[2]) - 1)) && !at[4] && !at[5] && !at[8] &&
	       !at[9] && !at[10] && !at[16] && !at[17] && !at[18];
}

/* Whether some engine that was asked for has the form. */
static bool has_form(const struct fb_kv_machine *m, const char *form)
{
	for (int i = 0; i < m->backends; i++)
		if (fb_option_names(m->settings->engine, m->backend[i].name) &&
		    !fb_kv_left_out(m, &m->backend[i]) &&
		    fb_mover_form(m->backend[i].ops, form) >= 0)
			return true;
	return false;
}

int fb_handoff_expand(struct fb_run *run, void *arg)
{
	struct fb_handoff_state *state = arg;
	const struct fb_handoff_settings *own = state->own;
	const char *engines[FB_KV_BACKENDS + 2];
	const struct fb_axes_choices choices = {.engines = engines,
						.algorithms = fb_handoff_verbs,
						.memories = fb_mover_memories};
	size_t models = 0, forms = 0, at[19] = {0};
	int err = FB_OK;
	bool some = false;

	while (fb_kv_model_names[models])
		models++;
	while (fb_handoff_forms[forms])
		forms++;
	fb_kv_backend_names(&state->machine, engines);
	const size_t count[] = {models, 3, FB_KV_LAYOUTS, FB_GRAINS, own->block_tokens.count,
				own->tokens.count, own->prefill.count, own->decode.count,
				own->page_run.count, own->decode_run.count, own->churn.count, 2,
				own->flight.count, 2, FB_KV_WIRES, forms, own->layers.count,
				own->kv_heads.count, own->head_dim.count};
	do {
		struct fb_case base = {.operation = fb_handoff_operations[at[1]],
				       .registration = "none"};

		if (!(own->models >> at[0] & 1) || !(own->operations >> at[1] & 1) ||
		    !(own->layouts >> at[2] & 1) || !(own->grains >> at[3] & 1) ||
		    !(own->builds >> at[11] & 1) || !(own->contents >> at[13] & 1) ||
		    !(own->wires >> at[14] & 1) ||
		    !(own->forms >> at[15] & 1) ||
		    (at[15] && !has_form(&state->machine, fb_handoff_forms[at[15]])) ||
		    (at[13] && !first_of_tables(own, at)))
			continue;
		some = true;
		put_keys(own, at, &base);
		err = fb_axes_expand(run, &base, &choices, adjust, state);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	if (!some)
		return state->machine.world->rank
			       ? FB_EINPUT
			       : fb_error(FB_EINPUT, "no engine of --engine %s has the --form",
					  state->machine.settings->engine);
	return err;
}
