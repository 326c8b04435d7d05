/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects by tuning table or by cost model; see selection.h. */
#include "collectives/selection.h"

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

/* Finds the table of a kind for the ranks' model. A table that the user named need not match. */
static void take_table(struct fb_selector *selector, const struct fb_session *session,
		       enum fb_machine kind, const char *model, bool named)
{
	const struct fb_tuning *found = NULL;
	char key[32];

	if (model && *model)
		found = fb_tunings_for(&selector->tunings, kind, model);
	if (!found && named) {
		found = fb_tunings_for(&selector->tunings, kind, NULL);
		if (found && model && session->world->rank == 0)
			fb_warn("--tuning: table %s is for %s, this is %s", found->name,
				found->model, *model ? model : "several models");
	}
	selector->tuning[kind] = found;
	snprintf(key, sizeof(key), "tuning.%s", fb_machine_names[kind]);
	if (found)
		fb_launch_fact(session, key, "%s for %s%s", found->name, found->model,
			    named ? "" : ", built in");
}

int fb_selector_open(struct fb_selector *selector, const struct fb_session *session,
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
		err = fb_tunings_parse(&selector->tunings, text ? text : fb_tunings_built_in(),
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
	take_table(selector, session, FB_MACHINE_CPU, cpu, !built_in);
	if (!gpu)
		return FB_OK;
	fb_fact(session, "gpu.model", "%s", gpu->name);
	if (fb_group_same(w, gpu->name, sizeof(gpu->name)))
		snprintf(gpu_model, sizeof(gpu_model), "%s", gpu->name);
	take_table(selector, session, FB_MACHINE_GPU, gpu_model, !built_in);
	return FB_OK;
}

void fb_selector_close(struct fb_selector *selector)
{
	fb_tunings_free(&selector->tunings);
	free(selector->price);
	*selector = (struct fb_selector){.price = NULL};
}

/* The arguments of fb_select. */
struct chooser {
	struct fb_selector *selector;
	const struct fb_engine *engine;
	const struct fb_case *key;
	const struct fb_operation *op;
	struct fb_selection *selection;
	char *reason;
	bool any; /* accept rules that the engine cannot execute, too */
};

/* Returns whether the engine can run the case with these names. */
static bool can(const struct chooser *ch, const char *algorithm, const char *protocol)
{
	struct fb_case c = *ch->key;

	c.algorithm = algorithm;
	c.protocol = protocol;
	return ch->engine->ops->can(ch->engine, &c, ch->op, ch->reason);
}

static bool accept(void *arg, const struct fb_tuning_rule *rule)
{
	const struct chooser *ch = arg;

	return ch->any || can(ch, rule->algorithm, rule->protocol);
}

/* What auto is to be best at: a collective beside which nothing computes gains by speed alone. */
static enum fb_auto_objective objective_of(const struct chooser *ch)
{
	return ch->key->alone ? FB_ALONE
			      : (enum fb_auto_objective)ch->engine->session->settings->objective;
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
		.objective = objective_of(ch),
	};
}

static const struct fb_tuning *table_of(const struct chooser *ch)
{
	return ch->selector->tuning[ch->engine->ops->device ? FB_MACHINE_GPU : FB_MACHINE_CPU];
}

/* Returns the algorithm's price and keeps it for the next case. NULL: it has none. */
static const struct fb_price *price_of(struct chooser *ch, const struct fb_algorithm *algorithm,
				       bool direct)
{
	const struct fb_group *w = ch->engine->group;
	struct fb_selector *selector = ch->selector;
	const struct fb_topology topology = {.nranks = w->nranks, .nnodes = w->nnodes,
					     .node_of = w->node_of,
					     .local_rank_of = w->local_rank_of};
	const struct fb_shape shape = {
		.collective = algorithm->collective, .nranks = w->nranks, .topology = &topology,
		.nchannels = algorithm->channels ? algorithm->channels : 1,
	};
	struct fb_price_entry *e;

	for (size_t i = 0; i < selector->nprices; i++)
		if (selector->price[i].algorithm == algorithm &&
		    selector->price[i].direct == direct)
			return selector->price[i].err ? NULL : &selector->price[i].price;
	e = realloc(selector->price, (selector->nprices + 1) * sizeof(*e));
	if (!e)
		return NULL;
	selector->price = e;
	e += selector->nprices++;
	*e = (struct fb_price_entry){.algorithm = algorithm, .direct = direct};
	e->err = fb_price(algorithm, &shape, direct, &e->price);
	return e->err ? NULL : &e->price;
}

/* Selects the cheapest candidate by the cost model among those that the engine can run. */
static bool choose_by_model(struct chooser *ch)
{
	const struct fb_case *c = ch->key;
	const struct fb_operation *op = ch->op;
	double bytes = (double)op->count * (double)fb_datatype_size(op->datatype);
	struct fb_selection *selection = ch->selection;
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
			selection->c.algorithm = name;
			selection->c.protocol = protocols[p];
		}
	}
	if (possible && isinf(least))
		snprintf(ch->reason, FB_REASON_CHARS, "auto: no table for %d ranks, and more than "
			 "%d are priced on like nodes of 8 ranks or fewer only",
			 ch->engine->group->nranks, FB_PRICE_MOST_RANKS);
	return isfinite(least);
}

