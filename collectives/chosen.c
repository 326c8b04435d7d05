/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing by table or by model; see chosen.h. */
#include "collectives/chosen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"
#include "common/run/table_file.h"
#include "common/system/environment_file.h"

static const char automatic[] = "auto", model_name[] = "model";
static const char *const protocols[] = {"ll", "ll128", "direct", "simple", "tma",
					"striped"};

static bool is_auto(const char *name)
{
	return !strcmp(name, automatic);
}

/* The table of a kind for the ranks' model; one that was named need not be of this machine. */
static void take_table(struct fb_choosing *choosing, const struct fb_session *session,
		       enum fb_machine kind, const char *model, bool named)
{
	const struct fb_tuning *found = NULL;
	char key[32];

	if (model && *model)
		found = fb_tunings_for(&choosing->tunings, kind, model);
	if (!found && named) {
		found = fb_tunings_for(&choosing->tunings, kind, NULL);
		if (found && model && session->world->rank == 0)
			fb_warn("--tuning: table %s is for %s, this is %s", found->name,
				found->model, *model ? model : "several models");
	}
	choosing->tuning[kind] = found;
	snprintf(key, sizeof(key), "tuning.%s", fb_machine_names[kind]);
	if (found)
		fb_launch_fact(session, key, "%s for %s%s", found->name, found->model,
			    named ? "" : ", built in");
}

int fb_choosing_open(struct fb_choosing *choosing, const struct fb_session *session,
		     const struct fb_group *w, const struct fb_gpu *gpu)
{
	const char *file = session->settings->tuning;
	bool built_in = file && is_auto(file);
	char label[FB_LINE_CHARS], cpu[FB_LINE_CHARS] = "", gpu_model[sizeof(gpu->name)] = "";
	char *text = NULL;
	struct fb_facts facts = {.item = NULL};
	const char *model;
	int err = FB_OK;

	if (!file || !strcmp(file, "none"))
		return FB_OK;
	if (!built_in)
		err = fb_table_file_share(w, file, "tune", &text);
	snprintf(label, sizeof(label), "--tuning %s", file);
	if (!err)
		err = fb_tunings_parse(&choosing->tunings, text ? text : fb_tunings_built_in(),
				       text ? label : "built-in tables",
				       w->rank == 0 ? stderr : NULL);
	free(text);
	err = fb_group_agree(w, err);
	if (err)
		return err;
	fb_environment_cpu(&facts, "");
	model = fb_facts_get(&facts, "cpu.model");
	snprintf(cpu, sizeof(cpu), "%s", model ? model : "");
	fb_facts_free(&facts);
	if (!fb_group_same(w, cpu, sizeof(cpu)))
		*cpu = '\0';
	take_table(choosing, session, FB_MACHINE_CPU, cpu, !built_in);
	if (!gpu)
		return FB_OK;
	fb_fact(session, "gpu.model", "%s", gpu->name);
	if (fb_group_same(w, gpu->name, sizeof(gpu->name)))
		snprintf(gpu_model, sizeof(gpu_model), "%s", gpu->name);
	take_table(choosing, session, FB_MACHINE_GPU, gpu_model, !built_in);
	return FB_OK;
}

void fb_choosing_close(struct fb_choosing *choosing)
{
	fb_tunings_free(&choosing->tunings);
	free(choosing->price);
	*choosing = (struct fb_choosing){.price = NULL};
}

/* A case's choices while they are made. */
struct chooser {
	struct fb_choosing *choosing;
	const struct fb_engine *engine;
	const struct fb_case *key;
	const struct fb_operation *op;
	struct fb_chosen *chosen;
	char *reason;
};

/* Whether the engine can do the case with these names. */
static bool can(const struct chooser *ch, const char *algorithm, const char *protocol)
{
	struct fb_case c = *ch->key;

	c.algorithm = algorithm;
	c.protocol = protocol;
	return ch->engine->ops->can(ch->engine, &c, ch->op, ch->reason);
}

static bool accept(void *arg, const struct fb_tuning_rule *rule)
{
	return can(arg, rule->algorithm, rule->protocol);
}

static struct fb_tuning_key key_of(const struct chooser *ch, const char *algorithm,
				   const char *protocol)
{
	const struct fb_case *c = ch->key;
	const struct fb_settings *settings = ch->engine->session->settings;

	return (struct fb_tuning_key){
		.engine = c->engine, .operation = fb_collective_info(ch->op->collective)->name,
		.transport = c->transport, .algorithm = algorithm, .protocol = protocol,
		.ranks = ch->engine->group->nranks, .nodes = ch->engine->group->nnodes,
		.in_place = c->in_place, .element = (int)fb_datatype_size(c->datatype),
		.channels = (uint32_t)settings->channels,
		.unaligned = fb_tuning_unaligned(ch->op->count * fb_datatype_size(c->datatype)),
		.objective = (enum fb_auto_objective)settings->objective,
	};
}

