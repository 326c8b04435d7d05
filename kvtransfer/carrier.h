/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine carries a hand-over out by a mover (common/mover): one in host memory (over.c), or one
 * between GPUs (over_gpu.c). The program sees only this interface, so that all are prepared, timed
 * and verified alike.
 */
#ifndef FB_KVTRANSFER_CARRIER_H
#define FB_KVTRANSFER_CARRIER_H

#include "common/cuda/gpu.h"
#include "common/session.h"
#include "common/mover/mover.h"
#include "kvtransfer/job.h"

struct fb_kv_engine;
struct fb_kv_request;

/* What engines are opened with; outlives them. */
struct fb_kv_context {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_settings *settings;
	const struct fb_gpu *gpu; /* NULL: there is none */
};

struct fb_kv_engine_ops {
	const char *name;      /* "host" */
	const char *summary;   /* one line */
	const char *transport; /* of its rows */
	bool device;           /* pages are in GPU memory */
	unsigned modes;        /* bit fb_kv_mode: what it can do */

	const struct fb_mover_ops *mover;

	/* Collective. The same value on all ranks: 0, or an error (printed). */
	int (*open)(struct fb_kv_engine **engine, const struct fb_kv_engine_ops *ops,
		    const struct fb_kv_context *context);
	void (*close)(struct fb_kv_engine *engine);

	/* Why an open engine has nothing to work with, equal on all ranks; or NULL. */
	const char *(*missing)(const struct fb_kv_engine *engine);

	/* Pure, equal on all ranks: can it do the job (without runs)? Else the reason. */
	bool (*can)(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		    char reason[FB_REASON_CHARS]);

	/* Collective: the same value on all ranks. The job outlives the request. */
	int (*prepare)(struct fb_kv_engine *engine, const struct fb_kv_job *job,
		       struct fb_kv_request **request);

	/*
	 * Collective: `calls` hand-overs, or their phases (enum fb_kv_phase), back to back. On
	 * return all that this rank receives is in its pages, and its own pages may be
	 * overwritten. An error ends the job.
	 */
	int (*run)(struct fb_kv_request *request, unsigned phases, int calls);

	/* path and channels of the row. */
	void (*describe)(struct fb_kv_request *request, struct fb_traits *traits);

	/* Collective; behind it nobody uses this rank's memory any more. */
	void (*release)(struct fb_kv_request *request);
};

/* Every engine, and every request, begins with these. */
struct fb_kv_engine {
	const struct fb_kv_engine_ops *ops;
	const struct fb_kv_context *context;
};

struct fb_kv_request {
	struct fb_kv_engine *engine;
	const struct fb_kv_job *job;
};

/* A mover as an engine. Pure. */
struct fb_kv_engine_ops fb_kv_over(const struct fb_mover_ops *mover);

#endif