/*
 * Returns whether engine auto takes the copy engines: for collectives that only move data, beside
 * computing (objective overlapped), if nothing was measured for that objective. Copy engines need
 * no multiprocessor. Small messages keep their rule, because starting a copy takes longer than
 * moving them. A user who gave a number of channels keeps the rule too.
 */
static bool prefers_copies(const struct chooser *ch, const struct fb_tuning_rule *rule)
{
	enum { LEAST = 256 << 10 };

	return ch->engine->ops->usual && is_auto(ch->key->algorithm) &&
	       objective_of(ch) == FB_OVERLAPPED &&
	       !(rule && (rule->key.objective == FB_OVERLAPPED || rule->key.channels)) &&
	       ch->key->bytes >= LEAST &&
	       !fb_collective_info(ch->op->collective)->reduces &&
	       can(ch, "copy/push", "direct");
}

/*
 * Finds the rule for a key. Engine auto has no rules for a number of channels, but its usual engine
 * has. If the user gave a number, those rules go before the rules of auto, which are for any
 * number. The rules of auto may cover large sizes only, where the selection matters. For a size
 * that they do not cover, the rule whose measured size is nearer is taken.
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
	/* A rule that was measured for this objective goes before a rule for another one. */
	if (own && rule && own->key.objective != rule->key.objective)
		return rule->key.objective == asked->objective ? rule : own;
	return own ? own : rule;
}

/*
 * Finds a rule for unequal blocks, if none was measured with such: the rule of the equal collective
 * for that many bytes. If the algorithm of that rule has no form for unequal blocks, there is no
 * rule: the next one in the table may be for quite another size.
 */
static const struct fb_tuning_rule *find_equal_rule(struct chooser *ch, struct fb_tuning_key asked,
						    const char *usual)
{
	const struct fb_collective_info *info = fb_collective_info(ch->op->collective);
	const struct fb_tuning_rule *rule;

	if (!info->unequal)
		return NULL;
	asked.operation = fb_collective_info(info->equal)->name;
	ch->any = true;
	rule = find_rule(ch, &asked, usual);
	ch->any = false;
	return rule && can(ch, rule->algorithm, rule->protocol) ? rule : NULL;
}

/* Replaces auto by names. */
static bool choose_names(struct chooser *ch)
{
	const struct fb_case *c = ch->key;
	struct fb_selection *selection = ch->selection;
	const char *usual = ch->engine->ops->usual;
	bool planned = ch->engine->ops->planned || usual;
	/* Engines without plans have one protocol, whatever they say. */
	struct fb_tuning_key asked = key_of(ch, c->algorithm, planned ? c->protocol : automatic);
	const struct fb_tuning_rule *rule = find_rule(ch, &asked, usual);

	if (!rule)
		rule = find_equal_rule(ch, asked, usual);
	selection->named = true;
	selection->by = model_name;
	if (prefers_copies(ch, rule)) {
		selection->by = "objective";
		selection->c.algorithm = "copy/push";
		selection->c.protocol = "direct";
		return true;
	}
	if (!rule && planned)
		return choose_by_model(ch);
	selection->c.algorithm = rule ? rule->algorithm : "push";
	if (!rule)
		return can(ch, selection->c.algorithm, selection->c.protocol);
	selection->c.protocol = rule->protocol;
	selection->by = rule->table;
	selection->tuned = rule->tuned;
	return true;
}

bool fb_select(struct fb_selector *selector, const struct fb_engine *engine,
	       const struct fb_case *c, struct fb_operation *op, struct fb_selection *selection,
	       char reason[FB_REASON_CHARS])
{
	struct chooser ch = {selector, engine, c, op, selection, reason, false};
	const struct fb_tuning_rule *rule;
	struct fb_tuning_key asked;

	*selection = (struct fb_selection){.c = *c};
	reason[0] = '\0';
	if (is_auto(c->algorithm) || is_auto(c->protocol)) {
		if (!choose_names(&ch))
			return false;
	} else if (!can(&ch, c->algorithm, c->protocol)) {
		return false;
	}
	if (!selection->by || selection->by == model_name) {
		asked = key_of(&ch, selection->c.algorithm, selection->c.protocol);
		rule = fb_tuning_find(table_of(&ch), &asked, c->bytes, NULL, NULL);
		if (rule)
			selection->tuned = rule->tuned;
		if (rule && !selection->by)
			selection->by = rule->table;
	}
	op->tuned = selection->tuned;
	reason[0] = '\0'; /* it may hold the reason against a candidate */
	return true;
}

void fb_selection_path(const struct fb_selection *selection, char path[FB_PATH_CHARS])
{
	/* Every transport's text fits in it. */
	enum { OWN_CHARS = FB_PATH_CHARS - 128 };
	char own[FB_PATH_CHARS];

	if (!selection->by)
		return;
	snprintf(own, sizeof(own), "%s", path);
	if (selection->named)
		snprintf(path, FB_PATH_CHARS, "%s %s by %s: %.*s", selection->c.algorithm,
			 selection->c.protocol, selection->by, OWN_CHARS, own);
	else
		snprintf(path, FB_PATH_CHARS, "shape by %s: %.*s", selection->by, OWN_CHARS, own);
}
