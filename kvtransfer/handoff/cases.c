/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of handoff; see handoff.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/variant.h"
#include "common/run/axes.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "kvtransfer/handoff/handoff.h"

const char *const fb_handoff_operations[] = {"reshard", "fan", "fit", NULL};
const char *const fb_handoff_grains[] = {"request", "layer", "run", NULL};
const char *const fb_handoff_verbs[] = {"put", "get", NULL};
const char *const fb_handoff_builds[] = {"warm", "cold", NULL};

static int index_of(const char *const *names, const char *name)
{
	int i = 0;

	while (names[i + 1] && strcmp(names[i], name))
		i++;
	return i;
}

static int key_of(const struct fb_case *c, const char *key, const char *const *names)
{
	char text[32];

	return index_of(names, fb_variant_text(c->variant, key, text, sizeof(text)));
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
	fb_kv_machine_add_movers(machine, 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET);
	err = fb_kv_machine_open(machine, true);
	if (err)
		fb_kv_machine_close(machine);
	else
		*result = state;
	return err;
}

struct fb_kv_backend *fb_handoff_engine_of(struct fb_handoff_state *state,
					   const struct fb_case *c)
{
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	const struct fb_kv_shape *s = &p.shape;
	struct fb_kv_need need = {.get = p.get};
	uint32_t run = s->page_run ? s->page_run : UINT32_MAX, blocks;

	if (p.operation != FB_HANDOFF_FIT) {
		blocks = fb_kv_blocks(s);
		need.bytes = (double)fb_kv_bytes(s);
		/* Of a pair: heads are cut out of tokens in nhd, else runs of pages are whole. */
		need.pieces = (double)fb_kv_regions(s) *
			      (s->layout == FB_KV_NHD && s->tp[0] != s->tp[1]
				       ? s->tokens
				       : blocks / (s->churn ? 1 : run) + 1.0);
	}
	return fb_kv_backend_of(&state->machine, c, &need);
}

struct fb_handoff_plan fb_handoff_plan_of(const struct fb_case *c)
{
	char text[64];
	const struct fb_kv_model *model =
		fb_kv_model_find(fb_variant_text(c->variant, "model", text, sizeof(text)));
	struct fb_handoff_plan p = {
		.operation = !strcmp(c->operation, "fit")   ? FB_HANDOFF_FIT
			     : !strcmp(c->operation, "fan") ? FB_HANDOFF_FAN
							    : FB_HANDOFF_RESHARD,
		.grain = (enum fb_handoff_grain)key_of(c, "grain", fb_handoff_grains),
		.get = !strcmp(c->algorithm, "get"),
		.cold = key_of(c, "build", fb_handoff_builds) == 1};

	if (p.operation == FB_HANDOFF_FIT)
		return p;
	p.shape = fb_kv_model_shape(model, (uint32_t)fb_datatype_size(c->datatype));
	p.shape.layout = (enum fb_kv_layout)key_of(c, "layout", fb_kv_layouts);
	p.shape.tokens = (uint32_t)fb_variant_u64(c->variant, "tokens", 1);
	p.shape.block_tokens = (uint32_t)fb_variant_u64(c->variant, "block", 1);
	p.shape.page_run = (uint32_t)fb_variant_u64(c->variant, "page_run", 1);
	p.shape.decode_run = (uint32_t)fb_variant_u64(c->variant, "decode_run", 0);
	p.shape.churn = (uint32_t)fb_variant_u64(c->variant, "churn", 0);
	p.shape.tp[FB_KV_PREFILL] = (uint32_t)fb_variant_u64(c->variant, "prefill", 1);
	p.shape.tp[FB_KV_DECODE] = (uint32_t)fb_variant_u64(c->variant, "decode", 1);
	return p;
}

