/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives for other families; see api.h. */
#include "collectives/api.h"

#include <stdlib.h>

#include "common/base/error.h"

int fb_collectives_open(struct fb_collectives *c, const struct fb_session *session,
			const struct fb_group *group, const char *engine)
{
	char ignored[FB_REASON_CHARS];
	int err = FB_OK;

	*c = (struct fb_collectives){.ops = fb_engine_find(engine)};
	if (!c->ops)
		return fb_error(FB_EINPUT, "collectives have no engine %s", engine);
	/* Without a GPU the engine opens all the same, and its `can` gives the reason. */
	if (c->ops->device) {
		err = fb_gpu_view_open(&c->gpu, session, group, ignored);
		c->has_gpu = !err;
		err = err == FB_EUNSUPPORTED ? FB_OK : err;
	}
	if (!err)
		err = fb_selector_open(&c->selector, session, group, c->has_gpu ? &c->gpu : NULL);
	if (!err)
		err = fb_engine_open(&c->engine, c->ops, session, group);
	if (err)
		fb_collectives_close(c);
	return err;
}

void fb_collectives_close(struct fb_collectives *c)
{
	if (c->engine)
		fb_engine_close(c->engine);
	fb_selector_close(&c->selector);
	if (c->has_gpu)
		fb_gpu_view_close(&c->gpu);
	*c = (struct fb_collectives){.engine = NULL};
}

bool fb_collectives_can(struct fb_collectives *c, const struct fb_case *key,
			const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	struct fb_operation tried = *op;
	struct fb_selection selection;

	return fb_select(&c->selector, c->engine, key, &tried, &selection, reason);
}

int fb_call_prepare(struct fb_collectives *c, const struct fb_case *key,
		    const struct fb_operation *op, struct fb_call **result)
{
	struct fb_call *call = calloc(1, sizeof(*call));
	char reason[FB_REASON_CHARS];
	int err = fb_group_agree(c->engine->group, call ? FB_OK : FB_ENOMEM);

	if (err || !call) {
		free(call);
		return fb_error(err, "out of memory for a collective");
	}
	call->ops = c->ops;
	call->op = *op;
	if (fb_select(&c->selector, c->engine, key, &call->op, &call->selection, reason))
		err = fb_engine_prepare(c->engine, &call->selection.c, &call->op, &call->request);
	else
		err = fb_error(FB_EUNSUPPORTED, "%s by engine %s: %s",
			       fb_collective_info(op->collective)->name, c->ops->name, reason);
	if (err) {
		free(call);
		return err;
	}
	*result = call;
	return FB_OK;
}

void fb_call_release(struct fb_call *call)
{
	if (!call)
		return;
	fb_request_release(call->request);
	free(call);
}

void fb_call_describe(struct fb_call *call, struct fb_traits *traits)
{
	call->ops->describe(call->request, traits);
	fb_selection_path(&call->selection, traits->path);
}