static const struct fb_tuning *table_of(const struct chooser *ch)
{
	return ch->choosing->tuning[ch->engine->ops->device ? FB_MACHINE_GPU : FB_MACHINE_CPU];
}

/* The price over such links, kept for the next case. NULL: none. */
static const struct fb_price *price_of(struct chooser *ch, const struct fb_algorithm *algorithm,
				       bool direct)
{
	const struct fb_group *w = ch->engine->group;
	struct fb_choosing *choosing = ch->choosing;
	const struct fb_topology topology = {.nranks = w->nranks, .nnodes = w->nnodes,
					     .node_of = w->node_of,
					     .local_rank_of = w->local_rank_of};
	const struct fb_shape shape = {
		.collective = algorithm->collective, .nranks = w->nranks, .topology = &topology,
		.nchannels = algorithm->channels ? algorithm->channels : 1,
	};
	struct fb_price_entry *e;

	for (size_t i = 0; i < choosing->nprices; i++)
		if (choosing->price[i].algorithm == algorithm &&
		    choosing->price[i].direct == direct)
			return choosing->price[i].err ? NULL : &choosing->price[i].price;
	e = realloc(choosing->price, (choosing->nprices + 1) * sizeof(*e));
	if (!e)
		return NULL;
	choosing->price = e;
	e += choosing->nprices++;
	*e = (struct fb_price_entry){.algorithm = algorithm, .direct = direct};
	e->err = fb_price(algorithm, &shape, direct, &e->price);
	return e->err ? NULL : &e->price;
}

/* The cheapest by the model of what was asked for and the engine can do. */
static bool choose_by_model(struct chooser *ch)
{
	const struct fb_case *c = ch->key;
	const struct fb_operation *op = ch->op;
	double bytes = (double)op->count * (double)fb_datatype_size(op->datatype);
	struct fb_chosen *chosen = ch->chosen;
	const struct fb_algorithm *only = NULL;
	double least = (double)INFINITY;
	bool possible = false;
	const char *stages;

	if (!is_auto(c->algorithm))
		only = fb_algorithm_of_text(op->collective, c->algorithm, &stages);
	for (int i = 0; i < fb_algorithm_count; i++) {
		const struct fb_algorithm *a = fb_algorithms[i];

		const char *name = only ? c->algorithm : a->name;

		if (a->collective != op->collective || (only && a != only))
			continue;
		for (size_t p = 0; p < sizeof(protocols) / sizeof(protocols[0]); p++) {
			const struct fb_price *price;
			double us;

			if ((!is_auto(c->protocol) && strcmp(c->protocol, protocols[p])) ||
			    !can(ch, name, protocols[p]))
				continue;
			possible = true;
			price = price_of(ch, a, fb_protocol_is_direct(protocols[p]));
			us = price ? fb_price_us(price, fb_link_cost(ch->engine->ops->device,
								     protocols[p]), bytes)
				   : (double)INFINITY;
			if (us >= least)
				continue;
			least = us;
			chosen->c.algorithm = name;
			chosen->c.protocol = protocols[p];
		}
	}
	if (possible && isinf(least))
		snprintf(ch->reason, FB_REASON_CHARS, "auto: no table for %d ranks, and more than "
			 "%d are priced on like nodes of 8 ranks or fewer only",
			 ch->engine->group->nranks, FB_PRICE_MOST_RANKS);
	return isfinite(least);
}

/*
 * Beside computing, and where nothing was measured there: engine auto takes the copy engines for
 * what only moves data, since they need no multiprocessor. Small messages keep their rule, as
 * starting a copy takes longer than they do, and so does who gave a number of channels.
 */
static bool prefers_copies(const struct chooser *ch, const struct fb_tuning_rule *rule)
{
	enum { LEAST = 256 << 10 };

	return ch->engine->ops->usual && is_auto(ch->key->algorithm) &&
	       ch->engine->session->settings->objective == FB_OVERLAPPED &&
	       !(rule && (rule->key.objective == FB_OVERLAPPED || rule->key.channels)) &&
	       ch->key->bytes >= LEAST &&
	       !fb_collective_info(ch->op->collective)->reduces &&
	       can(ch, "copy/push", "direct");
}

