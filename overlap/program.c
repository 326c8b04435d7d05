/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make the training step a program of the harness; see program.h. */
#include "overlap/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/run/run.h" /* fb_run.program, which has the values of the options */

static void close_program(void *arg)
{
	struct fb_ddp_state *s = arg;

	fb_gpu_compute_close(s->gpu);
	fb_collective_close(s->collective);
	free(s->work);
	free(s);
}

static int open_program(struct fb_run *run, void **result)
{
	const struct fb_ddp_settings *own = run->program->option_values;
	struct fb_ddp_state *s = calloc(1, sizeof(*s));
	int err = fb_group_agree(fb_run_world(run), s ? FB_OK : FB_ENOMEM);

	if (err || !s) {
		free(s);
		return fb_error(err, "out of memory");
	}
	s->run = run;
	s->own = own;
	s->model.layers = own->layers;
	err = fb_model_parse(&s->model, own->tensors);
	if (!err)
		err = fb_collective_open(fb_run_session(run), FB_ALL_REDUCE, NULL, &s->collective);
	if (err) {
		free(s);
		return err;
	}
	s->collective->has_steps = true;
	*result = s;
	return FB_OK;
}

/* fb_gpu_step_communicate_fn */
static int communicate(void *instance, size_t bucket, void *stream)
{
	const struct fb_ddp_instance *i = instance;
	const struct fb_collective_instance *r = &i->reductions[bucket].instance;

	return r->ops->enqueue(r->request, stream);
}

/* Collective. */
static int open_step(struct fb_ddp_instance *i)
{
	const struct fb_collective_state *c = i->state->collective;
	const struct fb_operation *op = &i->whole.op;
	const struct fb_gpu_step_config config = {
		.gpu = &c->gpu, .session = c->session, .compute = i->state->gpu,
		.graph = !strcmp(i->key->launch, "graph"), .high = !i->state->own->priority,
		.gradients = &i->gradients, .element_bytes = fb_datatype_size(op->datatype),
		.hidden = i->state->own->hidden,
		.in = fb_operation_in(op, c->world->rank),
		.out = fb_operation_out(op, c->world->rank),
		.communicate = communicate, .arg = i,
	};

	if (!i->device)
		return FB_OK;
	return fb_group_agree(c->world, fb_gpu_step_open(&i->step, &config));
}

/* Collective: a request for each bucket. */
static int prepare(struct fb_ddp_instance *i)
{
	struct fb_collective_state *c = i->state->collective;
	struct fb_engine *engine = c->engines[fb_engine_index(i->key->engine)];
	char reason[FB_REASON_CHARS];
	int err = FB_OK;

	if (i->schedule == FB_COMPUTE)
		return FB_OK;
	for (size_t b = 0; b < i->gradients.nbuckets && !err; b++) {
		struct fb_collective_instance *r = &i->reductions[b].instance;

		/* It could before (fb_ddp_can), and the answer does not change. */
		(void)fb_instance_choose(r, reason);
		err = r->ops->prepare(engine, &r->chosen.c, &r->op, &r->request);
		i->prepared += !err;
	}
	return err;
}

static void tear_down(void *instance)
{
	struct fb_ddp_instance *i = instance;

	fb_gpu_step_close(i->step);
	while (i->prepared) {
		struct fb_collective_instance *r = &i->reductions[--i->prepared].instance;

		r->ops->release(r->request);
	}
	fb_host_compute_close(&i->compute);
	fb_ddp_free(i);
	free(i);
}

static int set_up(void *state, const struct fb_case *c, void **result)
{
	struct fb_ddp_state *s = state;
	struct fb_collective_state *collective = s->collective;
	struct fb_ddp_instance *i = calloc(1, sizeof(*i));
	int err = i ? fb_ddp_fill(i, s, c) : FB_ENOMEM;

	err = fb_group_agree(collective->world, err);
	if (err || !i)
		goto free_instance;
	err = fb_collective_segment(collective, c,
				    collective->part_bytes[fb_store_of(collective, c)]);
	if (!err)
		err = fb_ddp_open_work(i);
	if (!err)
		err = prepare(i);
	if (!err)
		err = open_step(i);
	if (err)
		goto free_instance;
	*result = i;
	return FB_OK;
free_instance:
	if (i)
		tear_down(i);
	return err;
}