bool fb_handoff_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_handoff_state *state = arg;
	const struct fb_kv_backend *e = fb_handoff_engine_of(state, c);
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	uint32_t ranks = p.operation == FB_HANDOFF_FIT ? 2 : p.shape.tp[0] + p.shape.tp[1];
	uint64_t most = fb_kv_most_bytes(&state->machine, e->device);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	if (!e->mover)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (!(e->ops->verbs >> (p.get ? FB_MOVE_GET : FB_MOVE_PUT) & 1))
		snprintf(reason, FB_REASON_CHARS, "mover %s has no %s", e->ops->name,
			 fb_move_verbs[p.get ? FB_MOVE_GET : FB_MOVE_PUT]);
	else if (ranks > (uint32_t)state->machine.world->nranks)
		snprintf(reason, FB_REASON_CHARS, "%u ranks are needed", ranks);
	else if (p.operation == FB_HANDOFF_RESHARD && !fb_kv_divides(&p.shape))
		snprintf(reason, FB_REASON_CHARS, "%u heads are not evenly on %u and %u ranks",
			 p.shape.kv_heads, p.shape.tp[0], p.shape.tp[1]);
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
	struct fb_kv_backend *e = fb_handoff_engine_of(state, c);
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	char ignored[FB_REASON_CHARS];

	if (p.operation == FB_HANDOFF_FIT && (p.get || !strcmp(c->engine, "auto")))
		return false;
	if (fb_kv_left_out(&state->machine, e))
		return false;
	c->bytes = p.operation == FB_HANDOFF_FIT ? 0 : fb_kv_bytes(&p.shape);
	c->memory = e->ops->device ? "device" : "host";
	c->transport = e->ops->transport;
	c->launch = "blocking";
	if (fb_handoff_can(state, c, ignored) && fb_handoff_part_bytes(&p) > e->part_bytes)
		e->part_bytes = fb_handoff_part_bytes(&p);
	return true;
}

/* The keys of one element of the product; fit has none. */
static void put_keys(const struct fb_handoff_settings *own, const size_t *at, struct fb_case *c)
{
	uint64_t decode_run = own->decode_run.value[at[9]], churn = own->churn.value[at[10]];
	char keys[FB_VARIANT_CHARS];

	if (at[1] == FB_HANDOFF_FIT)
		return;
	snprintf(keys, sizeof(keys), "block=%llu;build=%s;decode=%llu;grain=%s;layout=%s;model=%s;"
		 "prefill=%llu;tokens=%llu",
		 (unsigned long long)own->block_tokens.value[at[4]], fb_handoff_builds[at[11]],
		 (unsigned long long)own->decode.value[at[7]], fb_handoff_grains[at[3]],
		 fb_kv_layouts[at[2]], fb_kv_model_names[at[0]],
		 (unsigned long long)own->prefill.value[at[6]],
		 (unsigned long long)own->tokens.value[at[5]]);
	fb_variant_put(c, keys);
	if (churn)
		snprintf(keys, sizeof(keys), "churn=%llu", (unsigned long long)churn);
	else
		snprintf(keys, sizeof(keys), "page_run=%llu",
			 (unsigned long long)own->page_run.value[at[8]]);
	fb_variant_put(c, keys);
	if (churn || !decode_run)
		return;
	snprintf(keys, sizeof(keys), "decode_run=%llu", (unsigned long long)decode_run);
	fb_variant_put(c, keys);
}

int fb_handoff_expand(struct fb_run *run, void *arg)
{
	struct fb_handoff_state *state = arg;
	const struct fb_handoff_settings *own = state->own;
	const char *engines[FB_KV_BACKENDS + 2];
	const struct fb_axes_choices choices = {.engines = engines,
						.algorithms = fb_handoff_verbs};
	size_t models = 0, at[12] = {0};
	int err = FB_OK;

	while (fb_kv_model_names[models])
		models++;
	fb_kv_backend_names(&state->machine, engines);
	const size_t count[] = {models, 3, FB_KV_LAYOUTS, FB_GRAINS, own->block_tokens.count,
				own->tokens.count, own->prefill.count, own->decode.count,
				own->page_run.count, own->decode_run.count, own->churn.count, 2};
	do {
		struct fb_case base = {.operation = fb_handoff_operations[at[1]],
				       .registration = "none"};

		if (!(own->models >> at[0] & 1) || !(own->operations >> at[1] & 1) ||
		    !(own->layouts >> at[2] & 1) || !(own->grains >> at[3] & 1) ||
		    !(own->builds >> at[11] & 1))
			continue;
		put_keys(own, at, &base);
		err = fb_axes_expand(run, &base, &choices, adjust, state);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}
