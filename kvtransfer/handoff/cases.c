/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of handoff; see handoff.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"
#include "common/record/timeline.h"
#include "common/run/axes.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "common/transport/keys.h"
#include "kvtransfer/handoff/handoff.h"

/* More than that take minutes to prepare, and measure a processor's lists. */
static const double most_moves = 1e6;

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
	if (state->own->stagings >> (FB_KV_STAGING_NONE + 1))
		fb_kv_machine_add_staged(machine, 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET |
							  1u << FB_MOVE_SEND);
	err = fb_kv_machine_open(machine, true);
	if (!err)
		err = fb_timeline_open("trace-out", state->own->trace_out, machine->world);
	if (err)
		fb_kv_machine_close(machine);
	else
		*result = state;
	return err;
}

/* The plan of a list. A fan's requests are of one rank and for one. */
static struct fb_kv_plan plan_of(const struct fb_handoff_plan *p, int list)
{
	struct fb_kv_plan plan = {.shape = p->list[list], .cut = p->cut, .by_layer = p->by_layer,
				  .chunk_tokens = p->chunk_tokens};

	if (p->operation == FB_HANDOFF_FAN)
		plan.shape.tp[FB_KV_PREFILL] = plan.shape.tp[FB_KV_DECODE] = 1;
	return plan;
}

/*
 * Returns about how many pages make a run. Pages that pass whole have runs about as long as the
 * tables' ones, if both sides have nothing between the regions that pass together; else 1.
 */
static double page_run(const struct fb_kv_plan *plan, bool apart)
{
	const struct fb_kv_shape *s = &plan->shape;
	double run = s->churn || apart ? 1 : s->page_run ? s->page_run : UINT32_MAX;
	uint32_t span = fb_kv_span(plan);

	if (!fb_kv_whole_pages(s) || fb_kv_grouped(s, FB_KV_PREFILL) != span ||
	    fb_kv_grouped(s, FB_KV_DECODE) != span)
		return 1;
	return run < fb_kv_blocks(s) ? run : fb_kv_blocks(s);
}

static double pieces_of(const struct fb_handoff_plan *p, int list)
{
	const struct fb_kv_plan plan = plan_of(p, list);

	return fb_kv_about_pieces(&plan) / page_run(&plan, p->apart);
}

/* Moves of a pair. */
static double moves_of(const struct fb_handoff_plan *p)
{
	double moves = 0;

	for (int l = 0; l < p->lists; l++) {
		const struct fb_kv_plan plan = plan_of(p, l);
		const struct fb_kv_shape *s = &plan.shape;
		double blocks = fb_kv_blocks(s);
		uint32_t ranks = s->tp[0] > s->tp[1] ? s->tp[0] : s->tp[1];
		uint32_t heads = s->kv_heads > ranks ? s->kv_heads / ranks : 1;

		moves += (p->by_layer ? s->layers : 1) *
			 (p->cut == FB_KV_CUT_NONE    ? 1
			  : p->cut == FB_KV_CUT_RUN
				  ? fb_kv_about_runs(s) / page_run(&plan, p->apart)
			  : p->cut == FB_KV_CUT_HEAD  ? blocks * heads
			  : p->cut == FB_KV_CUT_CHUNK ? ceil((double)s->tokens / p->chunk_tokens)
						      : blocks);
	}
	return moves;
}

struct fb_kv_backend *fb_handoff_engine_of(struct fb_handoff_state *state,
					   const struct fb_case *c)
{
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	struct fb_kv_need need = {.get = p.get, .staged = p.staging != FB_KV_STAGING_NONE,
				   .beside = p.beside != NULL};

	if (p.operation != FB_HANDOFF_FIT) {
		need.bytes = (double)fb_handoff_bytes(&p);
		for (int l = 0; l < p.lists; l++)
			need.pieces += pieces_of(&p, l);
		need.bytes = (double)fb_kv_wire_bytes(p.wire, (uint64_t)need.bytes);
		if (p.wire)
			need.pieces = moves_of(&p);
	}
	return fb_kv_backend_of(&state->machine, c, &need);
}

static enum fb_move_verb verb_of(const struct fb_handoff_plan *p)
{
	return p->get ? FB_MOVE_GET : p->send ? FB_MOVE_SEND : FB_MOVE_PUT;
}

bool fb_handoff_lacks(const struct fb_handoff_state *state, const struct fb_kv_backend *e,
		      const struct fb_handoff_plan *p)
{
	const struct fb_settings *s = state->machine.settings;

	if (p->operation == FB_HANDOFF_HANDOVER)
		return !(fb_kv_carrier_modes(e->ops) >> p->mode & 1);
	return !(e->ops->verbs >> verb_of(p) & 1) &&
	       (!strcmp(s->engine, "all") || !strcmp(s->algorithm, "all"));
}

static uint32_t ranks_of(const struct fb_handoff_plan *p)
{
	const uint32_t *tp = p->shape.tp;

	if (p->operation == FB_HANDOFF_FIT)
		return 2;
	if (p->placement == FB_KV_SHARED || p->placement == FB_KV_SHIFTED)
		return tp[0] > tp[1] ? tp[0] : tp[1];
	return tp[0] + tp[1];
}

