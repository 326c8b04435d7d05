/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make a schedule a program of the harness; see frame.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/timeline.h"
#include "common/run/run.h" /* fb_run.barrier, behind which parts of a step are timed */
#include "overlap/frame/frame.h"

static void close_program(void *arg)
{
	struct fb_step_state *s = arg;

	for (int r = 0; s->gpus && r < s->session->world->nranks; r++)
		fb_gpu_compute_close(s->gpus[r]);
	free(s->gpus);
	fb_step_groups_close(s);
	if (s->collective)
		fb_collective_close(s->collective);
	fb_nn_close(&s->model);
	free(s->passes);
	free(s->searches);
	free(s->work);
	free(s);
}

/* The schedule of a program's name. */
static const struct fb_schedule_program *find(const char *name)
{
	int i = 0;

	while (strcmp(fb_schedule_programs[i]->name, name))
		i++;
	return fb_schedule_programs[i];
}

static int open_program(struct fb_run *run, void **result)
{
	const struct fb_session *session = fb_run_session(run);
	struct fb_step_state *s = calloc(1, sizeof(*s));
	int err = fb_group_agree(session->world, s ? FB_OK : FB_ENOMEM);
	char reason[FB_REASON_CHARS];

	if (err || !s) {
		free(s);
		return fb_error(err, "out of memory");
	}
	s->program = find(session->program);
	s->session = session;
	if (fb_nvtx_open(&s->nvtx, reason, sizeof(reason)) && !session->world->rank)
		fb_warn("no ranges for the profiler: %s", reason);
	memcpy(&s->settings, session->own, sizeof(s->settings));
	s->own = &s->settings;
	s->barrier = &run->barrier;
	s->gpus = calloc((size_t)session->world->nranks, sizeof(*s->gpus));
	err = s->gpus ? fb_step_open_model(s) : fb_error(FB_ENOMEM, "out of memory");
	if (!err)
		err = fb_step_open_background(s);
	if (!err)
		err = fb_step_find_open(s);
	err = fb_group_agree(session->world, err);
	if (!err)
		err = fb_timeline_open("trace", s->own->trace, session->world);
	if (!err)
		err = fb_collective_open(session, FB_ALL_REDUCE, NULL, &s->collective);
	if (err) {
		close_program(s);
		return err;
	}
	s->collective->has_steps = true;
	if (!strcmp(session->program, "hazards"))
		fb_folder_facts(session, "storage", s->own->storage_folder);
	*result = s;
	return FB_OK;
}

static int ready(void *instance, int calls)
{
	struct fb_step_instance *i = instance;

	return fb_step_ready(i, i->parts, calls);
}

static int run(void *instance, int calls)
{
	struct fb_step_instance *i = instance;
	int err;

	fb_nvtx_push(&i->state->nvtx, calls == 1 ? "step" : "several steps");
	err = fb_step_run_parts(i, i->parts, calls);
	fb_nvtx_pop(&i->state->nvtx);
	return err;
}

/* The largest collective stands for all of them. */
static struct fb_call *largest(const struct fb_step_instance *i, int *number)
{
	struct fb_call *call = NULL;
	uint64_t most = 0;

	*number = 0;
	for (int t = 0; t < i->dag.ntasks; t++) {
		const struct fb_task *task = &i->dag.tasks[t];

		if (!i->calls[t] || i->dag.lanes[task->lane].background)
			continue;
		(*number)++;
		if (!call || task->count > most) {
			most = task->count;
			call = i->calls[t];
		}
	}
	return call;
}

/* What a rank enqueues in a step: products, passes, copies and collectives. */
static int launches(const struct fb_step_instance *i, int collectives)
{
	static const int each[FB_WORK_KINDS] = {
		[FB_WORK_GEMM] = 1, [FB_WORK_BACKWARD] = 2, [FB_WORK_ATTENTION] = 3,
		[FB_WORK_MEMORY] = 1, [FB_WORK_ADAM] = 1,
		[FB_WORK_CAST] = 1, [FB_WORK_SELECT] = 2, [FB_WORK_SPIN] = 1,
		[FB_WORK_COPY_IN] = 1, [FB_WORK_COPY_OUT] = 1, [FB_WORK_COPY_PAGEABLE] = 1,
	};
	int n = collectives + (fb_step_background(i) > 0);

	for (int t = 0; t < i->dag.ntasks; t++)
		n += each[i->dag.tasks[t].work.kind] * (int)i->dag.tasks[t].work.times;
	for (int a = 0; a < i->dag.naccesses; a++)
		n += i->dag.accesses[a].use == FB_ACCESS_FROM;
	return n;
}

