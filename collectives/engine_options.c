/* SPDX-License-Identifier: BSD-3-Clause */
/* Expands and applies the options of engines; see engine_options.h. */
#include "collectives/engine_options.h"

#include <stdio.h>
#include <string.h>

#include "collectives/program.h"
#include "common/library/mpi_gpu.h"
#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "common/record/key.h"
#include "common/record/variant.h"

static const char library[] = "library", automatic[] = "auto";
static const char *const directions[] = {"push", "pull", "auto", NULL};

const char *fb_engine_list(const struct fb_settings *s, const struct fb_group *world, bool gpu)
{
	char ignored[FB_REASON_CHARS];

	if (strcmp(s->engine, FB_USUAL_ENGINES))
		return s->engine;
	if (!gpu || strcmp(s->algorithm, "all") || strcmp(s->protocol, "all"))
		return "all";
	return fb_mpi_takes_gpu(world, ignored, sizeof(ignored)) ? "auto,nccl,mpi" : "auto,nccl";
}

/* The next index whose bit is set, from `i` on; the end of the names after the last. */
static int next_bit(uint64_t bits, int i)
{
	while (i < 64 && !(bits >> i & 1))
		i++;
	return i;
}

static int expand_polls(struct fb_run *run, const struct fb_case *base,
			const struct fb_axes_accepted *axes, fb_axes_adjust_fn adjust, void *arg,
			const struct fb_nccl_ctas_lists *lists, struct fb_engine_options *options)
{
	int err = FB_OK;

	for (int i = next_bit(lists->poll, 0); i < 64 && !err; i = next_bit(lists->poll, i + 1)) {
		options->ctas.poll = i;
		err = fb_axes_expand(run, base, axes, adjust, arg);
	}
	return err;
}

/* Calls fb_axes_expand once for each combination of the lists. */
static int expand_ctas(struct fb_run *run, const struct fb_case *base,
		       const struct fb_axes_accepted *axes, fb_axes_adjust_fn adjust, void *arg,
		       const struct fb_nccl_ctas_lists *lists, struct fb_engine_options *options)
{
	size_t count[2] = {lists->min.count, lists->max.count}, at[2] = {0};
	int err = FB_OK;

	do {
		options->ctas.min = (int)lists->min.value[at[0]];
		options->ctas.max = (int)lists->max.value[at[1]];
		for (int p = next_bit(lists->policy, 0); p < 64 && !err;
		     p = next_bit(lists->policy, p + 1))
			for (int c = next_bit(lists->cluster, 0); c < 64 && !err;
			     c = next_bit(lists->cluster, c + 1)) {
				options->ctas.policy = p;
				options->ctas.cluster = c;
				err = expand_polls(run, base, axes, adjust, arg, lists, options);
			}
	} while (!err && fb_product_next(at, count, 2));
	return err;
}

/* Returns the name of static storage, as the axis is closed before the cases run. */
static const char *name_of(const struct fb_axis *axis, size_t i, const char *const *accepted)
{
	return accepted[axis->index[i]];
}

int fb_engine_options_expand(struct fb_run *run, const struct fb_case *base,
			     const struct fb_axes_accepted *axes, fb_axes_adjust_fn adjust,
			     void *arg, const struct fb_nccl_ctas_lists *ctas,
			     struct fb_engine_options *options)
{
	const struct fb_settings *s = fb_run_settings(run);
	FILE *errors = fb_run_world(run)->rank == 0 ? stderr : NULL;
	struct fb_nccl_algo_proto nccl[FB_NCCL_MOST_ALGO_PROTOS];
	struct fb_axis registration = {0}, direction = {0};
	size_t count[3], at[3] = {0};
	int n = fb_nccl_algo_proto_list(s->nccl_force, nccl, errors), err = n < 0 ? n : FB_OK;

	if (!err)
		err = fb_axis_open(&registration, "registration", s->registration,
				   fb_nccl_registrations, errors);
	if (!err)
		err = fb_axis_open(&direction, "copy-direction", s->copy_direction, directions,
				   errors);
	if (err)
		goto close_axes;
	count[0] = (size_t)n;
	count[1] = registration.count;
	count[2] = direction.count;
	do {
		*options = (struct fb_engine_options){
			.nccl = nccl[at[0]],
			.registration = name_of(&registration, at[1], fb_nccl_registrations),
			.direction = name_of(&direction, at[2], directions),
		};
		err = ctas ? expand_ctas(run, base, axes, adjust, arg, ctas, options)
			   : fb_axes_expand(run, base, axes, adjust, arg);
	} while (!err && fb_product_next(at, count, 3));
close_axes:
	fb_axis_close(&registration);
	fb_axis_close(&direction);
	return err;
}

static void put_ctas(const struct fb_nccl_ctas *ctas, struct fb_case *c)
{
	char keys[128] = "";
	const struct {
		const char *name;
		int value;
		const char *text; /* NULL: the number */
	} key[] = {
		{"nccl_cluster", ctas->cluster, fb_nccl_clusters[ctas->cluster]},
		{"nccl_cta_policy", ctas->policy, fb_nccl_policies[ctas->policy]},
		{"nccl_max_ctas", ctas->max, NULL}, {"nccl_min_ctas", ctas->min, NULL},
		{"nccl_poll", ctas->poll, fb_nccl_polls[ctas->poll]},
	};

	/* If `own` has another type, the program has none of the options, and all are 0. */
	if (ctas->min || ctas->max || ctas->policy || ctas->cluster || ctas->poll)
		FB_OWN(struct fb_collective_own, c)->ctas = *ctas;
	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		if (!key[i].value)
			continue;
		if (key[i].text)
			snprintf(keys, sizeof(keys), "%s=%s", key[i].name, key[i].text);
		else
			snprintf(keys, sizeof(keys), "%s=%d", key[i].name, key[i].value);
		fb_variant_put(c, keys);
	}
}

void fb_engine_options_apply(const struct fb_engine_options *options, bool any_memory,
			     struct fb_case *c)
{
	int collective = fb_collective_parse(c->operation);
	bool one_shot;

	if (!strcmp(c->engine, automatic)) {
		c->algorithm = c->protocol = automatic;
		return;
	}
	one_shot = !strcmp(c->algorithm, "one_shot");
	c->algorithm = c->protocol = c->transport = library;
	if (!strcmp(c->engine, "nccl")) {
		c->algorithm = options->nccl.algorithm;
		c->protocol = options->nccl.protocol;
		c->registration = options->registration;
		put_ctas(&options->ctas, c);
		if (any_memory && strcmp(c->registration, fb_nccl_registrations[FB_NCCL_NONE]))
			c->memory = "nccl";
	}
	if (!strcmp(c->engine, "nvshmem") && any_memory)
		c->memory = "symmetric";
	if (!strcmp(c->engine, "nccl-process"))
		c->registration = options->registration;
	if (!strcmp(c->engine, "copy")) {
		c->algorithm = options->direction;
		c->protocol = "direct";
		c->transport = strcmp(c->memory, "pinned") ? "p2p" : "shm";
	}
	if (!strcmp(c->engine, "multimem")) {
		/* Only all_reduce has these two; a step (collective < 0) may contain one. */
		c->algorithm = "direct";
		if (collective < 0 || collective == FB_ALL_REDUCE)
			c->algorithm = one_shot ? "one_shot" : "two_shot";
		c->protocol = "direct";
		c->transport = "p2p";
		if (any_memory)
			c->memory = "vmm";
	}
}
