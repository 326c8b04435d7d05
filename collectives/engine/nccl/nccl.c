/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NCCL engine: the library's own collectives on a stream or in a graph, with what it can be
 * made to use chosen by --nccl-force and --registration, and what it really ran in the column
 * path. A case whose choice NCCL does not follow gives no time: its row is skipped.
 *
 * It needs no header of CUDA's or NCCL's and is the same in all builds; without a GPU or without
 * the library its rows are skipped with the reason.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/nccl/base.h"
#include "collectives/engine/nccl/gpu_time.h"
#include "collectives/engine/nccl/model.h"
#include "collectives/engine/nccl/tuning.h"
#include "collectives/engine/on_stream.h"
#include "common/base/error.h"
#include "common/library/nccl/plugin.h"

struct nccl_engine {
	struct fb_nccl_base base;
	const struct fb_group *group;
	const struct fb_settings *settings;
	struct fb_nccl_group *groups;
	struct fb_nccl_plugin plugin; /* NULLs: not used */
	char no_plugin[FB_REASON_CHARS];
};

struct nccl_request {
	struct fb_on_stream on;
	struct nccl_engine *engine;
	const struct fb_operation *op;
	struct fb_nccl_algo_proto choice;
	enum fb_nccl_force_by by; /* what makes NCCL use it; not `auto` */
	bool obeyed;              /* the last call asked the plugin, and could use its answer */
	bool refused;             /* the call ran, but not as forced */
	struct fb_nccl_group *group;
	struct fb_nccl_call call;
	struct fb_nccl_ran ran;
	struct fb_nccl_wire wire; /* of its communicator, as far as logged by then */
	double model_us;          /* NAN: not known */
	struct fb_nccl_gpu_time gpu;
	double kept_us; /* of the setup, for what later rows reuse and for extra calls */
};

/* Whether something is asked for that the plugin can force. */
static bool wants_plugin(const struct nccl_engine *e)
{
	struct fb_nccl_algo_proto choices[FB_NCCL_MOST_ALGO_PROTOS];
	int n = fb_nccl_algo_proto_list(e->settings->nccl_force, choices, NULL);
	const int by = e->settings->nccl_force_by;

	while (n > 0 && !fb_nccl_is_forced(&choices[n - 1]))
		n--;
	return n > 0 && (by == FB_NCCL_BY_PLUGIN ||
			 (by == FB_NCCL_BY_AUTO && !e->base.nccl.AllReduceConfig));
}

static int nccl_open(struct fb_engine *engine)
{
	struct nccl_engine *e = (struct nccl_engine *)engine;
	int err;

	e->group = engine->group;
	e->settings = engine->session->settings;
	err = fb_nccl_base_open(&e->base);
	if (!err && e->base.has_nccl && wants_plugin(e))
		(void)fb_nccl_plugin_use(&e->plugin, &e->base.nccl, engine->session, e->group,
					 e->no_plugin);
	return err;
}

static void nccl_close(struct fb_engine *engine)
{
	struct nccl_engine *e = (struct nccl_engine *)engine;

	fb_nccl_group_close(&e->groups, &e->base.nccl);
	fb_nccl_base_close(&e->base);
}

/*
 * Only these collectives have copy-engine forms. For others NCCL would silently run its window
 * kernels, and the row would repeat registration=window.
 */
static bool copies(const struct fb_case *c, const struct fb_operation *op, char *reason)
{
	enum fb_collective what = op->collective;

	if (fb_nccl_registration_of(c->registration) != FB_NCCL_WINDOW_COPY)
		return true;
	if (op->ctas.policy)
		snprintf(reason, FB_REASON_CHARS, "window-copy already uses CTA policy zero");
	else if (strcmp(c->algorithm, "library"))
		snprintf(reason, FB_REASON_CHARS, "copy engines have no algorithm to force");
	else if (what != FB_ALL_GATHER && what != FB_ALL_TO_ALL && what != FB_GATHER &&
		 what != FB_SCATTER)
		snprintf(reason, FB_REASON_CHARS, "NCCL's copy engines cannot do %s",
			 fb_collective_info(what)->name);
	else
		return true;
	return false;
}

/*
 * By what NCCL is made to use the choice. `auto` takes a configured call, where NCCL has that. If
 * nothing is asked for, the call stays the plain one that users make. Older versions are forced by
 * the plugin, which needs one communicator only, or else by the communicator.
 */