static int prime(void *instance)
{
	struct fb_ddp_instance *i = instance;

	i->fresh = true;
	fb_data_renew(&i->whole.data);
	return fb_buffers_prime(&i->whole.op, &i->whole.data, i->state->collective->world->rank);
}

static int ready(void *instance, int calls)
{
	struct fb_ddp_instance *i = instance;
	int err = fb_ddp_pack(i, i->schedule);

	return err || !i->device ? err : fb_gpu_step_ready(i->step, i->schedule, calls);
}

static int run(void *instance, int calls)
{
	struct fb_ddp_instance *i = instance;

	return fb_ddp_step(i, i->schedule, calls);
}

/* Backward alone leaves a rank's own gradients in the buckets, all else their reduction. */
static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	const struct fb_ddp_instance *i = instance;
	const struct fb_operation *op = &i->whole.op;
	int rank = i->state->collective->world->rank;

	if (fb_schedule_communicates(i->schedule))
		return fb_buffers_check(op, &i->whole.data, rank, calls, bad);
	return op->segment->ops->check(&i->whole.data, rank, 0, fb_operation_out(op, rank),
				       (size_t)op->count, bad);
}

/* The largest bucket stands for all of them. */
static const struct fb_collective_instance *largest(const struct fb_ddp_instance *i)
{
	size_t at = 0;

	for (size_t b = 1; b < i->gradients.nbuckets; b++)
		if (i->gradients.buckets[b].count > i->gradients.buckets[at].count)
			at = b;
	return &i->reductions[at].instance;
}

static void describe(void *instance, struct fb_traits *traits)
{
	const struct fb_ddp_instance *i = instance;
	const struct fb_collective_instance *r = largest(i);
	char compute[64] = "", *path = traits->path;
	size_t used;

	if (i->prepared) {
		r->ops->describe(r->request, traits);
		fb_chosen_path(&r->chosen, path);
	}
	if (i->device) {
		fb_gpu_compute_describe(i->state->gpu, compute, sizeof(compute));
		traits->extra[FB_EVENT_US] = fb_gpu_step_event_us(i->step, i->schedule);
		used = strlen(path);
		snprintf(path + used, FB_PATH_CHARS - used, "%sGEMM by %s", used ? ", " : "",
			 compute);
	}
	if (i->schedule == FB_COMMUNICATE) {
		traits->algorithm_bytes = (double)i->whole.bytes;
		traits->bus_factor = fb_collective_bus_factor(FB_ALL_REDUCE,
							      i->whole.data.nranks);
	}
	traits->bound_us = (double)NAN;
	if (i->prepared)
		traits->extra[FB_BUCKETS] = (double)i->prepared;
	traits->extra[FB_TOKENS] = (double)i->tokens;
	used = strlen(traits->flags);
	if (i->whole.bytes != i->key->bytes)
		snprintf(traits->flags + used, sizeof(traits->flags) - used, "%srounded",
			 used ? ";" : "");
}

struct fb_program fb_ddp_describe(struct fb_ddp_settings *settings, struct fb_column *columns)
{
	memcpy(columns, fb_collective_columns, FB_COLLECTIVE_COLUMNS * sizeof(*columns));
	memcpy(columns + FB_COLLECTIVE_COLUMNS, fb_ddp_columns,
	       (FB_DDP_COLUMNS - FB_COLLECTIVE_COLUMNS) * sizeof(*columns));
	return (struct fb_program){
		.name = "ddp",
		.summary = "a step of data-parallel training: backward and its all_reduces",
		.description = fb_ddp_description,
		.options = fb_ddp_options,
		.option_values = settings,
		.defaults = fb_ddp_defaults,
		.columns = columns,
		.ncolumns = FB_DDP_COLUMNS,
		.open = open_program,
		.close = close_program,
		.expand = fb_ddp_expand,
		.can = fb_ddp_can,
		.setup = set_up,
		.prime = prime,
		.ready = ready,
		.run = run,
		.settle = fb_ddp_settle,
		.check = check,
		.summarise = fb_ddp_summarise,
		.describe = describe,
		.teardown = tear_down,
	};
}
