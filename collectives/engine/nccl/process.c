/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine nccl-process: NCCL with several GPUs in each process, each of which is a rank of the
 * operation. The launch says who makes the calls for them (team.h); the rows
 * compare with those of engine nccl, which has a process for each GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/nccl/base.h"
#include "collectives/engine/nccl/calls.h"
#include "collectives/engine/nccl/process.h"
#include "collectives/engine/nccl/team_calls.h"
#include "collectives/engine/nccl/tuning.h"
#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"
#include "common/measure/clock.h"

struct process_engine {
	struct fb_nccl_base base;
	int gpus;                  /* of each process; 0: this cannot be done, as base.why says */
	struct fb_nccl_team *team; /* NULL until something is prepared */
	fb_nccl_comm *comm[FB_NCCL_METHODS]; /* [gpus]; NULL until one is needed */
	struct fb_nccl_wire wire;  /* of the process */
};

/* One GPU's part of a request. */
struct part {
	struct fb_nccl_call call;
	void *registered; /* handle or window; NULL: none */
};

struct process_request {
	struct fb_request request;
	const struct fb_operation *op;
	bool graph;
	enum fb_nccl_registration registration;
	struct part *part; /* [gpus] */
	struct fb_nccl_team_calls calls;
	bool open;         /* all parts are */
	struct fb_nccl_ran ran;
	struct fb_nccl_wire wire;
	double kept_us;
};

static struct process_engine *engine_of(const struct process_request *r)
{
	return (struct process_engine *)r->request.engine;
}

static void process_close(struct fb_engine *engine)
{
	struct process_engine *e = (struct process_engine *)engine;

	for (int way = 0; way < FB_NCCL_METHODS; way++) {
		if (e->comm[way])
			(void)fb_nccl_team_destroy(e->team, &e->base.nccl, e->comm[way]);
		free(e->comm[way]);
	}
	fb_nccl_team_close(e->team);
	fb_nccl_base_close(&e->base);
}

static int process_open(struct fb_engine *engine)
{
	struct process_engine *e = (struct process_engine *)engine;
	int err = fb_nccl_base_open(&e->base);

	if (e->base.has_nccl)
		e->gpus = fb_nccl_team_size(&e->base.gpu, engine->group,
					    (int)engine->session->settings->gpus_per_process,
					    e->base.why);
	return err;
}

static int process_members(const struct fb_engine *engine)
{
	const struct process_engine *e = (const struct process_engine *)engine;

	return e->gpus ? e->gpus : 1;
}

static int process_enter(const struct fb_engine *engine, int member)
{
	const struct process_engine *e = (const struct process_engine *)engine;

	return fb_gpu_enter(member < 0 ? e->base.gpu.device
				       : fb_nccl_team_gpu(e->team, member)->device);
}

struct fb_nccl_team *fb_nccl_process_team(const struct fb_engine *engine)
{
	return ((const struct process_engine *)engine)->team;
}

static bool process_can(const struct fb_engine *engine, const struct fb_case *c,
			const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct process_engine *e = (const struct process_engine *)engine;
	const struct fb_settings *s = engine->session->settings;
	bool graph;
	enum fb_nccl_method way = fb_nccl_method_of_launch(c->launch, &graph);
	const char *refused = NULL;

	if (way == FB_NCCL_METHODS)
		refused = "engine nccl-process is launched by init_all, threads, group or graphs";
	else if (c->cold || s->blocking_kernel || s->channels)
		refused = "engine nccl-process has no cold caches, blocking kernel or channels";
	else if (fb_nccl_registration_of(c->registration) == FB_NCCL_WINDOW_COPY)
		refused = "engine nccl-process has no window-copy: engine nccl does";
	else if (!e->gpus)
		refused = e->base.why;
	else if (way == FB_NCCL_ALL && engine->group->nranks > 1)
		refused = "ncclCommInitAll is one process's, for all of its GPUs: start one rank";
	if (refused) {
		snprintf(reason, FB_REASON_CHARS, "%s", refused);
		return false;
	}
	return fb_nccl_has(&e->base.nccl, FB_NCCL_MEMORY, reason, FB_REASON_CHARS) &&
	       fb_nccl_can_register(&e->base.nccl, fb_nccl_registration_of(c->registration),
				    c->memory, reason) &&
	       fb_nccl_call_can_on(op, e->base.least_major, reason, FB_REASON_CHARS) &&
	       fb_nccl_call_can(&e->base.nccl, op, false, reason, FB_REASON_CHARS);
}

