/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the program's own axes to cases.
 *
 * Each combination of schedule and axis values is a pass over the axes of the collectives. Its keys
 * are in the column variant; a case has the pass's number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/key.h"
#include "common/record/variant.h"
#include "common/run/axes.h"
#include "overlap/frame/frame.h"
#include "overlap/options.h"

enum { KEY_CHARS = 300, FROM_MODEL = 3 /* numbers that --model gives */, MOST_SMS = 1024 };

/* Adds a key; a comma in the value, which would split a list, becomes +. */
static void put(char variant[FB_VARIANT_CHARS], const char *name, const char *value)
{
	struct fb_case c = {.program = ""};
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "%s=%s", name, value);
	for (char *at = key; *at; at++)
		if (*at == ',')
			*at = '+';
	memcpy(c.variant, variant, FB_VARIANT_CHARS);
	fb_variant_put(&c, key);
	memcpy(variant, c.variant, FB_VARIANT_CHARS);
}

static void put_number(char *variant, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put(variant, name, text);
}

static void put_axis(char *variant, const struct fb_schedule_axis *axis, uint64_t value)
{
	char text[FB_SIZE_CHARS];

	if (axis->kind == FB_AXIS_CHOICES)
		put(variant, axis->key, axis->names[value]);
	else if (axis->trials && !value)
		put(variant, axis->key, "auto");
	else if (axis->kind == FB_AXIS_NUMBERS)
		put_number(variant, axis->key, value);
	else
		put(variant, axis->key, value ? fb_size_text(value, text) : "whole");
}

/* Whether the program has an option, so that its value is a key. */
static bool has_option(const struct fb_schedule_program *program, const char *name)
{
	for (const struct fb_option *o = program->options; o->type != FB_OPT_END; o++)
		if (o->name && !strcmp(o->name, name))
			return true;
	return false;
}

/* The default of an option as a number; 0 if it is no number. */
static uint64_t usual(const struct fb_schedule_program *program, const char *name)
{
	for (const struct fb_option *o = program->options; o->type != FB_OPT_END; o++)
		if (o->name && !strcmp(o->name, name))
			return strtoull(o->fallback, NULL, 10);
	return 0;
}

/* Keys that say how much work there is, and other options where they are not as usual. */
static void put_shared(const struct fb_step_state *s, const struct fb_step_pass *pass, char *v)
{
	const struct fb_overlap_settings *own = s->own;
	const struct {
		const char *option, *key;
		uint64_t value;
	} numbers[] = {
		{"hidden", "hidden", own->hidden}, {"ffn", "ffn", own->ffn},
		{"topk", "topk", own->topk},
		{"polls", "polls", own->polls},
		{"tp", "tp", own->tp},
		{"pp", "pp", own->pp}, {"ep", "ep", own->ep}, {"cp", "cp", own->cp},
		{"shrink", "shrink", own->shrink}, {"batch", "batch", own->batch},
		{"sequence", "sequence", own->sequence},
		{"model-layers", "model_layers", own->model_layers},
		{"late-ranks", "late_ranks", own->late_ranks},
		{"repeats", "repeats", own->repeats},
	};
	int background = fb_step_background_axis(s->program);
	bool beside = background != FB_NONE && pass->value[background];
	bool computes = !s->program->parts ||
			s->program->parts[pass->schedule] & FB_PART_COMPUTE;
	char ms[32];

	if (own->model)
		put(v, "model", s->model.name);
	if (has_option(s->program, "layers") &&
	    (!own->model || s->program->attends || s->program->has_experts))
		put_number(v, "layers", own->layers);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (has_option(s->program, numbers[i].option) &&
		    numbers[i].value != usual(s->program, numbers[i].option) &&
		    !(own->model && i < FROM_MODEL))
			put_number(v, numbers[i].key, numbers[i].value);
	if (!own->model && has_option(s->program, "tensors") && strcmp(own->tensors, FB_DDP_RATIOS))
		put(v, "tensors", own->tensors);
	snprintf(ms, sizeof(ms), "%gms", own->compute_s * 1e3);
	if (computes && own->tokens)
		put_number(v, "tokens", own->tokens);
	else if (computes)
		put(v, "compute", ms);
	if (beside && own->background_engine)
		put(v, "background_engine", own->background_engine);
	if (beside && own->background_force)
		put(v, "background_force", own->background_force);
	if (beside && own->background_operation)
		put(v, "background_operation",
		    fb_background_operations[own->background_operation]);
	if (computes && own->compute_type)
		put(v, "compute_type", fb_overlap_compute_types[own->compute_type]);
	if (own->priority)
		put(v, "priority", fb_overlap_priorities[own->priority]);
}

