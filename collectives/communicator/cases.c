/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of the program communicator; see state.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/communicator/state.h"
#include "common/base/error.h"
#include "common/option/option.h"
#include "common/record/variant.h"
#include "common/transport/keys.h"

static const struct fb_life *const lists[] = {fb_lives_mpi, fb_lives_own, fb_lives_nccl,
					      fb_lives_nccl_process};
enum { LISTS = sizeof(lists) / sizeof(lists[0]), MOST_OPERATIONS = 40 };

/* Reads "none" or "2x1x4"; false: the text is neither. */
static bool parse_grid(const char *text, struct fb_life_grid *grid)
{
	char rest;

	*grid = (struct fb_life_grid){{1, 1, 1}};
	if (!strcmp(text, "none"))
		return true;
	return sscanf(text, "%dx%dx%d%c", &grid->size[0], &grid->size[1], &grid->size[2],
		      &rest) == 3 &&
	       grid->size[0] > 0 && grid->size[1] > 0 && grid->size[2] > 0;
}

/* Ranks of a tensor parallel group are neighbours, replicas are farthest apart. */
int fb_life_grid_colour(const struct fb_life_grid *grid, int part, int rank)
{
	const int *size = grid->size;
	int inner = 1;

	if (size[0] * size[1] * size[2] == 1)
		return 0;
	for (int p = 0; p < part; p++)
		inner *= size[p];
	return rank / (inner * size[part]) * inner + rank % inner;
}

/* This project's engines share one list of lives; mpi and nccl have lists of their own. */
static bool is_of(const struct fb_life *life, const char *engine)
{
	return life->engine ? !strcmp(life->engine, engine)
			    : strcmp(engine, "mpi") && strncmp(engine, "nccl", 4);
}

const struct fb_life *fb_life_of(const struct fb_case *c)
{
	for (int l = 0; l < LISTS; l++)
		for (const struct fb_life *life = lists[l]; life->operation; life++)
			if (is_of(life, c->engine) && !strcmp(life->operation, c->operation))
				return life;
	return NULL;
}

/* The value of a key of `variant`, or NULL. */
static const char *value_of(const struct fb_case *c, const char *key)
{
	const char *at = c->variant;
	size_t n = strlen(key);

	while (at && (strncmp(at, key, n) || at[n] != '=')) {
		at = strchr(at, ';');
		at += at ? 1 : 0;
	}
	return at ? at + n + 1 : NULL;
}

void fb_life_keys(const struct fb_case *c, int *communicators, struct fb_life_grid *grid)
{
	const char *count = value_of(c, "communicators"), *shape = value_of(c, "grid");
	char text[64];

	*communicators = count ? atoi(count) : 1;
	snprintf(text, sizeof(text), "%.*s", shape ? (int)strcspn(shape, ";") : 0,
		 shape ? shape : "");
	if (!shape || !parse_grid(text, grid))
		(void)parse_grid("none", grid);
}

/* For each communicator of a process with one GPU; measured on two and four H200. */
static const double nccl_s = 0.6;

void fb_life_seconds(void *state, const struct fb_case *c, double *sample, double *other)
{
	struct fb_life_grid grid;
	int count;

	(void)state;
	fb_life_keys(c, &count, &grid);
	if (fb_life_of(c)->anew && !strcmp(c->engine, "nccl"))
		*sample = *other = nccl_s * count;
}

struct fb_operation fb_life_operation(const struct fb_case *c)
{
	return (struct fb_operation){
		.collective = FB_ALL_REDUCE, .datatype = FB_F32, .redop = FB_SUM,
		.count = c->bytes / sizeof(float),
	};
}

static size_t engine_index(const char *name)
{
	size_t i = 0;

	while (strcmp(fb_engines[i]->name, name))
		i++;
	return i;
}

static bool has_functions(const struct fb_life_state *s, const struct fb_life *life, char *reason)
{
	const void *function[2] = {NULL, NULL};
	char version[FB_NCCL_NAME_CHARS];

	for (int i = 0; i < 2 && life->named; i++) {
		memcpy(&function[i], (const char *)&s->nccl + life->needs[i], sizeof(void *));
		if (function[i])
			continue;
		snprintf(reason, FB_REASON_CHARS, "NCCL %s has no %s (%s has)",
			 fb_nccl_version_text(&s->nccl, version), life->named, life->since);
		return false;
	}
	return true;
}