/* --- memory ----------------------------------------------------------------------------------- */

struct allocation {
	const struct fb_nccl *nccl;
	void **memory;
	size_t bytes;
};

static int allocate(void *arg, int member)
{
	struct allocation *a = arg;

	return fb_nccl_base_allocate(a->nccl, &a->memory[member], a->bytes);
}

static int open_team(struct process_engine *e)
{
	int err = FB_OK;

	if (!e->team)
		err = fb_nccl_team_open(&e->team, &e->base.gpu, e->base.engine.group, e->gpus);
	return fb_group_agree(e->base.engine.group, err);
}

static int process_segment(struct fb_engine *engine, struct fb_segment *segment, size_t part_bytes)
{
	const size_t page = (size_t)2 << 20;
	struct process_engine *e = (struct process_engine *)engine;
	struct allocation a = {.nccl = &e->base.nccl,
			       .bytes = (part_bytes / page + 1) * page};
	int err = open_team(e);

	if (err)
		return err;
	a.memory = calloc((size_t)e->gpus, sizeof(*a.memory));
	err = a.memory ? fb_nccl_team_each(e->team, false, allocate, &a) : FB_ENOMEM;
	err = fb_group_agree(engine->group, err);
	if (!err)
		err = fb_gpu_segment_adopt(segment, engine->group, a.memory, e->gpus, a.bytes,
					   e->base.nccl.MemFree);
	for (int i = 0; err && a.memory && i < e->gpus; i++)
		if (a.memory[i])
			(void)e->base.nccl.MemFree(a.memory[i]);
	free(a.memory);
	return err;
}

/* --- calls ------------------------------------------------------------------------------------ */

static int enqueue(void *part, void *stream)
{
	return fb_nccl_call_enqueue(&((struct part *)part)->call, stream);
}

/* A rank that died ends the waiting for it. */
static int poll(void *part)
{
	const struct fb_nccl_call *call = &((struct part *)part)->call;
	int code = FB_NCCL_SUCCESS, asked = call->nccl->CommGetAsyncError(call->comm, &code);

	return fb_nccl_error(call->nccl, call->comm, asked ? asked : code, "CommGetAsyncError");
}

static int open_part(void *request, int member)
{
	struct process_request *r = request;
	struct process_engine *e = engine_of(r);
	const struct fb_group *group = e->base.engine.group;
	struct part *p = &r->part[member];
	int err = fb_nccl_call_open(&p->call, &e->base.nccl, r->op, group->rank * e->gpus + member,
				    group->nranks * e->gpus, false);

	if (err)
		return err;
	p->call.comm = e->comm[r->calls.way][member];
	err = fb_gpu_stream_open(&r->calls.stream[member], fb_nccl_team_gpu(e->team, member),
				 r->graph, enqueue, p, e->base.engine.session);
	if (!err)
		fb_gpu_stream_watch(r->calls.stream[member], poll, p);
	return err;
}

/* The whole part of the segment; a window of it is made by all ranks together. */
static int register_part(void *request, int member)
{
	struct process_request *r = request;
	struct part *p = &r->part[member];

	return fb_nccl_register(p->call.nccl, p->call.comm, r->registration, r->op->segment,
				p->call.rank, &p->registered);
}

static int deregister_part(void *request, int member)
{
	struct process_request *r = request;
	struct part *p = &r->part[member];

	fb_nccl_deregister(p->call.nccl, p->call.comm, r->registration, p->registered);
	p->registered = NULL;
	return FB_OK;
}

static int close_part(void *request, int member)
{
	struct process_request *r = request;

	fb_gpu_stream_close(r->calls.stream[member]);
	fb_nccl_call_close(&r->part[member].call);
	return FB_OK;
}

static void process_release(struct fb_request *request)
{
	struct process_request *r = (struct process_request *)request;
	struct process_engine *e = engine_of(r);

	if (r->open && r->registration != FB_NCCL_NONE)
		(void)fb_nccl_team_together(e->team, &e->base.nccl, r->calls.way, deregister_part,
					    r);
	if (r->part && r->calls.stream)
		(void)fb_nccl_team_each(e->team, false, close_part, r);
	free(r->calls.stream);
	free(r->part);
}

static int process_ready(struct fb_request *request, int calls)
{
	return fb_nccl_team_ready(&((struct process_request *)request)->calls, calls);
}