/*
 * The rule for what is asked. An engine that chooses between others has no rules for numbers of
 * channels, which only the usual one of them has: where the user gave a number, the usual one's
 * rules for such numbers go before its own, whose shapes are for as many channels as it likes. Its
 * own rules may be of large sizes only, where the choice matters: outside of these, who was
 * measured nearer is right.
 */
static const struct fb_tuning_rule *find_rule(struct chooser *ch, const struct fb_tuning_key *asked,
					      const char *usual)
{
	const struct fb_tuning *table = table_of(ch);
	uint64_t bytes = ch->key->bytes;
	struct fb_tuning_key other = *asked;
	const struct fb_tuning_rule *rule, *own;

	if (!usual)
		return fb_tuning_find(table, asked, bytes, accept, ch);
	other.engine = usual;
	rule = fb_tuning_find(table, &other, bytes, accept, ch);
	if (rule && rule->key.channels)
		return rule;
	own = fb_tuning_find(table, asked, bytes, accept, ch);
	if (own && rule && own->key.objective == rule->key.objective &&
	    !fb_tuning_spans(table, asked, bytes) &&
	    fb_tuning_apart(rule, bytes) < fb_tuning_apart(own, bytes))
		return rule;
	/* What was measured for the objective goes before what was measured for another. */
	if (own && rule && own->key.objective != rule->key.objective)
		return rule->key.objective == asked->objective ? rule : own;
	return own ? own : rule;
}

/* Replaces auto by names. */
static bool choose_names(struct chooser *ch)
{
	const struct fb_case *c = ch->key;
	struct fb_chosen *chosen = ch->chosen;
	const char *usual = ch->engine->ops->usual;
	bool planned = ch->engine->ops->planned || usual;
	/* Engines without plans have one protocol, whatever they say. */
	struct fb_tuning_key asked = key_of(ch, c->algorithm, planned ? c->protocol : automatic);
	const struct fb_tuning_rule *rule = find_rule(ch, &asked, usual);

	chosen->named = true;
	chosen->by = model_name;
	if (prefers_copies(ch, rule)) {
		chosen->by = "objective";
		chosen->c.algorithm = "copy/push";
		chosen->c.protocol = "direct";
		return true;
	}
	if (!rule && planned)
		return choose_by_model(ch);
	chosen->c.algorithm = rule ? rule->algorithm : "push";
	if (!rule)
		return can(ch, chosen->c.algorithm, chosen->c.protocol);
	chosen->c.protocol = rule->protocol;
	chosen->by = rule->table;
	chosen->tuned = rule->tuned;
	return true;
}

bool fb_choose(struct fb_choosing *choosing, const struct fb_engine *engine,
	       const struct fb_case *c, struct fb_operation *op, struct fb_chosen *chosen,
	       char reason[FB_REASON_CHARS])
{
	struct chooser ch = {choosing, engine, c, op, chosen, reason};
	const struct fb_tuning_rule *rule;
	struct fb_tuning_key asked;

	*chosen = (struct fb_chosen){.c = *c};
	reason[0] = '\0';
	if (is_auto(c->algorithm) || is_auto(c->protocol)) {
		if (!choose_names(&ch))
			return false;
	} else if (!can(&ch, c->algorithm, c->protocol)) {
		return false;
	}
	if (!chosen->by || chosen->by == model_name) {
		asked = key_of(&ch, chosen->c.algorithm, chosen->c.protocol);
		rule = fb_tuning_find(table_of(&ch), &asked, c->bytes, NULL, NULL);
		if (rule)
			chosen->tuned = rule->tuned;
		if (rule && !chosen->by)
			chosen->by = rule->table;
	}
	op->tuned = chosen->tuned;
	reason[0] = '\0'; /* of candidates that were left out */
	return true;
}

void fb_chosen_path(const struct fb_chosen *chosen, char path[FB_PATH_CHARS])
{
	/* All of it but for a path beyond what any transport says. */
	enum { OWN_CHARS = FB_PATH_CHARS - 128 };
	char own[FB_PATH_CHARS];

	if (!chosen->by)
		return;
	snprintf(own, sizeof(own), "%s", path);
	if (chosen->named)
		snprintf(path, FB_PATH_CHARS, "%s %s by %s: %.*s", chosen->c.algorithm,
			 chosen->c.protocol, chosen->by, OWN_CHARS, own);
	else
		snprintf(path, FB_PATH_CHARS, "shape by %s: %.*s", chosen->by, OWN_CHARS, own);
}