/* Whether there are the ranks for it. */
static bool has_members(const struct fb_life_state *s, const struct fb_life *life,
			const struct fb_life_grid *grid, char *reason)
{
	const int *size = grid->size;
	int product = size[0] * size[1] * size[2];

	if (life->members != FB_LIFE_ALL && s->world->nranks < 2)
		snprintf(reason, FB_REASON_CHARS, "one rank less needs at least two ranks");
	else if (product > 1 && product != s->world->nranks)
		snprintf(reason, FB_REASON_CHARS, "grid %dx%dx%d needs %d ranks, not %d",
			 size[0], size[1], size[2], product, s->world->nranks);
	else
		return true;
	return false;
}

bool fb_life_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_life_state *s = arg;
	const struct fb_life *life = fb_life_of(c);
	struct fb_collectives *engine = &s->engine[engine_index(c->engine)];
	struct fb_operation op = fb_life_operation(c);
	struct fb_life_grid grid;
	int count;

	fb_life_keys(c, &count, &grid);
	if (!has_members(s, life, &grid, reason))
		return false;
	if (s->options->misuse >= FB_MISUSE_REGISTER && !strcmp(c->registration, "none")) {
		snprintf(reason, FB_REASON_CHARS, "nothing is registered in this case, so no rank "
			 "can register it wrongly");
		return false;
	}
	if (c->bytes < sizeof(float)) {
		snprintf(reason, FB_REASON_CHARS, "a call needs at least one f32 element");
		return false;
	}
	if (!strncmp(c->engine, "nccl", 4) && *s->no_nccl) {
		snprintf(reason, FB_REASON_CHARS, "%s", s->no_nccl);
		return false;
	}
	if (!strcmp(c->engine, "mpi"))
		return true;
	if (!strcmp(c->engine, "nccl") && !has_functions(s, life, reason))
		return false;
	if (!strcmp(c->registration, "window-copy")) {
		snprintf(reason, FB_REASON_CHARS, "NCCL's copy engines cannot do all_reduce");
		return false;
	}
	return fb_collectives_can(engine, c, &op, reason);
}

/* "all" engines are those that this machine has; one that is named gets its rows. */
static bool is_here(const struct fb_life_state *s, const char *name)
{
	size_t e = engine_index(name);

	if (strcmp(s->settings->engine, "all"))
		return true;
	if (fb_engines[e]->members && !s->settings->gpus_per_process)
		return false;
	return !fb_engines[e]->device || s->engine[e].has_gpu;
}

/* fb_axes_adjust_fn */
static bool adjust(void *arg, struct fb_case *c)
{
	struct fb_life_state *s = arg;
	const struct fb_life *life = s->adding;
	const struct fb_engine_ops *ops = fb_engines[engine_index(c->engine)];

	if (!is_of(life, c->engine) || !is_here(s, c->engine))
		return false;
	c->launch = ops->device ? strcmp(life->operation, "capture") ? "stream" : "graph"
				: "blocking";
	c->memory = ops->device ? "device" : "host";
	if (ops->planned) {
		if (!strcmp(c->algorithm, "library"))
			return false;
		if (!strcmp(s->settings->transport, "auto") && ops->device)
			c->transport = "p2p";
	} else {
		fb_engine_options_apply(&s->engine_options, false, c);
	}
	if (!strcmp(c->engine, "nccl")) {
		/* The nearest thing, where another life was meant. */
		if (!life->registers)
			c->registration = "none";
		else if (!strcmp(life->operation, "register") && !strcmp(c->registration, "none"))
			c->registration = "registered";
		/* Memory of the library's allocator suits every kind of registration. */
		if (s->nccl.MemAlloc)
			c->memory = "nccl";
	} else {
		c->registration = "none";
	}
	if (ops->members) {
		c->launch = life->operation;
		c->memory = "nccl";
		fb_members_key(s->settings, c);
	}
	fb_transport_keys(c, s->settings, false);
	return true;
}