static int process_run(struct fb_request *request, int calls)
{
	return fb_nccl_team_run(&((struct process_request *)request)->calls, calls);
}

/* --- requests --------------------------------------------------------------------------------- */

static int make_communicators(struct process_engine *e, enum fb_nccl_method way)
{
	int err;

	if (e->comm[way])
		return FB_OK;
	e->comm[way] = calloc((size_t)e->gpus, sizeof(*e->comm[way]));
	err = fb_group_agree(e->base.engine.group, e->comm[way] ? FB_OK : FB_ENOMEM);
	if (!err)
		err = fb_nccl_team_init(e->team, &e->base.nccl, way, e->comm[way]);
	if (!err)
		return FB_OK;
	free(e->comm[way]);
	e->comm[way] = NULL;
	return err;
}

/* With one call, which connects what NCCL connects at first use, and which the log has. */
static int set_up(struct process_request *r)
{
	struct process_engine *e = engine_of(r);
	const struct fb_group *group = e->base.engine.group;
	const struct fb_clock *clock = e->base.engine.session->clock;
	struct fb_nccl_log log = {.nccl = NULL};
	double begin = clock ? fb_clock_now(clock) : 0;
	int err;

	fb_nccl_log_begin(&log, &e->base.nccl, e->base.engine.group->rank);
	err = make_communicators(e, r->calls.way);
	if (!err)
		err = fb_group_agree(group, fb_nccl_team_each(e->team, false, open_part, r));
	r->open = !err;
	if (!err && r->registration != FB_NCCL_NONE)
		err = fb_group_agree(group, fb_nccl_team_together(e->team, &e->base.nccl,
								  r->calls.way, register_part, r));
	if (!err)
		err = fb_group_agree(group, process_run(&r->request, 1));
	fb_nccl_log_share(&log, &e->base.nccl, e->base.engine.session, group, &e->base.setup,
			  &r->ran, &e->wire);
	r->wire = e->wire;
	r->kept_us = clock ? 1e6 * (fb_clock_now(clock) - begin) : 0;
	return err;
}

static int process_prepare(struct fb_request *request, const struct fb_case *c,
			   const struct fb_operation *op)
{
	struct process_engine *e = (struct process_engine *)request->engine;
	struct process_request *r = (struct process_request *)request;
	int err;

	r->op = op;
	r->registration = fb_nccl_registration_of(c->registration);
	r->part = calloc((size_t)e->gpus, sizeof(*r->part));
	r->calls = (struct fb_nccl_team_calls){
		.team = e->team,
		.nccl = &e->base.nccl,
		.gpus = e->gpus,
		.way = fb_nccl_method_of_launch(c->launch, &r->graph),
		.stream = calloc((size_t)e->gpus, sizeof(struct fb_gpu_stream *))};
	err = fb_group_agree(request->engine->group,
			     r->part && r->calls.stream ? FB_OK : FB_ENOMEM);
	return err ? err : set_up(r);
}

static void process_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct process_request *r = (const struct process_request *)request;
	const struct process_engine *e = engine_of(r);
	char how[64];

	snprintf(how, sizeof(how), "%d GPUs a process by %s%s, ", e->gpus,
		 fb_nccl_methods[r->calls.way], r->graph ? " in graphs" : "");
	traits->kept_us = r->kept_us;
	traits->channels = r->ran.channels;
	fb_nccl_ran_path(&e->base.nccl, fb_nccl_call_name(&e->base.nccl, r->op, false), how,
			 &r->ran, &r->wire, traits->path);
	if (r->wire.warnings)
		fb_traits_flag(traits, "nccl-warning");
	if (fb_nccl_ran_ignores(&r->ran, r->op->collective))
		fb_traits_flag(traits, "nccl-env-ignored");
	if (r->calls.way == FB_NCCL_THREADS)
		traits->extra[FB_EVENT_US] = fb_gpu_stream_event_us(r->calls.stream[0]);
}

const struct fb_engine_ops fb_engine_nccl_process = {
	.name = "nccl-process",
	.device = true,
	.memory = "nccl",
	.members = process_members,
	.enter = process_enter,
	.bytes = sizeof(struct process_engine),
	.request_bytes = sizeof(struct process_request),
	.open = process_open,
	.close = process_close,
	.can = process_can,
	.segment = process_segment,
	.prepare = process_prepare,
	.ready = process_ready,
	.run = process_run,
	.describe = process_describe,
	.release = process_release,
};
