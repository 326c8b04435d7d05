/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives for other families: the only header of collectives/ that they include.
 *
 * A program that times steps of training opens an engine on each of its groups and prepares calls
 * once. A step then starts, tests and waits for a call, or puts it on a stream, as often as it
 * likes. Calls of several groups may be under way at once. Every rank of a group starts the
 * group's calls in the same order.
 *
 *	fb_collectives_open(&tensor, session, &group, "host");
 *	fb_call_prepare(tensor, &key, &op, &call);
 *	fb_call_start(call); ... fb_call_wait(call);
 *
 * The buffers of an operation lie in a segment (common/memory/segment.h, common/cuda/gpu_segment.h)
 * that is opened on the same group, since ranks are numbered within the group. What they hold is
 * written and checked by collectives/buffers.h. A program whose cases are those of a collective
 * (its axes, its memory, its columns) takes them from collectives/state.h.
 */
#ifndef FB_COLLECTIVES_API_H
#define FB_COLLECTIVES_API_H

#include "collectives/algorithm/algorithm.h"
#include "collectives/buffers.h"
#include "collectives/selection.h"
#include "collectives/engine/engine.h"
#include "collectives/state.h"
#include "collectives/traffic.h"

/* An engine on a group, and the tuning tables that say what `auto` means there. */
struct fb_collectives {
	struct fb_engine *engine;
	const struct fb_engine_ops *ops;
	struct fb_selector selector;
	struct fb_gpu gpu; /* the group's view, if has_gpu */
	bool has_gpu;
};

/* One prepared operation. */
struct fb_call {
	struct fb_request *request;
	const struct fb_engine_ops *ops;
	struct fb_operation op; /* a copy of the caller's; fb_select fills in .tuned */
	struct fb_selection selection;
};

/*
 * Collective over the group; for a device engine the first time over the world, too (see
 * fb_gpu_view_open). `engine` is one of fb_engines. Session and group outlive *c. It is no error if
 * the machine lacks what the engine needs: then fb_collectives_can gives the reason. Returns the
 * same on all ranks of the group: 0, or FB_EINPUT (no such engine), FB_ENOMEM or another error
 * (printed), *c zeroed.
 */
int fb_collectives_open(struct fb_collectives *c, const struct fb_session *session,
			const struct fb_group *group, const char *engine);

/* Collective over the group, after all calls were released. Safe on a zeroed structure. */
void fb_collectives_close(struct fb_collectives *c);

/*
 * Whether the engine can do the operation as the key says: algorithm and protocol (or "auto"),
 * transport, memory, registration and launch. Equal on all ranks of the group, without
 * communication. False with the reason.
 */
bool fb_collectives_can(struct fb_collectives *c, const struct fb_case *key,
			const struct fb_operation *op, char reason[FB_REASON_CHARS]);

/*
 * Collective over the group: makes the choices that the key leaves open, and prepares. The key's
 * texts, the segment and op->counts outlive the call; *key and *op need not. Returns the same on
 * all ranks: 0, FB_EUNSUPPORTED, FB_ENOMEM or another error (printed), *call untouched.
 */
int fb_call_prepare(struct fb_collectives *c, const struct fb_case *key,
		    const struct fb_operation *op, struct fb_call **call);

/* Collective over the group. NULL is fine. */
void fb_call_release(struct fb_call *call);

/* path, channels, flags and columns of a row (fb_engine_ops.describe), and the selection. */
void fb_call_describe(struct fb_call *call, struct fb_traits *traits);

/* As the members of fb_engine_ops say. */
static inline int fb_call_start(struct fb_call *call)
{
	return call->ops->start(call->request);
}

static inline int fb_call_test(struct fb_call *call, bool *done)
{
	return call->ops->test(call->request, done);
}

static inline int fb_call_wait(struct fb_call *call)
{
	return call->ops->wait(call->request);
}

/* Device engines only: on a cudaStream_t of the caller's, perhaps being captured. */
static inline int fb_call_enqueue(struct fb_call *call, void *stream)
{
	return call->ops->enqueue(call->request, stream);
}

#endif