static const struct fb_schedule_axis *axis_of(const struct fb_step_state *s, int axis)
{
	static const struct fb_schedule_axis sms = {
		.key = "compute_sms", .kind = FB_AXIS_NUMBERS, .schedules = UINT64_MAX, .silent = 1,
		.offset = offsetof(struct fb_overlap_settings, compute_sms)};

	return axis == FB_AXIS_COMPUTE_SMS ? &sms : &s->program->axes[axis];
}

static size_t axis_count(const struct fb_step_state *s, int schedule, int axis)
{
	const struct fb_schedule_axis *a = axis_of(s, axis);
	const char *at = (const char *)s->own + a->offset;
	size_t n = 0;

	if (!a->key || !(a->schedules >> schedule & 1))
		return 1;
	if (a->kind != FB_AXIS_CHOICES)
		return ((const struct fb_sizes *)(const void *)at)->count;
	for (uint64_t bits = *(const uint64_t *)(const void *)at; bits; bits &= bits - 1)
		n++;
	return n;
}

static uint64_t axis_value(const struct fb_step_state *s, int axis, size_t index)
{
	const struct fb_schedule_axis *a = axis_of(s, axis);
	const char *at = (const char *)s->own + a->offset;
	uint64_t bits;
	int bit = 0;

	if (a->kind != FB_AXIS_CHOICES)
		return ((const struct fb_sizes *)(const void *)at)->value[index];
	for (bits = *(const uint64_t *)(const void *)at; !(bits & 1) || index; bits >>= 1, bit++)
		index -= bits & 1;
	return (uint64_t)bit;
}

static int add_pass(struct fb_step_state *s, int schedule, const size_t *index)
{
	struct fb_step_pass *more = realloc(s->passes, (s->npasses + 1) * sizeof(*more));
	struct fb_step_pass *p;

	if (!more)
		return fb_error(FB_ENOMEM, "out of memory for cases");
	s->passes = more;
	p = &s->passes[s->npasses++];
	*p = (struct fb_step_pass){.schedule = schedule};
	for (int a = 0; a < FB_SCHEDULE_AXES; a++) {
		const struct fb_schedule_axis *axis = axis_of(s, a);

		if (!axis->key || !(axis->schedules >> schedule & 1))
			continue;
		p->value[a] = axis_value(s, a, index[a]);
		if (axis->silent != p->value[a] + 1)
			put_axis(p->variant, axis, p->value[a]);
	}
	put_shared(s, p, p->variant);
	return FB_OK;
}

/* All combinations of axis values with a schedule. */
static int add_passes(struct fb_step_state *s, int schedule)
{
	size_t index[FB_SCHEDULE_AXES] = {0}, count[FB_SCHEDULE_AXES];
	int err = FB_OK;

	for (int a = 0; a < FB_SCHEDULE_AXES; a++) {
		count[a] = axis_count(s, schedule, a);
		/* There is no first element of such a product to begin with. */
		if (!count[a])
			return fb_error(FB_EINPUT, "axis %s has no value: expected an option of "
					"%s that gives it one", axis_of(s, a)->key,
					s->program->name);
	}
	do
		err = add_pass(s, schedule, index);
	while (!err && fb_product_next(index, count, FB_SCHEDULE_AXES));
	return err;
}