/* The cases of one life, for each number of communicators and each grid. */
static int expand_life(struct fb_run *run, struct fb_life_state *s,
		       const struct fb_axes_accepted *axes, FILE *errors)
{
	const char *counts = s->options->communicators, *grids;
	char count[16], grid[32], key[64];
	struct fb_life_grid parsed;
	int err = FB_OK;

	while (!err && fb_option_next_item(&counts, count, sizeof(count)) == 1) {
		if (atoi(count) < 1 || atoi(count) > FB_LIFE_MOST_COMMUNICATORS)
			return fb_option_reject(errors, "communicators", count,
						"numbers from 1 to 1024");
		grids = s->options->grid;
		while (!err && fb_option_next_item(&grids, grid, sizeof(grid)) == 1) {
			struct fb_case base = {.operation = s->adding->operation,
					       .registration = "none"};

			if (!parse_grid(grid, &parsed))
				return fb_option_reject(errors, "grid", grid,
							"none or TPxPPxDP, as 2x1x4");
			if (strcmp(grid, "none") && !s->adding->grid)
				continue;
			snprintf(key, sizeof(key), "communicators=%d", atoi(count));
			fb_variant_put(&base, key);
			snprintf(key, sizeof(key), "grid=%s", grid);
			if (strcmp(grid, "none"))
				fb_variant_put(&base, key);
			err = fb_engine_options_expand(run, &base, axes, adjust, s, NULL,
						       &s->engine_options);
		}
	}
	return err;
}

/* Unknown names of a list are an error. */
static int check_names(const char *option, const char *list, const char *const *names, FILE *errors)
{
	struct fb_axis axis = {.count = 0};
	int err = fb_axis_open(&axis, option, list, names, errors);

	fb_axis_close(&axis);
	return err;
}

static int check_operations(const struct fb_life_state *s, FILE *errors)
{
	const char *names[MOST_OPERATIONS] = {NULL};
	int n = 0;

	for (int l = 0; l < LISTS; l++)
		for (const struct fb_life *life = lists[l]; life->operation; life++) {
			bool known = false;

			for (int i = 0; i < n; i++)
				known |= !strcmp(names[i], life->operation);
			if (!known && n + 1 < MOST_OPERATIONS)
				names[n++] = life->operation;
		}
	return check_names("operation", s->options->operation, names, errors);
}

static bool is_asked(const struct fb_life_state *s, const struct fb_life *life)
{
	bool any = false;

	for (int i = 0; fb_engines[i]; i++)
		any |= is_of(life, fb_engines[i]->name) && is_here(s, fb_engines[i]->name) &&
		       fb_option_names(s->settings->engine, fb_engines[i]->name);
	return any && fb_option_names(s->options->operation, life->operation);
}

int fb_life_expand(struct fb_run *run, void *arg)
{
	static const char *const protocols[] = {"simple", "ll", "ll128", "direct", "auto", NULL};
	static const char *const transports[] = {"shm", "tcp", "shm+tcp", "rdma", "shm+rdma",
						 "p2p", "p2p+shm", "p2p+tcp", "p2p+rdma", NULL};
	struct fb_life_state *s = arg;
	FILE *errors = s->world->rank == 0 ? stderr : NULL;
	const char **names = calloc((size_t)fb_algorithm_count + 2, sizeof(*names));
	const char *engines[FB_LIFE_MOST_ENGINES + 1] = {NULL};
	struct fb_axes_accepted axes = {.engines = engines,
					.algorithms = names,
					.protocols = protocols,
					.transports = transports,
					.has_redop = true};
	int n = 0, err = fb_group_agree(s->world, names ? FB_OK : FB_ENOMEM);
	bool any = false;

	if (err || !names)
		goto free_names;
	for (int i = 0; i < fb_algorithm_count; i++)
		if (fb_algorithms[i]->collective == FB_ALL_REDUCE)
			names[n++] = fb_algorithms[i]->name;
	names[n] = "auto";
	for (int i = 0; fb_engines[i]; i++)
		engines[i] = fb_engines[i]->name;
	err = check_names("engine", s->settings->engine, engines, errors);
	if (!err)
		err = check_operations(s, errors);
	for (int l = 0; l < LISTS; l++)
		for (s->adding = lists[l]; s->adding->operation && !err; s->adding++)
			if (is_asked(s, s->adding)) {
				any = true;
				err = expand_life(run, s, &axes, errors);
			}
	if (!err && !any)
		err = fb_option_reject(errors, "operation", s->options->operation,
				       "one that an engine of --engine has");
free_names:
	free(names);
	return err;
}