bool fb_handoff_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_handoff_state *state = arg;
	const struct fb_kv_backend *e = fb_handoff_engine_of(state, c);
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	bool handover = p.operation == FB_HANDOFF_HANDOVER;
	uint32_t ranks = ranks_of(&p);
	const struct fb_kv_shape *uneven = NULL;
	uint64_t most = fb_kv_most_bytes(&state->machine, e->device);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];
	bool bf16 = c->datatype == FB_BF16;
	enum fb_move_verb verb = verb_of(&p);

	for (int l = 0; l < p.lists; l++)
		bf16 &= p.list[l].element_bytes == 2;
	/* Each request of a fan is of one rank and for one. */
	for (int l = 0; l < p.lists && p.operation != FB_HANDOFF_FAN && !uneven; l++)
		uneven = fb_kv_divides(&p.list[l]) ? NULL : &p.list[l];
	if (!e->mover)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (p.unlike)
		snprintf(reason, FB_REASON_CHARS, "%s", p.unlike);
	else if (!handover && !(e->ops->verbs >> verb & 1))
		snprintf(reason, FB_REASON_CHARS, "mover %s has no %s", e->ops->name,
			 fb_move_verbs[verb]);
	else if (ranks > (uint32_t)state->machine.world->nranks)
		snprintf(reason, FB_REASON_CHARS, "%u ranks are needed", ranks);
	else if (uneven)
		snprintf(reason, FB_REASON_CHARS, "%u %s are not evenly on %u and %u ranks",
			 uneven->kv_heads, uneven->heads_are ? uneven->heads_are : "heads",
			 uneven->tp[0], uneven->tp[1]);
	else if (moves_of(&p) > most_moves)
		snprintf(reason, FB_REASON_CHARS, "about %.2g moves of a pair, more than %.0g",
			 moves_of(&p), most_moves);
	else if (p.staging && !p.wire)
		snprintf(reason, FB_REASON_CHARS, "staged pages are packed: --wire packed or fp8");
	else if (p.wire == FB_KV_WIRE_FP8 && !bf16)
		snprintf(reason, FB_REASON_CHARS, "--wire fp8 needs bf16 pages");
	else if (!fb_handoff_notifies_so(&p, e->ops, reason) ||
		 (p.form && e->ops->can && !e->ops->can(e->mover, p.form, reason)) ||
		 (handover && !fb_kv_carrier_can(e->ops, &p.shape, p.mode, reason)))
		return false;
	else if (fb_handoff_part_bytes(&p) > most)
		snprintf(reason, FB_REASON_CHARS, "a rank's pages need %s, its memory is %s",
			 fb_size_text((fb_handoff_part_bytes(&p) >> 20 << 20) + (1 << 20), asked),
			 fb_size_text(most >> 20 << 20, limit));
	else if (fb_handoff_stage_bytes(&p) > state->machine.memory_limit)
		snprintf(reason, FB_REASON_CHARS, "a rank's messages need %s, its memory is %s",
			 fb_size_text((fb_handoff_stage_bytes(&p) >> 20 << 20) + (1 << 20), asked),
			 fb_size_text(state->machine.memory_limit >> 20 << 20, limit));
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
	bool handover = p.operation == FB_HANDOFF_HANDOVER;

	if (handover != (fb_handoff_mode_of(c->algorithm) >= 0))
		return false;
	c->memory = "-"; /* follows from the engine */
	e = fb_handoff_engine_of(state, c);
	if (p.operation == FB_HANDOFF_FIT && !strcmp(c->engine, "auto"))
		return false;
	if (e->left_out || fb_handoff_lacks(state, e, &p) ||
	    ((p.send || p.form || p.staging) && !strcmp(c->engine, "auto")) ||
	    (p.staging && strcmp(e->name, c->engine)) ||
	    (p.form && fb_mover_form(e->ops, p.form) < 0))
		return false;
	c->bytes = p.operation == FB_HANDOFF_FIT ? 0 : fb_handoff_bytes(&p);
	c->memory = fb_mover_memory(e->staged ? NULL : e->ops, state->machine.settings, e->device);
	c->transport = e->ops->transport;
	fb_transport_keys(c, state->machine.settings, e->ops->device);
	c->launch = handover && e->device ? "stream" : "blocking";
	if (!fb_handoff_can(state, c, ignored))
		return true;
	if (fb_handoff_part_bytes(&p) > e->part_bytes)
		e->part_bytes = fb_handoff_part_bytes(&p);
	if (fb_handoff_stage_bytes(&p) > e->stage_bytes)
		e->stage_bytes = fb_handoff_stage_bytes(&p);
	return true;
}