/* Opens engines on all groups of a step, because fb_program.can must not communicate. */
static int open_engines(struct fb_step_state *s, const struct fb_step_pass *pass)
{
	const struct fb_case nominal = {.datatype = FB_F32, .bytes = 1 << 20};
	struct fb_build b = fb_step_build_of(s, &nominal, pass, 0);
	char ignored[FB_SCHEDULE_REASON];
	struct fb_dag dag = {.rank = 0};
	int err = FB_OK;

	/* The engine is not known here: a step that only GPUs can run also needs its groups. */
	if (s->program->can && !s->program->can(&b, ignored)) {
		b.device = true;
		if (!s->program->can(&b, ignored))
			return FB_OK;
	}
	/* Not linked, because a nominal step cut into small pieces has thousands of tasks. */
	fb_dag_open(&dag, b.rank, b.nranks);
	s->program->build(&dag, &b);
	if (dag.err)
		fb_error(dag.err, "%s: out of memory for a step", s->program->name);
	err = fb_group_agree(s->session->world, dag.err);
	for (size_t e = 0; fb_engines[e] && !err; e++)
		if (s->collective->engines[e])
			err = fb_step_groups_open(s, &dag, fb_engines[e]->name, NULL);
	fb_dag_close(&dag);
	return err;
}

/* Makes the axes of algorithms and reductions those of the pass's collective. */
static void tell_collective(const struct fb_step_state *s, const struct fb_step_pass *pass)
{
	const struct fb_case c = {.datatype = FB_U8};
	struct fb_build b = fb_step_build_of(s, &c, pass, 0);

	if (!s->program->collective)
		return;
	s->collective->collective = s->program->collective(&b);
	/* A case has no counts of its blocks, which are a step's: equal ones stand for them. */
	if (s->collective->collective == FB_ALL_TO_ALL_V)
		s->collective->collective = FB_ALL_TO_ALL;
	s->collective->info = fb_collective_info(s->collective->collective);
}

/* For programs whose size follows from the shape. */
static uint64_t elements_of(const struct fb_step_state *s, const struct fb_step_pass *pass)
{
	const struct fb_case c = {.datatype = FB_U8};
	struct fb_build b = fb_step_build_of(s, &c, pass, 0);

	return s->program->bytes(&b);
}

int fb_step_expand(struct fb_run *run, void *state)
{
	struct fb_step_state *s = state;
	int err = FB_OK;

	for (int schedule = 0; s->program->schedules[schedule] && !err; schedule++)
		if (s->own->schedules >> schedule & 1)
			err = add_passes(s, schedule);
	err = fb_group_agree(s->session->world, err);
	for (size_t p = 0; p < s->npasses && !err; p++) {
		const struct fb_step_pass *pass = &s->passes[p];

		s->collective->operation = s->program->schedules[pass->schedule];
		s->collective->variant = pass->variant;
		s->collective->pass = p;
		tell_collective(s, pass);
		if (s->program->bytes)
			s->collective->step_elements = elements_of(s, pass);
		err = fb_collective_expand(run, s->collective);
		if (!err)
			err = open_engines(s, pass);
	}
	return err;
}

const struct fb_step_pass *fb_step_pass_of(const struct fb_step_state *s, const struct fb_case *c)
{
	return &s->passes[*FB_OWN_CONST(uint64_t, c)];
}

/*
 * Whether fb_step_can_communicate() gives the same answer on all ranks. With several hosts some
 * groups may be within a host and others not; then setup agrees on the answer (agree_on_engines).
 */
static bool is_alike(const struct fb_step_state *s, const struct fb_dag *dag)
{
	bool whole = true;

	for (int p = 0; p < dag->npartitions; p++)
		for (int r = 0; r < dag->nranks; r++)
			whole &= dag->partitions[p].colour[r] == dag->partitions[p].colour[0];
	return whole || s->session->world->nnodes == 1;
}

