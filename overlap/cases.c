/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From axis values to cases, and from a case to its buckets.
 *
 * A case of ddp is one of all_reduce (collectives/cases.c) with a schedule, which is the row's
 * operation, and with keys of its own. Each bucket is then a case of all_reduce in place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/record/variant.h"
#include "overlap/program.h"

enum { ALIGN_BYTES = 512, KEY_CHARS = 300 };

const char *const fb_schedules[] = {
	[FB_COMPUTE] = "compute", [FB_COMMUNICATE] = "communicate",
	[FB_SEQUENTIAL] = "sequential", [FB_OVERLAP] = "overlap", [FB_SCHEDULES] = NULL};

static const char whole[] = "whole";

static enum fb_schedule schedule_of(const struct fb_case *c)
{
	int i = 0;

	while (fb_schedules[i] && strcmp(fb_schedules[i], c->operation))
		i++;
	return fb_schedules[i] ? (enum fb_schedule)i : FB_COMPUTE;
}

/* Bytes of a bucket by the key of the case; 0: one for all. */
static uint64_t bucket_of(const struct fb_case *c)
{
	static const char key[] = "bucket=";
	const char *at = c->variant;
	char text[FB_SIZE_CHARS];
	uint64_t bytes = 0;

	while (at && strncmp(at, key, sizeof(key) - 1)) {
		at = strchr(at, ';');
		at += at != NULL;
	}
	if (!at)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at + sizeof(key) - 1, ";"),
		 at + sizeof(key) - 1);
	return fb_size_parse(text, &bytes) ? 0 : bytes;
}

/* Puts a key into the variant; a comma in the value, which would split a list, becomes +. */
static void put(struct fb_case *c, const char *name, const char *value)
{
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "%s=%s", name, value);
	for (char *at = key; *at; at++)
		if (*at == ',')
			*at = '+';
	fb_variant_put(c, key);
}

static void put_number(struct fb_case *c, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put(c, name, text);
}

/* The keys of a pass: those that say how much work there is, and others than the usual. */
static void make_keys(struct fb_ddp_state *s, enum fb_schedule schedule, uint64_t bucket)
{
	const struct fb_ddp_settings *own = s->own;
	char text[FB_SIZE_CHARS], ms[32];

	s->keys.variant[0] = '\0';
	if (schedule != FB_COMPUTE)
		put(&s->keys, "bucket", bucket ? fb_size_text(bucket, text) : whole);
	put_number(&s->keys, "layers", own->layers);
	if (own->hidden != FB_DDP_HIDDEN)
		put_number(&s->keys, "hidden", own->hidden);
	if (strcmp(own->tensors, FB_DDP_RATIOS))
		put(&s->keys, "tensors", own->tensors);
	snprintf(ms, sizeof(ms), "%gms", own->compute_s * 1e3);
	if (schedule != FB_COMMUNICATE && own->tokens)
		put_number(&s->keys, "tokens", own->tokens);
	else if (schedule != FB_COMMUNICATE)
		put(&s->keys, "compute", ms);
	if (own->polls != 1)
		put_number(&s->keys, "polls", own->polls);
	if (own->compute_sms)
		put_number(&s->keys, "compute_sms", own->compute_sms);
	if (own->priority)
		put(&s->keys, "priority", fb_ddp_priorities[own->priority]);
}

int fb_ddp_expand(struct fb_run *run, void *state)
{
	struct fb_ddp_state *s = state;
	const struct fb_sizes *buckets = &s->own->bucket;
	int err = FB_OK;

	for (int schedule = 0; schedule < FB_SCHEDULES && !err; schedule++) {
		size_t n = schedule == FB_COMPUTE ? 1 : buckets->count;

		if (!(s->own->schedules >> schedule & 1))
			continue;
		s->collective->operation = fb_schedules[schedule];
		for (size_t i = 0; i < n && !err; i++) {
			make_keys(s, (enum fb_schedule)schedule, buckets->value[i]);
			s->collective->variant = s->keys.variant;
			err = fb_collective_expand(run, s->collective);
		}
	}
	return err;
}

uint64_t fb_ddp_rows(const struct fb_ddp_state *state, const struct fb_tensor *tensor)
{
	return (tensor->count + state->own->hidden - 1) / state->own->hidden;
}