static enum fb_nccl_force_by held_by(const struct nccl_engine *e,
				     const struct fb_nccl_algo_proto *choice,
				     const struct fb_operation *op)
{
	const struct fb_nccl_ctas *ctas = &op->ctas;
	char reason[FB_REASON_CHARS];

	if (e->settings->nccl_force_by != FB_NCCL_BY_AUTO)
		return (enum fb_nccl_force_by)e->settings->nccl_force_by;
	if ((fb_nccl_is_forced(choice) || fb_nccl_is_symmetric(choice) || e->settings->channels ||
	     ctas->min || ctas->max || ctas->policy || ctas->cluster) &&
	    fb_nccl_call_can_configure(&e->base.nccl, op, !strcmp(choice->algorithm, "grouped"),
				       reason, sizeof(reason)))
		return FB_NCCL_BY_CALL;
	return fb_nccl_is_forced(choice) && e->plugin.force ? FB_NCCL_BY_PLUGIN
							    : FB_NCCL_BY_COMMUNICATOR;
}

static bool nccl_can(const struct fb_engine *engine, const struct fb_case *c,
		     const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct nccl_engine *e = (const struct nccl_engine *)engine;
	const struct fb_nccl_algo_proto choice = {c->algorithm, c->protocol};
	bool grouped = !strcmp(c->algorithm, "grouped");
	const struct fb_nccl_place place = {
		.nranks = e->group->nranks,
		.nnodes = e->group->nnodes, /* pretended ones too, see fb_nccl_find */
		.multicast = e->settings->multicast == FB_MULTICAST_ALLOW,
		.held = e->settings->blocking_kernel && !strcmp(c->launch, "graph"),
	};
	const int by = e->settings->nccl_force_by;
	if (fb_nccl_is_symmetric(&choice) && ((by != FB_NCCL_BY_CALL && by != FB_NCCL_BY_AUTO) ||
	     fb_nccl_registration_of(c->registration) != FB_NCCL_WINDOW)) {
		snprintf(reason, FB_REASON_CHARS, "symk needs --nccl-force-by call or auto and "
			 "registration window");
		return false;
	}
	/* Reasons that hold on every machine come first. */
	if (!fb_nccl_algo_proto_can(&choice, op->collective, &place, reason, FB_REASON_CHARS) ||
	    !copies(c, op, reason))
		return false;
	if (!e->base.has_nccl) {
		snprintf(reason, FB_REASON_CHARS, "%s", e->base.why);
		return false;
	}
	if (by == FB_NCCL_BY_PLUGIN && fb_nccl_is_forced(&choice) && !e->plugin.force) {
		snprintf(reason, FB_REASON_CHARS, "%s", e->no_plugin);
		return false;
	}
	if (!strcmp(c->memory, "nccl") &&
	    !fb_nccl_has(&e->base.nccl, FB_NCCL_MEMORY, reason, FB_REASON_CHARS))
		return false;
	return fb_nccl_call_can_on(op, e->base.least_major, reason, FB_REASON_CHARS) &&
	       fb_nccl_call_can(&e->base.nccl, op, grouped, reason, FB_REASON_CHARS) &&
	       fb_nccl_ctas_can(&e->base.nccl, &op->ctas, reason, FB_REASON_CHARS) &&
	       ((by != FB_NCCL_BY_CALL && !fb_nccl_is_symmetric(&choice)) ||
		fb_nccl_call_can_configure(&e->base.nccl, op, grouped, reason, FB_REASON_CHARS)) &&
	       fb_nccl_can_register(&e->base.nccl, fb_nccl_registration_of(c->registration),
				    c->memory, reason);
}

static int enqueue(void *request, void *stream)
{
	struct nccl_request *r = request;
	const struct fb_nccl_plugin *plugin = &r->engine->plugin;
	int err;

	if (r->by != FB_NCCL_BY_PLUGIN)
		return fb_nccl_call_enqueue(&r->call, stream);
	fb_nccl_plugin_force(plugin, &r->choice);
	err = fb_nccl_call_enqueue(&r->call, stream);
	r->obeyed = plugin->obeyed && plugin->obeyed();
	fb_nccl_plugin_force(plugin, NULL);
	return err;
}

static int poll(void *request)
{
	const struct nccl_request *r = request;

	return fb_nccl_group_poll(&r->engine->base.nccl, r->group);
}

/* Whether `auto` tries a communicator after the plugin was refused. The same on all ranks. */
static bool may_fall_back(const struct nccl_request *r)
{
	return r->refused && r->by == FB_NCCL_BY_PLUGIN &&
	       r->engine->settings->nccl_force_by == FB_NCCL_BY_AUTO;
}

