/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine ucx: messages, active messages, put and get of UCX, loaded when the program starts, on
 * the ranks' own buffers. UCX chooses transports, and eager or rendezvous, by its own variables
 * (UCX_TLS, UCX_NET_DEVICES, UCX_RNDV_THRESH ...). How it works inside is in ucx.h.
 *
 * It has loops of its own beside engine mover-ucx (over.c). The mover has neither tagged nor active
 * messages, and gives a notice with each put or get. On two EPYC cores with UCX 1.13.1, a put of 8
 * bytes takes 0.059 us here and 0.142 by the mover, in a window of 64; a get 0.064 and 0.149; and
 * half a round trip of puts 0.255 and 0.373. Each figure is the least of the medians of 12 starts,
 * taken in turn.
 */
#include "p2p/engine/ucx.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "p2p/program.h"

static const char transport[] = "library";

/* fb_p2p_engine_ops.adjust: needs no UCX, so that rows are the same everywhere. */
static bool ucx_adjust(const struct fb_settings *settings, struct fb_case *c)
{
	enum fb_ucx_verb verb = fb_ucx_verb_of(c->protocol);
	bool ping_pong = !strcmp(c->operation, fb_patterns[FB_PING_PONG]);
	bool sends = !strcmp(c->algorithm, fb_verbs[FB_SEND]);
	bool fits;

	(void)settings;
	if (verb == FB_UCX_TAG || verb == FB_UCX_AM)
		fits = sends;
	else if (verb == FB_UCX_PUT)
		fits = !strcmp(c->algorithm, fb_verbs[FB_PUT]) || (sends && ping_pong);
	else
		fits = verb == FB_UCX_GET && !strcmp(c->algorithm, fb_verbs[FB_GET]);
	c->transport = transport;
	return fits;
}

/*
 * All ranks must have UCX in the same version, because UCX does not promise that two versions
 * understand each other. Without it the engine opens too, so that its rows are skipped with a
 * reason.
 */
static int load(struct fb_ucx_engine *e)
{
	const struct fb_p2p_description *description = e->engine.session->own;

	return fb_ucx_load(&e->ucx, e->engine.session, e->world, description->settings.ucx_library,
			   e->reason);
}

static void ucx_close(struct fb_p2p_engine *engine)
{
	struct fb_ucx_engine *e = (struct fb_ucx_engine *)engine;

	fb_ucx_stop(e);
}

/*
 * If UCX was found and does not start, its settings are wrong, which is an error. With --engine all
 * it is none: "all" means the engines that this machine has.
 */
static int start(struct fb_ucx_engine *e)
{
	int err = load(e) ? FB_OK : fb_ucx_start(e);

	if (!err || strcmp(e->engine.session->settings->engine, "all"))
		return err;
	snprintf(e->reason, sizeof(e->reason), "UCX does not start");
	return FB_OK;
}

static int ucx_open(struct fb_p2p_engine *engine)
{
	struct fb_ucx_engine *e = (struct fb_ucx_engine *)engine;

	e->world = engine->group;
	return start(e);
}

static const char *ucx_missing(const struct fb_p2p_engine *engine)
{
	const struct fb_ucx_engine *e = (const struct fb_ucx_engine *)engine;

	return e->reason[0] ? e->reason : NULL;
}

static bool ucx_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		    const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct fb_ucx_engine *e = (const struct fb_ucx_engine *)engine;
	bool device = !strcmp(c->memory, fb_memory_kinds[FB_MEMORY_DEVICE].name);

	(void)job;
	if (e->reason[0])
		snprintf(reason, FB_REASON_CHARS, "%s", e->reason);
	else if (device && !e->cuda)
		snprintf(reason, FB_REASON_CHARS, "this UCX knows no memory of GPUs");
	else if (device && fb_ucx_verb_of(c->protocol) == FB_UCX_AM)
		snprintf(reason, FB_REASON_CHARS, "active messages are copied by the processor");
	else
		return true;
	return false;
}

static void ucx_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	const struct fb_ucx_request *r = (const struct fb_ucx_request *)request;

	memcpy(traits->path, r->path, sizeof(traits->path));
}

const struct fb_p2p_engine_ops fb_p2p_ucx = {
	.name = "ucx",
	.own = true,
	.gpu_memory = 1 << FB_GPU_DEVICE | 1 << FB_GPU_PINNED,
	.protocols = fb_ucx_verbs,
	.adjust = ucx_adjust,
	.missing = ucx_missing,
	.bytes = sizeof(struct fb_ucx_engine),
	.open = ucx_open,
	.close = ucx_close,
	.can = ucx_can,
	.prepare = fb_ucx_prepare,
	.ready = fb_ucx_ready,
	.run = fb_ucx_run,
	.settle = fb_ucx_settle,
	.describe = ucx_describe,
	.release = fb_ucx_release,
};