/* Weights have neither tokens nor tables: they are in the product once. */
static bool first_of_tables(const struct fb_handoff_settings *own, const size_t *at)
{
	return !(own->layouts & ((UINT64_C(1) << at[2]) - 1)) &&
	       !(own->decode_layouts & ((UINT64_C(1) << at[26]) - 1)) && !at[4] && !at[5] &&
	       !at[8] && !at[9] && !at[10] && !at[16] && !at[17] && !at[18];
}

/* Whether some engine that was asked for has the form. */
static bool has_form(const struct fb_kv_machine *m, const char *form)
{
	for (int i = 0; i < m->backends; i++)
		if (fb_option_names(m->settings->engine, m->backend[i].name) &&
		    !m->backend[i].left_out &&
		    fb_mover_form(m->backend[i].ops, form) >= 0)
			return true;
	return false;
}

/* An option that operation handover, alone, would ignore; NULL: none is given. */
static const char *unused_option(const struct fb_handoff_settings *own)
{
	/* The first of each list is what the program does without the option. */
	const struct {
		const char *name;
		bool given;
	} options[] = {
		{"content", own->contents != 1}, {"grain", own->grains != 1},
		{"wire", own->wires != 1},	 {"staging", own->stagings != 1},
		{"form", own->forms != 1},	 {"build", own->builds != 1},
		{"flight", own->flight.count != 1 || own->flight.value[0] != 1},
		{"beside", own->besides != 1},	 {"coalesce", own->coalesces != 1},
		{"register", own->registers != 1}, {"notify", own->notifies != 1},
		{"trace-out", own->trace_out != NULL},
	};

	for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
		if (own->operations == UINT64_C(1) << FB_HANDOFF_HANDOVER && options[k].given)
			return options[k].name;
	return NULL;
}

/* The n-th one of a set of bits, counted from 0. */
static size_t nth(uint64_t bits, size_t n)
{
	for (; n; n--)
		bits &= bits - 1;
	return (size_t)__builtin_ctzll(bits);
}

int fb_handoff_expand(struct fb_run *run, void *arg)
{
	struct fb_handoff_state *state = arg;
	const struct fb_handoff_settings *own = state->own;
	const char *engines[FB_KV_BACKENDS + 2];
	size_t added = 0;
	const struct fb_axes_accepted accepted = {.engines = engines,
						  .algorithms = fb_handoff_algorithms,
						  .memories = fb_mover_memories,
						  .added = &added};
	size_t next[28] = {0}, at[28];
	int err = FB_OK;
	bool some = false;

	if (unused_option(own))
		return state->machine.world->rank
			       ? FB_EINPUT
			       : fb_error(FB_EINPUT, "option --%s: operation handover does not use "
					  "it: expected another --operation, or handoff instead of "
					  "kv_reshard", unused_option(own));
	fb_kv_backend_names(&state->machine, engines);
	/* Axes whose values are names; of all others lists have the values. */
	const uint64_t named[28] = {
		[0] = own->models, [1] = own->operations, [2] = own->layouts, [3] = own->grains,
		[11] = own->builds, [13] = own->contents, [14] = own->wires, [15] = own->forms,
		[19] = own->placements, [20] = own->stagings, [23] = own->besides,
		[24] = own->coalesces, [25] = own->registers, [26] = own->decode_layouts,
		[27] = own->notifies};
	size_t count[28] = {
		[4] = own->block_tokens.count, [5] = own->tokens.count, [6] = own->prefill.count,
		[7] = own->decode.count, [8] = own->page_run.count, [9] = own->decode_run.count,
		[10] = own->churn.count, [12] = own->flight.count, [16] = own->layers.count,
		[17] = own->kv_heads.count, [18] = own->head_dim.count,
		[21] = own->staging_bytes.count, [22] = own->chunk_tokens.count};
	for (int k = 0; k < 28; k++)
		count[k] = named[k] ? (size_t)__builtin_popcountll(named[k]) : count[k];
	do {
		struct fb_case base = {.registration = "none"};

		for (int k = 0; k < 28; k++)
			at[k] = named[k] ? nth(named[k], next[k]) : next[k];
		base.operation = fb_handoff_operations[at[1]];
		if ((at[22] && at[3] != FB_GRAIN_CHUNK) ||
		    (at[25] && own->builds >> at[11] > 1) ||
		    (at[15] && !has_form(&state->machine, fb_handoff_forms[at[15]])) ||
		    /* The layout of both that is named once more. */
		    (at[26] == at[2] + 1 && (own->decode_layouts & 1)) ||
		    (at[13] && !first_of_tables(own, at)))
			continue;
		some = true;
		fb_handoff_put_keys(own, at, (uint64_t)state->machine.world->nranks, &base);
		err = fb_axes_expand(run, &base, &accepted, adjust, state);
	} while (!err && fb_product_next(next, count, sizeof(count) / sizeof(count[0])));
	if (!some)
		return state->machine.world->rank
			       ? FB_EINPUT
			       : fb_error(FB_EINPUT, "no engine of --engine %s has the --form",
					  state->machine.settings->engine);
	/* Not all operations have all algorithms, nor all engines all ways to stage. */
	return err || added ? err : fb_axes_none_left(run, &accepted);
}