static void describe(void *instance, struct fb_traits *traits)
{
	struct fb_step_instance *i = instance;
	char text[160] = "", *path = traits->path;
	int collectives;
	struct fb_call *call = largest(i, &collectives);
	size_t used;

	if (call)
		fb_call_describe(call, traits);
	fb_step_compute_text(i, text, sizeof(text));
	used = strlen(path);
	snprintf(path + used, FB_PATH_CHARS - used, "%sGEMM by %s", used ? "; " : "", text);
	used = strlen(path);
	for (int a = 0; i->found && a < FB_SCHEDULE_AXES; a++)
		if (i->state->program->axes[a].trials)
			snprintf(path + used, FB_PATH_CHARS - used, "; %s=%llu by measuring",
				 i->state->program->axes[a].key, (unsigned long long)i->found);
	fb_step_background_path(i, path);
	if (i->device)
		traits->extra[FB_EVENT_US] = fb_gpu_run_event_us(i->gpu, i->parts);
	if (i->device && i->graph)
		fb_gpu_run_graph_us(i->gpu, i->parts, &traits->extra[FB_CAPTURE_US],
				    &traits->extra[FB_INSTANTIATE_US]);
	if (call)
		traits->extra[FB_STEP_COLLECTIVES] = collectives;
	traits->bound_us = (double)NAN;
	if (i->state->program->error && i->state->program->error(&i->build, i->key->datatype) >= 0)
		traits->extra[FB_COMPRESSION_ERROR] =
			i->state->program->error(&i->build, i->key->datatype);
	traits->extra[FB_LAUNCHES] = i->graph ? 1 : launches(i, collectives);
	if (i->has_tokens)
		traits->extra[FB_TOKENS] = (double)i->build.tokens;
	if (!i->device && fb_step_crowded(i))
		fb_traits_flag(traits, "crowded");
	if (i->key->bytes % i->build.element_bytes)
		fb_traits_flag(traits, "rounded");
	/* Events of several GPUs have no common clock. */
	if (i->state->own->trace && !(i->device && i->dag.alone) && fb_step_trace(i))
		fb_warn("--trace %s: the trace of this row is not whole", i->state->own->trace);
}

static int check_plan(void *state, const struct fb_case *c, FILE *report)
{
	const struct fb_step_state *s = state;
	const struct fb_step_pass *pass = fb_step_pass_of(s, c);
	struct fb_build b;

	(void)report;
	if (!pass)
		return FB_OK;
	b = fb_step_build_of(s, c, pass, 0);
	return fb_step_prove(s, &b);
}

static const char *const shown[] = {"exposed_us", "hidden_share", NULL};

struct fb_program fb_step_describe(const struct fb_schedule_program *program,
				   struct fb_overlap_settings *own, struct fb_column *columns)
{
	memcpy(columns, fb_collective_columns, FB_COLLECTIVE_COLUMNS * sizeof(*columns));
	memcpy(columns + FB_COLLECTIVE_COLUMNS, fb_step_columns,
	       (FB_STEP_COLUMNS - FB_COLLECTIVE_COLUMNS) * sizeof(*columns));
	return (struct fb_program){
		.name = program->name,
		.summary = program->summary,
		.description = program->description,
		.options = program->options,
		.option_values = own,
		.defaults = program->defaults,
		.presets = program->presets,
		.columns = columns,
		.ncolumns = FB_STEP_COLUMNS,
		.shown = shown,
		.open = open_program,
		.close = close_program,
		.expand = fb_step_expand,
		.more = fb_step_more,
		.can = fb_step_can,
		.setup = fb_step_set_up,
		.prime = fb_step_prime,
		.ready = ready,
		.run = run,
		.settle = fb_step_settle,
		.check = fb_step_check,
		.summarise = fb_step_summarise,
		.describe = describe,
		.teardown = fb_step_tear_down,
		.check_plan = check_plan,
	};
}

int fb_step_main(const struct fb_schedule_program *program, int argc, char **argv)
{
	struct fb_overlap_settings own = {.layers = 0};
	struct fb_column columns[FB_STEP_COLUMNS];
	const struct fb_program description = fb_step_describe(program, &own, columns);

	return fb_program_main(&description, argc, argv);
}