/* Whether a task adds its result to memory. */
static bool adds(const struct fb_dag *dag)
{
	for (int a = 0; a < dag->naccesses; a++)
		if (dag->accesses[a].use == FB_ACCESS_ADD)
			return true;
	return false;
}

/* Whether rank 0 can run the step of all devices. The same on all ranks. */
static bool can_alone(const struct fb_step_state *s, const struct fb_dag *dag,
		      const struct fb_case *c, char *reason)
{
	bool device = fb_engines[fb_engine_index(c->engine)]->device;

	if (c->redop >= 0 && c->redop != FB_SUM && (dag->alone || adds(dag))) {
		snprintf(reason, FB_REASON_CHARS, "the tasks of this program add up: --redop can "
						  "only be sum");
		return false;
	}
	if (!dag->alone)
		return true;
	if (s->session->world->nnodes > 1)
		snprintf(reason, FB_REASON_CHARS, "a process reaches the memory of its own node "
			 "only");
	else if (device && !s->collective->gpu.all_reach)
		snprintf(reason, FB_REASON_CHARS, "a GPU does not reach all others");
	else if (device && fb_memory_by_library(fb_memory_of(c)))
		snprintf(reason, FB_REASON_CHARS, "no other rank can access memory %s", c->memory);
	else if (!strcmp(c->launch, "graph"))
		snprintf(reason, FB_REASON_CHARS, "a step of one process on several GPUs cannot be "
						  "captured in a graph");
	else
		return true;
	return false;
}

bool fb_step_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_step_state *s = state;
	const struct fb_step_pass *pass = fb_step_pass_of(s, c);
	struct fb_dag dag = {.rank = 0};
	struct fb_build b;
	bool can = false;

	if (pass)
		tell_collective(s, pass);
	if (!pass || !fb_collective_can(s->collective, c, reason))
		return false;
	b = fb_step_build_of(s, c, pass, 0);
	if (s->program->can && !s->program->can(&b, reason))
		return false;
	if (s->own->compute_type == FB_COMPUTE_FP8 && !b.device)
		snprintf(reason, FB_REASON_CHARS, "processors have no products of 8-bit floats");
	else if (b.value[FB_AXIS_COMPUTE_SMS] && !b.device)
		snprintf(reason, FB_REASON_CHARS, "processors have no multiprocessors");
	else if (b.value[FB_AXIS_COMPUTE_SMS] && s->program->modes &&
		 s->program->modes[pass->schedule] & FB_MODE_BLOCKING_STREAMS)
		snprintf(reason, FB_REASON_CHARS, "streams of a green context never wait for the "
			 "legacy stream");
	else if (b.value[FB_AXIS_COMPUTE_SMS] > MOST_SMS)
		snprintf(reason, FB_REASON_CHARS, "--compute-sms is at most %d", MOST_SMS);
	else if (fb_step_make(s, &b, &dag))
		snprintf(reason, FB_REASON_CHARS, "out of memory for the step");
	else if (dag.nccl_policy && strcmp(c->engine, "nccl"))
		snprintf(reason, FB_REASON_CHARS, "only engine nccl has CTA policies");
	else if (!strcmp(c->launch, "blocking") && (s->own->polls || dag.nlanes > 2) &&
		 strcmp(c->operation, "sequential"))
		snprintf(reason, FB_REASON_CHARS, "a blocking call cannot overlap with "
						  "computing");
	else if (s->program->parts && !(s->program->parts[pass->schedule] & FB_PART_COPY) &&
		 c->cadence == FB_STREAMING)
		snprintf(reason, FB_REASON_CHARS, "collectives in place that follow each other "
			 "cannot be checked");
	else if (can_alone(s, &dag, c, reason))
		can = fb_memory_can(s->collective, c, fb_step_bytes(&dag, b.element_bytes),
				    reason) &&
		      (!is_alike(s, &dag) || fb_step_can_communicate(s, &dag, c, reason));
	fb_dag_close(&dag);
	return can;
}