/* Collective: the ranks' `err`, as a call ran, but not as forced. Printed if the row is skipped. */
static int refuse(struct nccl_request *r, int err, char why[FB_REASON_CHARS])
{
	err = fb_group_agree_why(r->engine->group, err, why, FB_REASON_CHARS);
	r->refused = err != FB_OK;
	if (err && r->engine->group->rank == 0 && !may_fall_back(r))
		fb_error_print("%s", why);
	return err;
}

/* Collective. */
static void read_log(struct nccl_request *r, struct fb_nccl_log *log)
{
	struct nccl_engine *e = r->engine;
	struct fb_nccl_wire none = {.warnings = 0}, *wire = r->group ? &r->group->wire : &none;

	fb_nccl_log_share(log, &e->base.nccl, e->base.engine.session, e->group, &e->base.setup,
			  &r->ran, wire);
	r->wire = *wire;
}

/*
 * Makes one call outside of timing. NCCL connects at first use, and the log of this call, which was
 * begun before the communicator was made, says what runs. All ranks use rank 0's log.
 */
static int try_call(struct nccl_request *r, struct fb_nccl_log *log)
{
	const struct fb_group *w = r->engine->group;
	bool any = !strcmp(r->choice.protocol, "library");
	char why[FB_REASON_CHARS];
	int err = fb_gpu_stream_start(r->on.stream);

	if (!err)
		err = fb_gpu_stream_wait(r->on.stream);
	read_log(r, log);
	if (r->op->count && w->nranks > 1)
		fb_nccl_ran_conclude(&r->ran, &r->call, r->group, r->engine->base.setup.settings);
	err = fb_group_agree(w, err);
	if (err)
		return err;
	if (!fb_nccl_ran_as(&r->ran, &r->choice)) {
		snprintf(why, sizeof(why), "NCCL ran %s:%s where %s:%s was forced: no row of that",
			 r->ran.algorithm, *r->ran.kernel ? r->ran.kernel : r->ran.protocol,
			 r->choice.algorithm, r->choice.protocol);
		return refuse(r, FB_EUNSUPPORTED, why);
	}
	if (!fb_nccl_is_forced(&r->choice))
		return FB_OK;
	if (!*r->ran.algorithm && r->by == FB_NCCL_BY_COMMUNICATOR &&
	    r->group->need.registration == FB_NCCL_WINDOW)
		return fb_error(FB_EUNSUPPORTED, "NCCL does not say what ran, and kernels of "
				"windows ignore what a communicator is forced to");
	snprintf(why, sizeof(why), "NCCL did not ask the tuner plugin, or has no %s%s%s here",
		 r->choice.algorithm, any ? "" : ":", any ? "" : r->choice.protocol);
	return r->by == FB_NCCL_BY_PLUGIN ? refuse(r, r->obeyed ? FB_OK : FB_EUNSUPPORTED, why)
					  : FB_OK;
}

static void nccl_release(struct fb_request *request)
{
	struct nccl_request *r = (struct nccl_request *)request;

	fb_gpu_stream_close(r->on.stream);
	fb_nccl_call_close(&r->call);
}