/* The all_reduce of a bucket, as a case and as an operation. */
static int fill_reduction(struct fb_ddp_instance *i, size_t bucket)
{
	struct fb_ddp_reduction *r = &i->reductions[bucket];
	const struct fb_bucket *b = &i->gradients.buckets[bucket];
	const struct fb_operation *all = &i->whole.op;
	size_t size = fb_datatype_size(all->datatype);
	int err;

	r->key = *i->key;
	r->key.operation = i->state->collective->info->name;
	r->key.bytes = b->count * size;
	r->key.in_place = true;
	err = fb_instance_fill(&r->instance, i->state->collective, &r->key);
	if (err)
		return err;
	r->instance.op.in_offset = r->instance.op.out_offset = all->out_offset + b->first * size;
	return FB_OK;
}

int fb_ddp_fill(struct fb_ddp_instance *i, struct fb_ddp_state *state, const struct fb_case *c)
{
	size_t size = fb_datatype_size(c->datatype);
	uint64_t full = (bucket_of(c) + size - 1) / size;
	int err = fb_instance_fill(&i->whole, state->collective, c);

	if (err)
		return err;
	i->state = state;
	i->key = c;
	i->schedule = schedule_of(c);
	i->device = i->whole.ops->device;
	fb_buffers_layout(&i->whole.op, state->collective->world->nranks);
	err = fb_gradients_make(&i->gradients, &state->model, i->whole.op.count,
				ALIGN_BYTES / size, full);
	if (err)
		return err;
	i->reductions = calloc(i->gradients.nbuckets + 1, sizeof(*i->reductions));
	if (!i->reductions)
		return FB_ENOMEM;
	for (size_t b = 0; b < i->gradients.nbuckets && !err; b++)
		err = fill_reduction(i, b);
	return err;
}

void fb_ddp_free(struct fb_ddp_instance *i)
{
	for (size_t b = 0; i->reductions && b < i->gradients.nbuckets; b++)
		fb_instance_free(&i->reductions[b].instance);
	free(i->reductions);
	fb_gradients_free(&i->gradients);
	fb_instance_free(&i->whole);
}

/* Whether the engine can reduce every bucket; those of one size have one answer. */
static bool can_reduce(struct fb_ddp_instance *i, char *reason)
{
	for (size_t b = 0; b < i->gradients.nbuckets; b++) {
		const struct fb_bucket *bucket = &i->gradients.buckets[b];

		if (b && bucket->count == bucket[-1].count)
			continue;
		if (!fb_instance_choose(&i->reductions[b].instance, reason))
			return false;
	}
	return true;
}

/* Whether the bucket is no other than the one for all, which the run has as well. */
static bool is_whole(const struct fb_ddp_instance *i)
{
	uint64_t bucket = bucket_of(i->key);

	/* Sizes are sorted. */
	return bucket && i->gradients.nbuckets == 1 && i->state->own->bucket.value[0] == 0;
}

bool fb_ddp_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_ddp_state *s = state;
	struct fb_ddp_instance i = {.prepared = 0};
	bool can = false;

	if (!fb_collective_can(s->collective, c, reason))
		return false;
	if (fb_ddp_fill(&i, s, c))
		snprintf(reason, FB_REASON_CHARS, "out of memory for the buckets");
	else if (!i.gradients.ntensors)
		snprintf(reason, FB_REASON_CHARS, "no gradients: --bytes is less than an element");
	else if (is_whole(&i))
		snprintf(reason, FB_REASON_CHARS, "one bucket holds all: see bucket=whole");
	else if (!strcmp(c->launch, "blocking") && i.schedule == FB_OVERLAP)
		snprintf(reason, FB_REASON_CHARS, "a call that blocks overlaps with nothing");
	else if (i.schedule == FB_COMMUNICATE && c->cadence == FB_STREAMING)
		snprintf(reason, FB_REASON_CHARS, "all_reduces in place that follow each other "
			 "cannot be checked");
	else
		can = i.schedule == FB_COMPUTE || can_reduce(&i, reason);
	fb_ddp_free(&i);
	return can;
}