/* Prepares to force by r->by; called again with another where that fails. Collective. */
static int set_up(struct nccl_request *r, const struct fb_case *c)
{
	struct nccl_engine *e = r->engine;
	int channels = (int)e->settings->channels;
	struct fb_nccl_need need = {
		.choice = r->choice, .registration = fb_nccl_registration_of(c->registration),
		.segment = r->op->segment, .channels = channels, .ctas = r->op->ctas,
	}, asked;
	struct fb_nccl_log log = {.nccl = NULL};
	int err = fb_nccl_call_open(&r->call, &e->base.nccl, r->op, e->group->rank,
				    e->group->nranks, !strcmp(c->algorithm, "grouped"));

	/* Configured calls carry these themselves, so one communicator serves all of them. */
	if (r->by == FB_NCCL_BY_CALL) {
		need.choice = fb_nccl_algo_proto_named("library", "library");
		need.channels = 0;
		need.ctas = (struct fb_nccl_ctas){0};
	}
	need.ctas.poll = FB_NCCL_POLL_USUAL; /* how a rank waits is no matter of communicators */
	asked = need; /* for NCCL's model, which must not see the plugin's costs */
	if (r->by == FB_NCCL_BY_PLUGIN)
		need.choice = fb_nccl_algo_proto_named("library", "library");
	err = fb_group_agree(e->group, err);
	if (!err && r->by == FB_NCCL_BY_CALL)
		fb_nccl_call_configure(&r->call, &r->choice, channels);
	r->kept_us = -fb_nccl_now_us(&e->base);
	fb_nccl_log_begin(&log, &e->base.nccl, e->group->rank);
	if (!err)
		err = fb_nccl_group_get(&e->groups, &e->base.nccl, e->group, &need, &r->group);
	r->kept_us += fb_nccl_now_us(&e->base);
	if (err)
		goto end_log;
	r->call.comm = r->group->comm;
	err = fb_gpu_stream_open(&r->on.stream, &e->base.gpu, !strcmp(c->launch, "graph"),
				 enqueue, r, e->base.engine.session);
	err = fb_group_agree(e->group, err);
	if (err)
		goto end_log;
	if (r->op->ctas.poll != FB_NCCL_POLL_NEVER)
		fb_gpu_stream_watch(r->on.stream, poll, r);
	if (r->op->ctas.poll == FB_NCCL_POLL_EACH)
		fb_gpu_stream_watch_closely(r->on.stream);
	fb_gpu_stream_commands(r->on.stream, 4); /* a kernel, and events of NCCL's own */
	r->kept_us -= fb_nccl_now_us(&e->base);
	err = try_call(r, &log);
	if (!err && e->settings->nccl_gpu_time)
		err = fb_nccl_gpu_time(e->group, &need, &r->ran, r->on.stream, &r->call, &r->group,
				       &r->gpu);
	if (!err && e->settings->nccl_model)
		err = fb_nccl_model(&e->base.nccl, e->group, &asked, &r->call, &r->model_us);
	r->kept_us += fb_nccl_now_us(&e->base);
	/* After a failed call a communicator cannot be used; the next case makes another one. */
	if (err && !(r->refused && r->by == FB_NCCL_BY_PLUGIN))
		fb_nccl_group_drop(&e->groups, &e->base.nccl, r->group);
	return err;
end_log:
	read_log(r, &log);
	return err;
}

static int nccl_prepare(struct fb_request *request, const struct fb_case *c,
			const struct fb_operation *op)
{
	struct nccl_request *r = (struct nccl_request *)request;
	int err;

	r->engine = (struct nccl_engine *)request->engine;
	r->op = op;
	r->model_us = r->gpu.us = NAN;
	r->choice = fb_nccl_algo_proto_named(c->algorithm, c->protocol);
	r->by = held_by(r->engine, &r->choice, op);
	err = set_up(r, c);
	if (err && may_fall_back(r)) {
		nccl_release(request);
		r->on.stream = NULL;
		r->refused = false;
		memset(&r->ran, 0, sizeof(r->ran));
		r->by = FB_NCCL_BY_COMMUNICATOR;
		err = set_up(r, c);
	}
	return err;
}

static int nccl_enqueue(struct fb_request *request, void *stream)
{
	return enqueue(request, stream);
}

static void nccl_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct nccl_request *r = (const struct nccl_request *)request;
	const struct nccl_engine *e = r->engine;
	const char *how = r->group->need.registration == FB_NCCL_WINDOW_COPY ? "zero CTAs, " : "";
	bool forced = fb_nccl_is_forced(&r->choice) || fb_nccl_is_symmetric(&r->choice);
	char call[64];

	snprintf(call, sizeof(call), "%s%s%s",
		 fb_nccl_call_name(&e->base.nccl, r->op, r->call.grouped),
		 forced ? " forced by " : "", forced ? fb_nccl_force_by_names[r->by] : "");
	traits->kept_us = r->kept_us;
	traits->channels = r->ran.channels;
	fb_nccl_ran_path(&e->base.nccl, call, how, &r->ran, &r->wire, traits->path);
	if (r->wire.warnings)
		fb_traits_flag(traits, "nccl-warning");
	if (!forced && fb_nccl_ran_ignores(&r->ran, r->op->collective))
		fb_traits_flag(traits, "nccl-env-ignored");
	traits->extra[FB_MODEL_US] = r->model_us;
	fb_nccl_gpu_time_describe(&r->gpu, traits);
	fb_on_stream_describe(&r->on, &e->base.gpu, traits);
}

const struct fb_engine_ops fb_engine_nccl = {
	.name = "nccl",
	.device = true,
	.memory = "nccl",
	.bytes = sizeof(struct nccl_engine),
	.request_bytes = sizeof(struct nccl_request),
	.open = nccl_open,
	.close = nccl_close,
	.can = nccl_can,
	.segment = fb_nccl_base_segment,
	.prepare = nccl_prepare,
	.ready = fb_on_stream_ready,
	.run = fb_on_stream_run,
	.start = fb_on_stream_start,
	.test = fb_on_stream_test,
	.wait = fb_on_stream_wait,
	.enqueue = nccl_enqueue,
	.describe = nccl_describe,
	.release = nccl_release,
};
